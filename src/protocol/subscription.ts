import { asJson, type JsonObject } from "../json/json.ts";
import { changeKeys, metaOf } from "./meta.ts";
import type { Auth, ServerCapabilities } from "./peer.ts";
import type { DetailedTask } from "./task.ts";

/** The recipients of a message outside of calls: clients of a principal, or the client of a session. */
export type Addressee = { readonly principal: string } | { readonly session: string };

/**
 * The member of a filter by which sessions receive messages outside of calls. A symbol, so that no client can ask for
 * it.
 */
export const messages: unique symbol = Symbol("messages");

/** The changes that a listener subscribes to. */
export interface ListenFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  /** URIs of resources whose updates are included. */
  readonly resourceSubscriptions?: readonly string[];
  /** Ids of tasks whose changes are included. */
  readonly taskIds?: readonly string[];
  /** Ids of elicitation pages. Only sessions of 2025-11-25 are notified of their completion. */
  readonly elicitationIds?: readonly string[];
  readonly [messages]?: boolean;
}

/** True for an empty filter. */
export function wantsNothing(filter: ListenFilter): boolean {
  return Reflect.ownKeys(filter).length === 0;
}

/** Something that changed on a server. */
export type Change =
  | { readonly kind: "tools" }
  | { readonly kind: "prompts" }
  | { readonly kind: "resources" }
  | { readonly kind: "resource"; readonly uri: string }
  | { readonly kind: "task"; readonly task: DetailedTask };

/** An announcement to listeners: a change, the completion of a page, or a message outside of calls. */
export type Announcement = Change | { readonly kind: "elicitation"; readonly elicitationId: string } | Message;

/** A notification that belongs to no call. */
export interface Message {
  readonly kind: "message";
  readonly method: string;
  readonly params: JsonObject;
  /** All clients when left out. */
  readonly to?: Addressee | undefined;
}

/** True when a listener with this filter, on behalf of that caller, receives the change. */
export function isWanted(change: Announcement, filter: ListenFilter, auth?: Auth): boolean {
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
    case "message":
      return filter[messages] === true && isFor(change.to, auth);
  }
}

/** Each session of a principal checks whether it is the recipient. */
function isFor(to: Addressee | undefined, auth: Auth | undefined): boolean {
  return to === undefined || "session" in to || to.principal === auth?.principal;
}

/** The part of a filter that a server with these capabilities honours. Task ids are checked elsewhere. */
export function honoured(asked: ListenFilter, capabilities: ServerCapabilities): ListenFilter {
  const { tools, prompts, resources, logging, experimental } = capabilities;
  const { resourceSubscriptions: uris = [], elicitationIds = [] } = asked;
  return {
    ...(asked.toolsListChanged && tools?.listChanged && { toolsListChanged: true }),
    ...(asked.promptsListChanged && prompts?.listChanged && { promptsListChanged: true }),
    ...(asked.resourcesListChanged && resources?.listChanged && { resourcesListChanged: true }),
    ...(uris.length > 0 && resources?.subscribe && { resourceSubscriptions: uris }),
    ...(elicitationIds.length > 0 && { elicitationIds }),
    ...(asked[messages] && (logging || experimental) && { [messages]: true }),
  };
}

/** By which a server says that a user is done with a page. */
export const elicitationComplete = "notifications/elicitation/complete";

const UPDATED = "notifications/resources/updated";
const TASKS = "notifications/tasks";
const listChanged = /^notifications\/(tools|prompts|resources)\/list_changed$/;

/** The notification of a change for listeners. */
export function changeToNotification(change: Announcement): readonly [method: string, params: JsonObject] {
  if (change.kind === "elicitation") return [elicitationComplete, { elicitationId: change.elicitationId }];
  if (change.kind === "resource") return [UPDATED, { uri: change.uri }];
  if (change.kind === "task") return [TASKS, asJson(change.task)];
  if (change.kind === "message") return [change.method, addressed(change)];
  return [`notifications/${change.kind}/list_changed`, {}];
}

/** The params of a message, which name the session that it is for. */
function addressed({ params, to }: Message): JsonObject {
  if (to === undefined || !("session" in to)) return params;
  return { ...params, _meta: { ...metaOf(params), [changeKeys.session]: to.session } };
}

/** The change a notification announces, if it announces one. */
export function notificationToChange(method: string, params: JsonObject): Change | undefined {
  const { uri } = params;
  if (method === TASKS) return { kind: "task", task: params as unknown as DetailedTask };
  if (method === UPDATED) return typeof uri === "string" ? { kind: "resource", uri } : undefined;
  const kind = listChanged.exec(method)?.[1];
  return kind === undefined ? undefined : { kind: kind as "tools" | "prompts" | "resources" };
}
