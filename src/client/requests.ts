import { asJson, isObject, type JsonObject } from "../json/json.ts";
import type { Connection } from "../protocol/connection.ts";
import { McpError, toError, toFailure } from "../protocol/errors.ts";
import type { Root } from "../protocol/input.ts";
import type { LogLevel } from "../protocol/logging.ts";
import { callKey } from "../protocol/meta.ts";
import {
  type Cacheable,
  type DiscoverResult,
  type Method,
  methodRow,
  type Page,
  type Params,
  type Result,
} from "../protocol/methods.ts";
import { isVendorMethod, rootsChanged } from "../protocol/notification.ts";
import { eraOf } from "../protocol/revision.ts";
import { markUnsent } from "../protocol/safe-to-retry.ts";
import type { Service } from "../protocol/service.ts";
import { type TaskTerms, tasksExtension } from "../protocol/task.ts";
import type { Clock } from "../std/clock.ts";
import { createDeadlines, type DeadlineLimits } from "../std/deadlines.ts";
import { createHold } from "../std/hold.ts";
import { lazy } from "../std/lazy.ts";
import { quote } from "../std/text.ts";
import { callText, cancelled, headersUnsupported, queueFull } from "./call-errors.ts";
import {
  type CachedCallOptions,
  type CallOptions,
  isCounted,
  type LogEntry,
  type NotificationListener,
  type Route,
  type Send,
  toNotificationListener,
} from "./call-options.ts";
import { withoutDuplicates } from "./list-entries.ts";
import { withHints } from "./list-hints.ts";
import { type CachingClock, type ClientState, createCallQueue, startOutgoingCall } from "./outgoing-call.ts";
import type { ClientRequestHandlers } from "./request-handlers.ts";
import type { ResponseCache } from "./response-cache.ts";
import type { Follow, FollowContext } from "./task-notifications.ts";
import { guarded, type Warn } from "./warning.ts";

export interface RequestsOptions {
  readonly connection: Connection;
  readonly handlers: ClientRequestHandlers;
  readonly clock: Clock;
  readonly warn: Warn;
  /** For calls that state no limits of their own. */
  readonly limits: DeadlineLimits;
  /** Calls that may be unanswered. 0 is off. */
  readonly maxOpenRequests: number;
  /** Calls that may wait until fewer are. 0 is off. */
  readonly maxQueuedCalls: number;
  readonly maxRounds: number;
  readonly onLog: ((entry: LogEntry) => void) | undefined;
  readonly logLevel: LogLevel;
}

/** The requests of one client. */
export interface Requests {
  /** The lowest level of log messages that calls request, when there is a callback for them. */
  logLevel: LogLevel;
  readonly send: Send;
  /** Sends what the table of methods may not know. */
  sendRaw(method: string, params: JsonObject, options?: CallOptions, route?: Route): Promise<JsonObject>;
  /** How many calls are unanswered. */
  readonly size: number;
  /** Refuses every later request with `connection-closed`. */
  refuse(why: string, cause?: unknown): void;
  /** Fails every open request with `connection-closed`. */
  endAll(): void;
}

