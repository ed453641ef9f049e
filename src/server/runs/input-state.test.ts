import { expect, it } from "vitest";
import type { Question } from "../../protocol/input.ts";
import { InputState } from "./input-state.ts";

const question = (message: string): Question => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: {} } },
});

it("questions go out in the order they were put, however long each took to get ready", () => {
  const dialogue = new InputState();
  const [first, second] = [dialogue.claim(), dialogue.claim("b")];
  const read = (answer: unknown) => answer;
  void dialogue.wait({ question: question("second"), read }, second);
  void dialogue.wait({ question: question("first"), read }, first);
  expect(Object.entries(dialogue.questions())).toEqual([
    [first, question("first")],
    [second, question("second")],
  ]);
});
