import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Question } from "../../model/input.ts";
import { metaKeys } from "../../model/meta.ts";
import type { Decoded } from "../codec.ts";
import { type Change, inOrder, withoutMeta } from "./change.ts";
import type { Dialect } from "./dialect.ts";
import { toolResultChange } from "./encode-result.ts";
import { encodeFailure } from "./errors.ts";
import { refuse } from "./refuse.ts";
import { asFailure } from "./unchecked.ts";

export type WriteQuestion = (question: Question) => Decoded<JsonObject>;
export type TaskWriter = (task: JsonObject) => Decoded<JsonObject>;

/** A task in the words of the extension, without what its status brings. */
export const plainTask: Change = (task) => {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs, _meta } = task;
  const pause = wholeMs(pollIntervalMs);
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttlMs: wholeMs(ttlMs) ?? null,
    ...(pause !== undefined && { pollIntervalMs: pause }),
    ...(_meta !== undefined && { _meta }),
  };
};

/** The same in the words of 2025-11-25, where a tool that failed is a task that did. */
export const legacyTask: Change = (task) => {
  const { ttlMs: ttl, pollIntervalMs: pollInterval, ...plain } = plainTask(task);
  const failed = plain.status === "completed" && isObject(task.result) && task.result.isError === true;
  return {
    ...plain,
    ...(failed && { status: "failed" }),
    ttl,
    ...(pollInterval !== undefined && { pollInterval }),
  };
};

/** Time is in whole milliseconds. */
function wholeMs(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? Math.max(0, Math.trunc(value)) : undefined;
}

/**
 * How a stateless dialect says a task with what its status brings.
 *
 * The result is what the call would have brought, but for the signature. Fails
 * when a question cannot be put, or when what the task came to is not known.
 */
export function createTaskWriter(dialect: Dialect, writeQuestion: WriteQuestion): TaskWriter {
  const result = inOrder(toolResultChange(dialect), dialect.result, withoutMeta(metaKeys.serverInfo));

  return (task) => {
    const said = dialect.task(task);
    const { status, taskId } = task;
    switch (status) {
      case "input_required": {
        const inputRequests = encodeQuestions(isObject(task.questions) ? task.questions : {}, writeQuestion);
        return inputRequests.ok ? { ok: true, value: { ...said, inputRequests: inputRequests.value } } : inputRequests;
      }
      case "completed":
        if (!isObject(task.result)) return refuse("internal", `task ${taskId} has no result`);
        return { ok: true, value: { ...said, result: { ...result(task.result), resultType: "complete" } } };
      case "failed":
        if (!isObject(task.failure)) return refuse("internal", `task ${taskId} does not say why it failed`);
        return { ok: true, value: { ...said, error: asJson(encodeFailure(dialect.errors, asFailure(task.failure))) } };
      default:
        return { ok: true, value: said };
    }
  };
}

/** How a stateless dialect says questions: each is an entry of `inputRequests`. */
export function encodeQuestions(questions: object, write: WriteQuestion): Decoded<JsonObject> {
  const requests: [string, JsonObject][] = [];
  for (const [key, question] of Object.entries(questions)) {
    const request = write(question);
    if (!request.ok) return request;
    requests.push([key, request.value]);
  }
  return { ok: true, value: Object.fromEntries(requests) };
}
