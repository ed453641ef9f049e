import type { JsonObject } from "../json/json.ts";
import type { LogLevel } from "../model/logging.ts";
import type { Task } from "../model/task.ts";

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
}

/** What a call of a tool can be told besides. */
export interface ToolCallOptions extends CallOptions {
  /** Names the call: a server that keeps what it did takes a call with the same key, tool and arguments for the same. */
  readonly key?: string | undefined;
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