export function createRequests(options: RequestsOptions): Requests {
  const { connection, handlers, limits, maxOpenRequests, maxQueuedCalls, maxRounds, warn, onLog } = options;
  const clock = createCachingClock(options.clock);
  const queue = createCallQueue(maxOpenRequests, handlers);
  const { open, waiting, unqueued } = queue;
  let ended: { readonly why: string; readonly cause?: unknown } | undefined;

  const closedError = (what: string): McpError =>
    new McpError("connection-closed", `${what} failed: ${ended?.why}`, { cause: ended?.cause });

  const refusal = (method: string, params: object, { signal, headers }: CallOptions, route: Route) => {
    const isFull = maxQueuedCalls > 0 && waiting.size >= maxQueuedCalls && isCounted(route);
    const rejectsHeaders = headers !== undefined && connection.takesHeaders !== true && Object.keys(headers).length > 0;
    if (ended === undefined && signal?.aborted !== true && !isFull && !rejectsHeaders) return undefined;
    const what = callText(method, params, connection.server);
    if (ended !== undefined) return unsent(closedError(what), ended.cause);
    if (rejectsHeaders) return headersUnsupported(what, method);
    return signal?.aborted ? cancelled(what, signal) : queueFull(what, maxOpenRequests, maxQueuedCalls);
  };

  /** What a server says while a call is open, and what no callback of the call takes. */
  const unhandled: NotificationListener | undefined = handlers.handlesNotifications
    ? (method, params) => void (method === "notifications/progress" || handlers.onOtherNotification(method, params))
    : undefined;

  const requests: Requests = {
    logLevel: options.logLevel,
    send(method, params, callOptions = noOptions, route = direct) {
      const { signal, meta, headers, idempotencyKey: key, onProgress, onTask } = callOptions;
      if (waiting.size > 0) queue.startWaiting();
      const refused = refusal(method, params, callOptions, route);
      if (refused !== undefined) return Promise.reject(refused);
      const logListener = callOptions.onLog ?? onLog;
      return startOutgoingCall(state, {
        method,
        params,
        service: route.service ?? connection.service,
        limits: limitsOf(callOptions, limits),
        headers,
        meta: key === undefined ? meta : { ...meta, [callKey]: key },
        wantsProgress: onProgress !== undefined,
        logLevel: logListener && requests.logLevel,
        signal,
        onNotification: toNotificationListener(
          { onProgress, onLog: logListener },
          warn,
          route.onNotification ?? unhandled,
        ),
        onTask: onTask && guarded("onTask", onTask, warn),
        route,
      });
    },
    async sendRaw(method, params, callOptions, route) {
      return asJson(await requests.send(method as Method, params, callOptions, route));
    },
    get size() {
      return open.size;
    },
    refuse(why, cause) {
      ended ??= { why, cause };
      queue.close();
    },
    endAll() {
      for (const each of waiting.toArray()) each.fail(unsent(closedError(each.what), ended?.cause));
      for (const set of [open, unqueued]) for (const each of set.toArray()) each.fail(closedError(each.what));
    },
  };
  const { send } = requests;
  const isModern = eraOf(connection.revision) === "modern";
  const knowsTasks = handlers.capabilities.extensions?.[tasksExtension] !== undefined;
  const state: ClientState = {
    connection,
    handlers,
    clock,
    deadlines: createDeadlines(clock),
    hold: createHold(options.clock),
    maxRounds,
    tasks: knowsTasks && isModern ? acceptsTasks : undefined,
    follow: knowsTasks ? createFollow({ send, handlers, clock: options.clock, maxRounds, isModern }) : undefined,
    queue,
  };
  return requests;
}

/** The error of a call that was not even sent, with what is known of the end of the connection. */
function unsent(error: McpError, cause: unknown): McpError {
  const { data } = cause instanceof McpError ? cause : error;
  return toError(markUnsent({ ...toFailure(error), ...(data !== undefined && { data }) }), cause);
}

const noOptions: CallOptions = {};
const direct: Route = {};
const acceptsTasks: TaskTerms = { wanted: false };

/** The time limits of a call. A `timeoutMs` longer than the default total raises the total. */
export function limitsOf({ timeoutMs, maxTotalMs }: CallOptions, defaults: DeadlineLimits): DeadlineLimits {
  if (timeoutMs === undefined && maxTotalMs === undefined) return defaults;
  const idleMs = timeoutMs ?? defaults.idleMs;
  const unset = defaults.totalMs === 0 ? 0 : Math.max(defaults.totalMs, idleMs);
  return { idleMs, totalMs: maxTotalMs ?? unset };
}

function createCachingClock(clock: Clock): CachingClock {
  let last = clock.now();
  return {
    now() {
      last = clock.now();
      return last;
    },
    after: (ms, task) => clock.after(ms, task),
    get last() {
      return last;
    },
  };
}

