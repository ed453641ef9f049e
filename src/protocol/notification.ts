import type { JsonObject } from "../json/json.ts";

/** A notification that a peer sends: something it says without waiting for an answer. */
export interface NotificationParams {
  readonly method: string;
  readonly params: JsonObject;
}

/** By which a client says that its roots are others. */
export const rootsChanged = "notifications/roots/list_changed";

/** The notifications that some revision defines. All others are those of vendors. */
const defined: ReadonlySet<string> = new Set([
  rootsChanged,
  "initialized",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/message",
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/elicitation/complete",
  "notifications/subscriptions/acknowledged",
  "notifications/tasks",
  "notifications/tasks/status",
]);

/** True for a notification that no revision defines. */
export function isVendorMethod(method: string): boolean {
  return !defined.has(method);
}

/** True for a notification of a client that is passed to code of the server's author. */
export function isHandled(method: string): boolean {
  return method === rootsChanged || isVendorMethod(method);
}
