import { asJson, type JsonObject } from "../json/json.ts";
import type { ServerCapabilities } from "./peer.ts";
import type { DetailedTask } from "./task.ts";

/** Which changes a listener wants to hear of. */
export interface ListenFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  /** URIs of resources whose updates are wanted. */
  readonly resourceSubscriptions?: readonly string[];
  /** Ids of tasks whose changes are wanted. */
  readonly taskIds?: readonly string[];
  /** Ids of pages that a user was sent to. Only sessions of 2025-11-25 hear that one is done with. */
  readonly elicitationIds?: readonly string[];
}

/** Something that changed on a server. */
export type Change =
  | { readonly kind: "tools" }
  | { readonly kind: "prompts" }
  | { readonly kind: "resources" }
  | { readonly kind: "resource"; readonly uri: string }
  | { readonly kind: "task"; readonly task: DetailedTask };

/** What listeners are told of: a change, or that a user is done with a page. */
export type Announcement = Change | { readonly kind: "elicitation"; readonly elicitationId: string };

/** True when a listener with this filter is told of it. */
export function isWanted(change: Announcement, filter: ListenFilter): boolean {
  switch (change.kind) {
    case "tools":
      return filter.toolsListChanged === true;
    case "prompts":
      return filter.promptsListChanged === true;
    case "resources":
      return filter.resourcesListChanged === true;
    case "resource":
      return filter.resourceSubscriptions?.includes(change.uri) === true;
    case "task":
      return filter.taskIds?.includes(change.task.taskId) === true;
    case "elicitation":
      return filter.elicitationIds?.includes(change.elicitationId) === true;
  }
}

/** What of a filter a server with these capabilities honours. Tasks are for somebody else to judge. */
export function honoured(asked: ListenFilter, { tools, prompts, resources }: ServerCapabilities): ListenFilter {
  const { resourceSubscriptions: uris = [], elicitationIds = [] } = asked;
  return {
    ...(asked.toolsListChanged && tools?.listChanged && { toolsListChanged: true }),
    ...(asked.promptsListChanged && prompts?.listChanged && { promptsListChanged: true }),
    ...(asked.resourcesListChanged && resources?.listChanged && { resourcesListChanged: true }),
    ...(uris.length > 0 && resources?.subscribe && { resourceSubscriptions: uris }),
    ...(elicitationIds.length > 0 && { elicitationIds }),
  };
}

/** By which a server says that a user is done with a page. */
export const elicitationComplete = "notifications/elicitation/complete";

const UPDATED = "notifications/resources/updated";
const TASKS = "notifications/tasks";
const listChanged = /^notifications\/(tools|prompts|resources)\/list_changed$/;

/** The notification by which listeners are told. */
export function changeToNotification(change: Announcement): readonly [method: string, params: JsonObject] {
  if (change.kind === "elicitation") return [elicitationComplete, { elicitationId: change.elicitationId }];
  if (change.kind === "resource") return [UPDATED, { uri: change.uri }];
  if (change.kind === "task") return [TASKS, asJson(change.task)];
  return [`notifications/${change.kind}/list_changed`, {}];
}

/** The change a notification announces, if it announces one. */
export function notificationToChange(method: string, params: JsonObject): Change | undefined {
  const { uri } = params;
  if (method === TASKS) return { kind: "task", task: params as unknown as DetailedTask };
  if (method === UPDATED) return typeof uri === "string" ? { kind: "resource", uri } : undefined;
  const kind = listChanged.exec(method)?.[1];
  return kind === undefined ? undefined : { kind: kind as "tools" | "prompts" | "resources" };
}