/** How the tasks of one client are followed. What does it is loaded when the first one comes. */
export function createFollow(state: FollowContext): Follow {
  const follower = lazy(
    () => import("./task-follower.ts"),
    ({ createFollower }) => createFollower(state),
  );
  return async (task, watcher) => (await follower.load())(task, watcher);
}

/** The methods whose results come in pages. */
export type ListMethod = "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list";

export interface PagesOptions extends CachedCallOptions {
  /** The cursor of the first page. Absent means the first page. */
  readonly cursor?: string | undefined;
}

/** Requests that heed what the protocol says of their method. */
export interface Calls {
  /** Fails with `unsupported` when the server does not offer the method. Uses the cache where results may be cached. */
  call<M extends Method>(method: M, params: Params<M>, options?: CachedCallOptions): Promise<Result<M>>;
  pages<M extends ListMethod>(method: M, options?: PagesOptions): AsyncIterable<Result<M>>;
  /** The items of all pages, without duplicates. */
  list<M extends ListMethod, I extends object>(
    method: M,
    items: (page: Result<M>) => readonly I[],
    options?: CachedCallOptions,
  ): Promise<readonly I[]>;
}

interface CallsOptions {
  readonly server: DiscoverResult;
  readonly requests: Requests;
  /** The service for lists when there is no cache. */
  readonly lists: Service;
  readonly cache: ResponseCache | undefined;
  readonly maxPages: number;
  /** Of all pages of one list. 0 is off. */
  readonly maxListBytes: number;
  readonly warn: Warn;
}

export function createCalls({ server, requests, lists, cache, maxPages, maxListBytes, warn }: CallsOptions): Calls {
  const uncached: Route = { service: lists };
  const reading: Route = { service: cache?.reading ?? lists };
  const refreshing: Route = { service: cache?.refreshing ?? lists };

  /** The result may depend on headers, so a call with headers bypasses the cache. */
  const routeFor = (options: CachedCallOptions | undefined): Route => {
    if (options?.headers !== undefined) return uncached;
    return options?.fresh === true ? refreshing : reading;
  };

  const send: Send = (method, params, options, route) => {
    const { capability } = methodRow(method);
    if (capability !== undefined && server.capabilities[capability] === undefined) {
      return Promise.reject(unsupported(server, method, capability));
    }
    return requests.send(method, params, options, route);
  };

  const call: Calls["call"] = (method, params, options) =>
    send(method, params, options, methodRow(method).cacheable === true ? routeFor(options) : undefined);

  const pages: Calls["pages"] = (method, options) => {
    const fetchPage = (cursor: string | undefined) => call(method, cursor === undefined ? {} : { cursor }, options);
    return walk(fetchPage, { what: callText(method, {}, server), maxPages, cursor: options?.cursor });
  };

  const gather: Calls["list"] = async (method, items, options) => {
    const all: ReturnType<typeof items>[number][] = [];
    const what = callText(method, {}, server);
    const budget = createListBudget(what, maxListBytes);
    const fetchPage = (cursor: string | undefined) =>
      budget.spend(routeFor(options), (route) => send(method, cursor === undefined ? {} : { cursor }, options, route));
    const hints: Cacheable[] = [];
    for await (const page of walk(fetchPage, { what, maxPages })) {
      hints.push(page);
      for (const item of items(page)) all.push(item);
    }
    return withHints(withoutDuplicates(method, all, warn), hints);
  };

  return {
    call,
    pages,
    async list(method, items, options) {
      try {
        return await gather(method, items, options);
      } catch (error) {
        if (cache === undefined || options?.fresh === true || !isLostCursor(error)) throw error;
      }
      return gather(method, items, { ...options, fresh: true });
    },
  };
}

/** Counts the pages of a list as they come. */
interface ListBudget {
  /** Fetches a page within what is left. Rejects with `limit-reached` when it is more. */
  spend<T>(route: Route, fetch: (route: Route) => Promise<T>): Promise<T>;
}

