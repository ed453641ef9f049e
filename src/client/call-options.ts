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

/** What every call of a client can be told. Times are in milliseconds; 0 switches a limit off. */
export interface CallOptions {
  /** Ends the call with the error `cancelled`, whose `cause` is the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Without a sign of life for this long the call fails with `timeout`. Progress is one. Default 30 s. */
  readonly timeoutMs?: number | undefined;
  /** The call fails with `timeout` after this long, whatever happens. Default 10 min, or `timeoutMs` if that is longer. */
  readonly maxTotalMs?: number | undefined;
  /** Hears of progress, never after the call has ended. Without it the server is not asked for any. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Hears the log messages of this call, instead of the client's own `onLog`. */
  readonly onLog?: ((entry: LogEntry) => void) | undefined;
  /** Members for `_meta` of the request. */
  readonly meta?: JsonObject | undefined;
  /**
   * Sent with every request that this call takes to a server at a URL, besides the `headers` of `connect`, which they
   * replace by name. Headers of the protocol cannot be replaced. The result is neither kept nor taken from what is kept.
   * A call to any other server fails with `unsupported`.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What a call of a tool can be told besides. */
export interface ToolCallOptions extends CallOptions {
  /** Names the call: a server that keeps what it did takes a call with the same key, tool and arguments for the same. */
  readonly idempotencyKey?: string | undefined;
  /**
   * Hears when the server makes a task of the call: first with its id, then with
   * every change, never after the call has ended.
   */
  readonly onTask?: ((task: Task) => void) | undefined;
}

/** Options of calls whose results may be kept. */
export interface CachedCallOptions extends CallOptions {
  /** True asks the server even when a kept result is still fresh. */
  readonly fresh?: boolean | undefined;
}

/** What is out of the ordinary about a request. */
export interface Route {
  /** Where it goes when not straight to the server. */
  readonly service?: Service | undefined;
  /** Hears what no callback does. */
  readonly hear?: Hear | undefined;
  /** What the call states about tasks, when not what every call does. */
  readonly tasks?: TaskTerms | undefined;
  /** True for what serves the following of a task, or finds out whether the server is there: it never waits. */
  readonly aside?: boolean;
  /** True for what stays open in the background: it does not keep the process alive. */
  readonly listens?: boolean;
  /** The most that the response may have, where that is less than the connection allows. */
  readonly maxBytes?: number;
  /** True when a task is to go on when nobody waits for it any more. */
  readonly keeps?: boolean;
}

/** False for what never waits. What listens stays open for as long as somebody reads: it is no call that is yet to be answered. */
export function isCounted({ aside, listens }: Route): boolean {
  return aside !== true && listens !== true;
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
  /** Hears what the server says before the call ends. Must not throw. */
  readonly hear: Hear | undefined;
  /** Hears how a task stands. Must not throw. */
  readonly onTask: ((task: Task) => void) | undefined;
  readonly route: Route;
}

export type Hear = (method: string, params: JsonObject) => void;

/** Sends one request, and waits for its result. Rejects with an `McpError`. */
export type Send = <M extends Method>(
  method: M,
  params: Params<M>,
  options?: ToolCallOptions,
  route?: Route,
) => Promise<Result<M>>;

/**
 * Runs `listener` when the signal aborts. Returns how to stop listening.
 *
 * However many calls share a signal, it gets one listener: platforms take
 * eleven for a leak and say so on stderr.
 */
export function onSignal(signal: AbortSignal, listener: () => void): () => void {
  const hub = hubs.get(signal) ?? openHub(signal);
  hub.listeners.add(listener);
  return () => {
    if (hub.listeners.delete(listener) && hub.listeners.size === 0) hub.close();
  };
}

interface Hub {
  readonly listeners: Set<() => void>;
  close(): void;
}

const hubs = new WeakMap<AbortSignal, Hub>();

function openHub(signal: AbortSignal): Hub {
  const listeners = new Set<() => void>();
  const ring = (): void => {
    hubs.delete(signal);
    for (const listener of listeners) listener();
  };
  const close = (): void => {
    hubs.delete(signal);
    signal.removeEventListener("abort", ring);
  };
  const hub = { listeners, close };
  hubs.set(signal, hub);
  signal.addEventListener("abort", ring, { once: true });
  return hub;
}

/** Hands the notifications of one call to the callbacks it was given; undefined when nobody hears any. */
export function hearing({ onProgress, onLog }: CallOptions, warn: Warn, rest?: Hear): Hear | undefined {
  if (onProgress === undefined && onLog === undefined) return rest;
  const tellProgress = onProgress && guarded("onProgress", onProgress, warn);
  const tellLog = onLog && guarded("onLog", onLog, warn);
  return (method, params) => {
    if (method === "notifications/progress") pass(readProgress(params), tellProgress);
    else if (method === "notifications/message" && tellLog !== undefined) pass(readLogEntry(params), tellLog);
    else rest?.(method, params);
  };
}

function pass<T>(value: T | undefined, to: ((value: T) => void) | undefined): void {
  if (value !== undefined) to?.(value);
}

/** Undefined when the server sent no number: nobody can use that. */
function readProgress({ progress, total, message }: JsonObject): Progress | undefined {
  if (typeof progress !== "number") return undefined;
  return {
    progress,
    ...(typeof total === "number" && { total }),
    ...(typeof message === "string" && { message }),
  };
}

/** Undefined when the level is none of the protocol. */
export function readLogEntry({ level, logger, data }: JsonObject): LogEntry | undefined {
  if (!isLogLevel(level)) return undefined;
  return { level, data, ...(typeof logger === "string" && { logger }) };
}
