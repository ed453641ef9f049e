import type { Decoded } from "../../codec/codec.ts";
import { hasTasks } from "../../codec/shared/has-tasks.ts";
import { refuse } from "../../codec/shared/refuse.ts";
import { able } from "../../codec/shared/task-terms.ts";
import { anObject, type Check, optional } from "../../json/check.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { methodRow } from "../../model/methods.ts";
import type { Revision } from "../../model/revision.ts";
import { type TaskTerms, tasksExtension } from "../../model/task.ts";

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
