import type { JsonObject } from "../json/json.ts";
import { isLogLevel } from "../model/logging.ts";
import type { CallOptions, LogEntry, Progress } from "./call-options.ts";
import type { Hear } from "./exchange.ts";
import { guarded, type Warn } from "./warning.ts";

/** Hands the notifications of one call to the callbacks it was given; undefined when it was given none. */
export function hearing({ onProgress, onLog }: CallOptions, warn: Warn, rest?: Hear): Hear | undefined {
  if (onProgress === undefined && onLog === undefined) return rest;
  const tellProgress = onProgress && guarded("onProgress", onProgress, warn);
  const tellLog = onLog && guarded("onLog", onLog, warn);
  return (method, params) => {
    if (method === "notifications/progress") pass(readProgress(params), tellProgress);
    else if (method === "notifications/message") pass(readLogEntry(params), tellLog);
    else rest?.(method, params);
  };
}

function pass<T>(value: T | undefined, to: ((value: T) => void) | undefined): void {
  if (value !== undefined) to?.(value);
}

/** Undefined when the server sent no number: nobody can use that. */
export function readProgress({ progress, total, message }: JsonObject): Progress | undefined {
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
