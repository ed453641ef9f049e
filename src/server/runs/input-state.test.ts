import { expect, it } from "vitest";
import type { Question } from "../../protocol/input.ts";
import { InputState } from "./input-state.ts";

const question = (message: string): Question => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: {} } },
});

it("questions go out in the order they were put, however long each took to get ready", () => {
  const inputState = new InputState();
  const [first, second] = [inputState.claim(), inputState.claim("b")];
  const read = (answer: unknown) => answer;
  void inputState.wait({ question: question("second"), read }, second);
  void inputState.wait({ question: question("first"), read }, first);
  expect(Object.entries(inputState.questions())).toEqual([
    [first, question("first")],
    [second, question("second")],
  ]);
});
