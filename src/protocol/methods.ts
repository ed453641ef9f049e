import type { JsonObject } from "../json/json.ts";
import type { Resource, ResourceContents, ResourceTemplate } from "./content.ts";
import type { QuestionAnswer } from "./input.ts";
import type { NotificationParams } from "./notification.ts";
import type { Implementation, ServerCapabilities } from "./peer.ts";
import type { CompleteParams, CompleteResult, GetPromptResult, Prompt } from "./prompt.ts";
import type { Revision } from "./revision.ts";
import type { ListenFilter } from "./subscription.ts";
import { type DetailedTask, type Task, tasksExtension } from "./task.ts";
import type { CallToolParams, CallToolResult, Tool } from "./tool.ts";

/** How long, and by whom, a result may be cached. Absent means not at all. */
export interface Cacheable {
  readonly ttlMs?: number;
  /** `public` results may be shared between users. */
  readonly cacheScope?: "public" | "private";
  readonly _meta?: JsonObject;
}

/** A page of a list. An empty string is a cursor like any other; only its absence ends the list. */
export interface Page extends Cacheable {
  readonly nextCursor?: string;
}

export interface PageParams {
  readonly cursor?: string;
}

export interface DiscoverResult extends Cacheable {
  readonly supportedVersions: readonly string[];
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string;
  /** Travels in `_meta` of every modern result, and in the legacy handshake. */
  readonly serverInfo: Implementation;
}

/**
 * Every request a client may send, with what goes in and what comes out, and
 * `notification` for what it says without waiting for an answer.
 */
export interface Methods {
  "server/discover": { params: JsonObject; result: DiscoverResult };
  "tools/list": { params: PageParams; result: Page & { readonly tools: readonly Tool[] } };
  "tools/call": { params: CallToolParams; result: CallToolResult };
  "resources/list": { params: PageParams; result: Page & { readonly resources: readonly Resource[] } };
  "resources/templates/list": {
    params: PageParams;
    result: Page & { readonly resourceTemplates: readonly ResourceTemplate[] };
  };
  "resources/read": {
    params: { readonly uri: string };
    result: Cacheable & { readonly contents: readonly ResourceContents[] };
  };
  "prompts/list": { params: PageParams; result: Page & { readonly prompts: readonly Prompt[] } };
  "prompts/get": {
    params: { readonly name: string; readonly arguments?: Readonly<Record<string, string>> };
    result: GetPromptResult;
  };
  "completion/complete": { params: CompleteParams; result: CompleteResult };
  "subscriptions/listen": {
    params: { readonly notifications: ListenFilter };
    result: { readonly _meta?: JsonObject };
  };
  "tasks/get": { params: TaskParams; result: DetailedTask };
  /** Answers questions of a task, by key. */
  "tasks/update": {
    params: TaskParams & { readonly inputResponses: Readonly<Record<string, QuestionAnswer>> };
    result: { readonly _meta?: JsonObject };
  };
  "tasks/cancel": { params: TaskParams; result: Task };
  "tasks/list": { params: PageParams; result: Page & { readonly tasks: readonly Task[] } };
  /** Waits for the end of a task. */
  "tasks/result": { params: TaskParams; result: CallToolResult };
  /** A notification of a client. The outcome of the call is ignored. */
  notification: { params: NotificationParams; result: { readonly _meta?: JsonObject } };
}

export interface TaskParams {
  readonly taskId: string;
}

export type Method = keyof Methods;
/** The methods that requests on a wire have. */
export type WireMethod = Exclude<Method, "notification">;
export type Params<M extends Method> = Methods[M]["params"];
export type Result<M extends Method> = Methods[M]["result"];

/** What the protocol says of one method, for every layer that needs to know. */
export interface MethodRow {
  /** The capability a server must advertise to answer it. */
  readonly capability?: keyof ServerCapabilities | undefined;
  /** The revision that introduced it. */
  readonly since?: Revision | undefined;
  /** The last revision with this method. */
  readonly until?: Revision | undefined;
  /** The extension it belongs to: a server that does not have it does not know the method. */
  readonly extension?: string | undefined;
  /** True when results carry `ttlMs` and `cacheScope`. */
  readonly cacheable?: boolean | undefined;
  /** True when a call may end by asking the client for input. */
  readonly asks?: boolean | undefined;
  /** True when author code runs: such calls are queued when too many run. */
  readonly runs?: boolean | undefined;
  /** True when the call stays open until it is cancelled. */
  readonly open?: boolean | undefined;
  /** The parameter that the `Mcp-Name` header repeats. */
  readonly nameParam?: string | undefined;
  /** True for a method that is not in any revision: only this side makes such calls. */
  readonly inside?: boolean | undefined;
}

const rows = {
  "server/discover": { since: "2026-07-28", cacheable: true },
  "tools/list": { capability: "tools", cacheable: true },
  "tools/call": { capability: "tools", asks: true, runs: true, nameParam: "name" },
  "resources/list": { capability: "resources", cacheable: true },
  "resources/templates/list": { capability: "resources", cacheable: true },
  "resources/read": { capability: "resources", cacheable: true, asks: true, runs: true, nameParam: "uri" },
  "prompts/list": { capability: "prompts", cacheable: true },
  "prompts/get": { capability: "prompts", asks: true, runs: true, nameParam: "name" },
  "completion/complete": { capability: "completions", runs: true },
  "subscriptions/listen": { since: "2026-07-28", open: true },
  "tasks/get": { since: "2025-11-25", nameParam: "taskId", extension: tasksExtension },
  "tasks/update": { since: "2026-07-28", nameParam: "taskId", extension: tasksExtension },
  "tasks/cancel": { since: "2025-11-25", nameParam: "taskId", extension: tasksExtension },
  "tasks/list": { since: "2025-11-25", until: "2025-11-25", extension: tasksExtension },
  "tasks/result": { since: "2025-11-25", until: "2025-11-25", extension: tasksExtension },
  notification: { runs: true, inside: true },
} as const satisfies Record<Method, MethodRow>;

const table = new Map<string, MethodRow>(Object.entries(rows));
const unknownRow: MethodRow = { runs: true };

/** The row of a method. A method without a row runs author code and has no other trait. */
export function methodRow(method: string): MethodRow {
  return table.get(method) ?? unknownRow;
}

/** True for a method that the protocol, or an extension, describes. */
export function isDescribed(method: string): boolean {
  return table.has(method);
}

/** True for a method that is described, and runs author code. */
export function runsHandler(method: string): boolean {
  return table.get(method)?.runs === true;
}

/** True for a method that is described, and changes nothing however often it is called. */
export function onlyReads(method: string): boolean {
  const row = table.get(method);
  return row !== undefined && row.inside !== true && method !== "tools/call" && !method.startsWith("tasks/");
}
