import { asJson, type JsonObject } from "../json/json.ts";
import type { Connection } from "../model/connection.ts";
import { McpError } from "../model/errors.ts";
import type { LogLevel } from "../model/logging.ts";
import { callKey } from "../model/meta.ts";
import type { Method, Params, Result } from "../model/methods.ts";
import { eraOf } from "../model/revision.ts";
import { type TaskTerms, tasksExtension } from "../model/task.ts";
import type { Clock } from "../std/clock.ts";
import { createDeadlines, type DeadlineLimits } from "../std/deadlines.ts";
import { LinkedSet } from "../std/linked-set.ts";
import type { AnswerDesk } from "./answers.ts";
import type { CallOptions, LogEntry, ToolCallOptions } from "./call-options.ts";
import { cancelled, exchange, type Line, type OpenExchange, type RememberingClock, type Route } from "./exchange.ts";
import { createFollow } from "./follow.ts";
import { hearing } from "./notices.ts";
import { guarded, type Warn } from "./warning.ts";

export interface RequestsOptions {
  readonly connection: Connection;
  readonly desk: AnswerDesk;
  readonly clock: Clock;
  readonly warn: Warn;
  /** For calls that state no limits of their own. */
  readonly limits: DeadlineLimits;
  /** Calls that may be unanswered. 0 is off. */
  readonly maxInFlight: number;
  readonly maxRounds: number;
  readonly onLog: ((entry: LogEntry) => void) | undefined;
  readonly logLevel: LogLevel;
}

/** The requests of one client. */
export interface Requests {
  /** The least severe log message calls ask for, when there is somebody to hear it. */
  logLevel: LogLevel;
  send<M extends Method>(method: M, params: Params<M>, options?: ToolCallOptions, route?: Route): Promise<Result<M>>;
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
  const { connection, desk, limits, maxInFlight, maxRounds, warn, onLog } = options;
  const clock = remembering(options.clock);
  const open = new LinkedSet<OpenExchange>();
  const aside = new LinkedSet<OpenExchange>();
  let over: { readonly why: string; readonly cause?: unknown } | undefined;

  const closedError = (method: string): McpError =>
    new McpError("connection-closed", `${method}: ${over?.why}`, { cause: over?.cause });

  const refusal = (method: string, signal: AbortSignal | undefined, route: Route): McpError | undefined => {
    if (over !== undefined) return closedError(method);
    if (signal?.aborted) return cancelled(method, signal);
    if (maxInFlight === 0 || open.size < maxInFlight || route.aside === true) return undefined;
    return new McpError("limit-reached", `${method} was not sent: ${maxInFlight} calls are unanswered`);
  };

  const requests: Requests = {
    logLevel: options.logLevel,
    send(method, params, callOptions = noOptions, route = straight) {
      const { signal, meta, key, onProgress, onTask } = callOptions;
      const refused = refusal(method, signal, route);
      if (refused !== undefined) return Promise.reject(refused);
      const logged = callOptions.onLog ?? onLog;
      return exchange(line, {
        method,
        params,
        service: route.service ?? connection.service,
        limits: limitsOf(callOptions, limits),
        meta: key === undefined ? meta : { ...meta, [callKey]: key },
        wantsProgress: onProgress !== undefined,
        logLevel: logged && requests.logLevel,
        signal,
        hear: hearing({ onProgress, onLog: logged }, warn, route.hear),
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
      over ??= { why, cause };
    },
    endAll() {
      for (const each of [...open.toArray(), ...aside.toArray()]) each.fail(closedError(each.method));
    },
  };
  const { send } = requests;
  const isModern = eraOf(connection.revision) === "modern";
  const knowsTasks = desk.capabilities.extensions?.[tasksExtension] !== undefined;
  const line: Line = {
    connection,
    desk,
    clock,
    deadlines: createDeadlines(clock),
    maxRounds,
    tasks: knowsTasks && isModern ? takesTasks : undefined,
    follow: knowsTasks ? createFollow({ send, desk, clock: options.clock, maxRounds, isModern }) : undefined,
    open,
    aside,
  };
  return requests;
}

const noOptions: CallOptions = {};
const straight: Route = {};
const takesTasks: TaskTerms = { wanted: false };

/** The limits a caller wants. Who allows a longer silence than the default total is not cut off by that. */
export function limitsOf({ timeoutMs, maxTotalMs }: CallOptions, defaults: DeadlineLimits): DeadlineLimits {
  if (timeoutMs === undefined && maxTotalMs === undefined) return defaults;
  const idleMs = timeoutMs ?? defaults.idleMs;
  const unset = defaults.totalMs === 0 ? 0 : Math.max(defaults.totalMs, idleMs);
  return { idleMs, totalMs: maxTotalMs ?? unset };
}

function remembering(clock: Clock): RememberingClock {
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