function createListBudget(what: string, max: number): ListBudget {
  let left = max;
  if (max === 0 || max === Number.POSITIVE_INFINITY) return { spend: (route, fetch) => fetch(route) };

  const tooLong = (): McpError => {
    const message = `${what} is longer than ${max} bytes in all its pages (maxListBytes); raise maxListBytes, or read it page by page with client.pages`;
    return new McpError("limit-reached", message, { data: { limit: "maxListBytes", max, scope: "call" } });
  };

  return {
    async spend(route, fetch) {
      const { service } = route;
      const counted: Service = async (call) => {
        const outcome = await (service as Service)(call);
        left -= "size" in outcome ? (outcome.size ?? 0) : 0;
        return outcome;
      };
      const maxBytes = left;
      try {
        const page = await fetch({ ...route, service: counted, maxBytes });
        if (left >= 0) return page;
      } catch (error) {
        if (!isOver(error, maxBytes)) throw error;
      }
      throw tooLong();
    },
  };
}

/** True for the error of a response that exceeded the remaining size. */
function isOver(error: unknown, maxBytes: number): boolean {
  if (!(error instanceof McpError) || error.code !== "limit-reached" || !isObject(error.data)) return false;
  const { limit, max } = error.data;
  return (limit === "maxMessageBytes" || limit === "maxListBytes") && max === maxBytes;
}

/** A cached page may contain a cursor that the server does not know any more. */
function isLostCursor(error: unknown): boolean {
  return error instanceof McpError && error.code === "invalid-params";
}

/** The error of a call that the server has no capability for. */
export function unsupported({ serverInfo }: DiscoverResult, method: string, capability: string): McpError {
  const message = `${method} needs the capability ${capability}, which server ${quote(serverInfo.name)} does not have; look at client.server.capabilities`;
  return new McpError("unsupported", message, { data: { method } });
}

interface WalkOptions {
  /** Names the list and the server in errors. */
  readonly what: string;
  /** The cursor of the first page. Absent means the first page. */
  readonly cursor?: string | undefined;
  readonly maxPages: number;
}

/**
 * The pages of a list, in order, each fetched on demand.
 *
 * Only the absence of a cursor ends the list; an empty cursor does not. Throws `invalid-response` when a cursor
 * repeats, and `limit-reached` after too many pages.
 */
export async function* walk<P extends Page>(
  fetchPage: (cursor: string | undefined) => Promise<P>,
  { what, cursor: start, maxPages }: WalkOptions,
): AsyncGenerator<P, void, undefined> {
  const seen = new Set<string | undefined>();
  let cursor = start;
  for (let count = 0; count < maxPages; count++) {
    seen.add(cursor);
    const page = await fetchPage(cursor);
    yield page;
    cursor = page.nextCursor;
    if (cursor === undefined) return;
    if (seen.has(cursor)) throw new McpError("invalid-response", `${what} repeats the cursor ${quote(cursor)}`);
  }
  const message = `${what} has more than ${maxPages} pages (maxPages); raise maxPages, or read it page by page with client.pages`;
  throw new McpError("limit-reached", message, { data: { limit: "maxPages", max: maxPages, scope: "call" } });
}

/** Sends notifications of a client to its server. */
interface NotificationSender {
  notify(method: string, params?: JsonObject): void;
  setRoots(roots: readonly Root[]): void;
}

export function createNotificationSender(
  connection: Connection,
  handlers: ClientRequestHandlers,
  isClosed: () => boolean,
): NotificationSender {
  return {
    notify(method, params = {}) {
      if (!isVendorMethod(method)) throw ofProtocol(method);
      if (isClosed()) throw new McpError("connection-closed", `${method} was not sent: the client is closed`);
      connection.tell?.(method, params);
    },
    setRoots(roots) {
      handlers.setRoots(roots);
      connection.tell?.(rootsChanged, {});
    },
  };
}

/** Notifications of the protocol are sent by the parts of the client that follow their rules. */
function ofProtocol(method: string): McpError {
  const remedy = "the client sends those of the protocol itself: setRoots announces roots, a signal cancels a call";
  return new McpError("invalid-params", `notify cannot send ${method}: ${remedy}`);
}
