import type { JsonObject } from "../json/json.ts";
import { isLogLevel, type LogLevel } from "../protocol/logging.ts";
import type { Method, Params, Result } from "../protocol/methods.ts";
import type { Service } from "../protocol/service.ts";
import type { Task, TaskTerms } from "../protocol/task.ts";
import type { DeadlineLimits } from "../std/deadlines.ts";
import { guarded, type Warn } from "./warning.ts";

/** How far a call has come. Only the server knows the unit. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A log message of the server. */
export interface LogEntry {
  readonly level: LogLevel;
  readonly logger?: string;
  readonly data: unknown;
}

/** Options of every call of a client. Times are in milliseconds; 0 disables a limit. */
export interface CallOptions {
  /** Ends the call with the error `cancelled`, whose `cause` is the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Without a sign of life for this long the call fails with `timeout`. Progress is one. Default 30 s. */
  readonly timeoutMs?: number | undefined;
  /** The call fails with `timeout` after this long, whatever happens. Default 10 min, or `timeoutMs` if that is longer. */
  readonly maxTotalMs?: number | undefined;
  /** Called with progress, never after the call has ended. Without it, no progress is requested. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Called with the log messages of this call, instead of the client's own `onLog`. */
  readonly onLog?: ((entry: LogEntry) => void) | undefined;
  /** Members for `_meta` of the request. */
  readonly meta?: JsonObject | undefined;
  /**
   * Headers for every HTTP request of this call, in addition to the `headers` of `connect`, which they replace by name.
   * Headers of the protocol cannot be replaced. The result is neither cached nor taken from the cache. A call to a
   * server that is not at a URL fails with `unsupported`.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Options of tool calls. */
export interface ToolCallOptions extends CallOptions {
  /**
   * The idempotency key: a server that records its calls runs a call with the same key, tool and arguments only once.
   */
  readonly idempotencyKey?: string | undefined;
  /**
   * Called when the server creates a task for the call: first with its id, then with every change, never after the call
   * has ended.
   */
  readonly onTask?: ((task: Task) => void) | undefined;
}

/** Options of calls whose results may be cached. */
export interface CachedCallOptions extends CallOptions {
  /** True sends the request even when a cached result is still fresh. */
  readonly fresh?: boolean | undefined;
}

/** What is out of the ordinary about a request. */
export interface Route {
  /** Where it goes when not straight to the server. */
  readonly service?: Service | undefined;
  /** Called with notifications that no callback of the caller receives. */
  readonly onNotification?: NotificationListener | undefined;
  /** What the call states about tasks, when not what every call does. */
  readonly tasks?: TaskTerms | undefined;
  /** True for a request that belongs to a task or checks the connection: it is sent without waiting in the queue. */
  readonly skipsQueue?: boolean;
  /** True for a subscription, which stays open in the background and does not keep the process alive. */
  readonly isSubscription?: boolean;
  /** The most that the response may have, where that is less than the connection allows. */
  readonly maxBytes?: number;
  /** True when the task continues after its caller has stopped waiting. */
  readonly keepsTask?: boolean;
}

/**
 * False for requests that skip the queue. A subscription stays open while it is read, so it does not count as an
 * unanswered call.
 */
export function isCounted({ skipsQueue, isSubscription }: Route): boolean {
  return skipsQueue !== true && isSubscription !== true;
}

/** One request of a client, however many calls it takes. */
export interface OutgoingRequest<M extends Method> {
  readonly method: M;
  readonly params: Params<M>;
  readonly service: Service;
  readonly limits: DeadlineLimits;
  readonly meta: JsonObject | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly wantsProgress: boolean;
  readonly logLevel: LogLevel | undefined;
  readonly signal: AbortSignal | undefined;
  /** Called with notifications of the server until the call ends. Must not throw. */
  readonly onNotification: NotificationListener | undefined;
  /** Called with every state of the task. Must not throw. */
  readonly onTask: ((task: Task) => void) | undefined;
  readonly route: Route;
}

export type NotificationListener = (method: string, params: JsonObject) => void;

/** Sends one request, and waits for its result. Rejects with an `McpError`. */
export type Send = <M extends Method>(
  method: M,
  params: Params<M>,
  options?: ToolCallOptions,
  route?: Route,
) => Promise<Result<M>>;

/**
 * Runs `listener` when the signal aborts. Returns a function that removes the listener.
 *
 * All calls that share a signal use one listener of it, because platforms report more than ten as a leak on stderr.
 */
export function onSignal(signal: AbortSignal, listener: () => void): () => void {
  const hub = hubs.get(signal) ?? openHub(signal);
  hub.listeners.add(listener);
  return () => {
    if (hub.listeners.delete(listener) && hub.listeners.size === 0) hub.close();
  };
}

interface AbortHub {
  readonly listeners: Set<() => void>;
  close(): void;
}

const hubs = new WeakMap<AbortSignal, AbortHub>();

function openHub(signal: AbortSignal): AbortHub {
  const listeners = new Set<() => void>();
  const notifyAll = (): void => {
    hubs.delete(signal);
    for (const listener of listeners) listener();
  };
  const close = (): void => {
    hubs.delete(signal);
    signal.removeEventListener("abort", notifyAll);
  };
  const hub = { listeners, close };
  hubs.set(signal, hub);
  signal.addEventListener("abort", notifyAll, { once: true });
  return hub;
}

/** Passes the notifications of one call to its callbacks. Undefined when there is no callback. */
export function toNotificationListener(
  { onProgress, onLog }: CallOptions,
  warn: Warn,
  fallback?: NotificationListener,
): NotificationListener | undefined {
  if (onProgress === undefined && onLog === undefined) return fallback;
  const reportProgress = onProgress && guarded("onProgress", onProgress, warn);
  const reportLog = onLog && guarded("onLog", onLog, warn);
  return (method, params) => {
    if (method === "notifications/progress") passTo(readProgress(params), reportProgress);
    else if (method === "notifications/message" && reportLog !== undefined) passTo(readLogEntry(params), reportLog);
    else fallback?.(method, params);
  };
}

function passTo<T>(value: T | undefined, to: ((value: T) => void) | undefined): void {
  if (value !== undefined) to?.(value);
}

/** Undefined when the server sent no number. */
function readProgress({ progress, total, message }: JsonObject): Progress | undefined {
  if (typeof progress !== "number") return undefined;
  return {
    progress,
    ...(typeof total === "number" && { total }),
    ...(typeof message === "string" && { message }),
  };
}

/** Undefined when the level is not one of the protocol. */
export function readLogEntry({ level, logger, data }: JsonObject): LogEntry | undefined {
  if (!isLogLevel(level)) return undefined;
  return { level, data, ...(typeof logger === "string" && { logger }) };
}
