import { aNumber, anObject, aString, type Check, oneOf } from "../../json/check.ts";
import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { DetailedTask, Task } from "../../model/task.ts";
import type { Decoded } from "../codec.ts";
import { decodeFailure } from "./decode-failure.ts";
import { decodeQuestions } from "./decode-question.ts";
import { type Change, without } from "./dialect.ts";
import { type Refusal, refuse } from "./refuse.ts";
import { mendResult, resultProblem } from "./results.ts";
import { asDetails, asErrorObject, asTask } from "./unchecked.ts";

// What is wrong with a task is worded to follow its name, like a `Problem`.

/** Reads a task in the words of the extension, without what its status brings. */
export function readTask(wire: JsonObject): Decoded<Task> {
  const problem = aTask(wire);
  return problem === undefined ? { ok: true, value: asTask(mended(wire)) } : invalid(problem);
}

/** Reads a task in the words of the extension, with what its status brings. */
export function readDetails(wire: JsonObject): Decoded<DetailedTask> {
  const task = readTask(wire);
  if (!task.ok) return task;
  const { inputRequests, result, error, ...plain } = asJson(task.value);
  switch (task.value.status) {
    case "input_required": {
      const questions = decodeQuestions(inputRequests);
      return questions.ok ? details(plain, { questions: asJson(questions.value) }) : questions;
    }
    case "completed":
      return readCompleted(plain, result);
    case "failed": {
      const problem = anError(error);
      if (problem !== undefined) return invalid(`.error${problem}`);
      return details(plain, { failure: asJson(decodeFailure(asErrorObject(error), "tools/call")) });
    }
    default:
      return details(plain, {});
  }
}

function readCompleted(task: JsonObject, result: Json | undefined): Decoded<DetailedTask> {
  if (!isObject(result)) return invalid(".result must be an object");
  const outcome = mendResult("tools/call", plainResult(result));
  const problem = resultProblem("tools/call", outcome);
  return problem === undefined ? details(task, { result: outcome }) : invalid(`.result: ${problem}`);
}

const plainResult: Change = without("resultType");

const aTask: Check = anObject({
  taskId: aString,
  status: oneOf("working", "input_required", "completed", "failed", "cancelled"),
});

const anError = anObject({ code: aNumber, message: aString });

/** Without a time to live it lives for ever: some leave out what is `null`. What is no pause counts as absent. */
const mended: Change = (wire) => {
  const { ttlMs, pollIntervalMs, ...plain } = wire;
  return {
    ...plain,
    ttlMs: typeof ttlMs === "number" ? ttlMs : null,
    ...(typeof pollIntervalMs === "number" && { pollIntervalMs }),
  };
};

/** A task with what its status brings. */
export function details(task: JsonObject, brought: JsonObject): Decoded<DetailedTask> {
  return { ok: true, value: asDetails({ ...task, ...brought }) };
}

function invalid(problem: string): Refusal {
  return refuse("invalid-response", problem);
}
