import { anObject, type Check, optional } from "../../json/check.ts";
import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Decoded, DecodedNotification } from "../../protocol/codec/codec.ts";
import { asResult, refuse } from "../../protocol/codec/codec.ts";
import { type Change, withoutMeta } from "../../protocol/codec/dialect.ts";
import { able } from "../../protocol/codec/envelope.ts";
import { decodeNotification, taskNotification, withoutSubscription } from "../../protocol/codec/notifications.ts";
import { isIn } from "../../protocol/codec/params.ts";
import { decodeComplete, decodeRead, decodeTask, details, readTask } from "../../protocol/codec/results.ts";
import { metaKeys } from "../../protocol/meta.ts";
import { type Method, methodRow } from "../../protocol/methods.ts";
import { type Revision, revisions } from "../../protocol/revision.ts";
import type { OutcomeOf } from "../../protocol/service.ts";
import { type DetailedTask, type Task, type TaskTerms, tasksExtension } from "../../protocol/task.ts";

/** In 2025-11-25 the client decided, for every call of a tool. Before, there were no tasks. */
export function askedTerms(revision: Revision, method: string, params: JsonObject): Decoded<TaskTerms | undefined> {
  if (!hasTasks(revision)) return none;
  if (method !== "tools/call") return methodRow(method).extension === tasksExtension ? { ok: true, value: able } : none;
  if (params.task === undefined) return none;
  const problem = aWish(params.task);
  return problem === undefined
    ? { ok: true, value: { wanted: true, ...ttlOf(params.task) } }
    : refuse("invalid-params", `params.task${problem}`);
}

const none: Decoded<undefined> = { ok: true, value: undefined };

/** `null` is for ever, and so no wish that a server could be held to. */
const aTtl: Check = (value) => (value === null || typeof value === "number" ? undefined : " must be a number");
const aWish = anObject({ ttl: optional(aTtl) });

function ttlOf(wish: Json): Pick<TaskTerms, "ttlMs"> {
  return isObject(wish) && typeof wish.ttl === "number" ? { ttlMs: wish.ttl } : {};
}

/** How a client of 2025-11-25 asks for a task. */
export function writeTerms({ ttlMs }: TaskTerms): JsonObject {
  return ttlMs === undefined ? {} : { ttl: Math.max(0, Math.trunc(ttlMs)) };
}

/** True when the revision has tasks in any form. */
export function hasTasks(revision: Revision): boolean {
  return withTasks.has(revision);
}

const withTasks: ReadonlySet<Revision> = new Set(
  revisions.filter((revision) => isIn(methodRow("tasks/get"), revision)),
);

/** Reads a task in the words of 2025-11-25. */
function readLegacyTask(wire: JsonObject): Decoded<Task> {
  const { ttl, pollInterval, ...plain } = wire;
  return readTask({ ...plain, ttlMs: ttl, pollIntervalMs: pollInterval });
}

/** Like {@link readDetails}, in the words of 2025-11-25: a status brings nothing there. */
function readLegacyDetails(wire: JsonObject): Decoded<DetailedTask> {
  const task = readLegacyTask(wire);
  if (!task.ok) return task;
  return details(asJson(task.value), task.value.status === "input_required" ? { questions: {} } : {});
}

/** Reads a result in a revision that does not say how a call ended: one of a tool may be a task to follow. */
export function decodeLegacyResult<M extends Method>(method: M, result: JsonObject): OutcomeOf<M> {
  switch (method) {
    case "tools/call":
      return isObject(result.task) && isNothingElse(result)
        ? decodeTask(method, readLegacyTask({ ...result.task, _meta: result._meta }))
        : decodeComplete(method, result);
    case "tasks/get":
      return decodeRead(method, readLegacyDetails(result));
    case "tasks/cancel":
      return decodeRead(method, readLegacyTask(result));
    case "tasks/list":
      return decodeTasks(method, result);
    case "tasks/result":
      return decodeComplete(method, unrelated(result));
    default:
      return decodeComplete(method, result);
  }
}

/** What a task came to, like that of a call: whose it is, the caller knows. */
const unrelated: Change = withoutMeta(metaKeys.relatedTask);

/** Any tool may put what it likes in its result, but not instead of it. */
function isNothingElse({ content, structuredContent }: JsonObject): boolean {
  return content === undefined && structuredContent === undefined;
}

function decodeTasks<M extends Method>(method: M, result: JsonObject): OutcomeOf<M> {
  const outcome = decodeComplete(method, result);
  if (outcome.kind !== "complete" || !Array.isArray(result.tasks)) return outcome;
  // One that cannot be read stays as it is: its reader leaves it out.
  const tasks = result.tasks.map((wire: Json) => {
    const task = isObject(wire) ? readLegacyTask(wire) : undefined;
    return task?.ok === true ? asJson(task.value) : wire;
  });
  return { kind: "complete", result: asResult<M>({ ...asJson(outcome.result), tasks }) };
}

/** Reads a notification. The one about a task has another name and other words in 2025-11-25. */
export function decodeLegacyNotification(method: string, params: JsonObject): DecodedNotification | undefined {
  if (method !== "notifications/tasks/status") return decodeNotification(method, params);
  return taskNotification(readLegacyDetails(withoutSubscription(params)));
}
