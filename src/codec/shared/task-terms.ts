import { isObject } from "../../json/json.ts";
import type { ClientCapabilities } from "../../model/peer.ts";
import { type TaskTerms, tasksExtension } from "../../model/task.ts";

/** Of a caller that can follow a task, and leaves it to the server whether there is one. */
export const able: TaskTerms = { wanted: false };

/** Since 2026-07-28 a client says on every request whether it can follow a task, and the server decides. */
export function statedTerms({ extensions }: ClientCapabilities): TaskTerms | undefined {
  return isObject(extensions?.[tasksExtension]) ? able : undefined;
}
