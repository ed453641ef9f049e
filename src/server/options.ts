import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { NotificationParams } from "../protocol/notification.ts";
import { checkOptionNames, type OptionNames, type OtherNames } from "../protocol/option-names.ts";
import type { Extensions, Implementation } from "../protocol/peer.ts";
import type { ServerEvent } from "../protocol/server-event.ts";
import type { Middleware } from "../protocol/service.ts";
import type { Telemetry } from "../protocol/telemetry.ts";
import type { Clock } from "../std/clock.ts";
import { defined, type OrUndefined } from "../std/defined.ts";
import type { Store } from "../store/store.ts";
import type { Context } from "./context.ts";
import type { ErrorHook } from "./error-reporter.ts";
import type { PromptDefinitions } from "./prompt.ts";
import type { ResourceDefinition } from "./resource.ts";
import type { Session } from "./state-types.ts";
import type { TaskOptions } from "./tasks/task-record.ts";
import type { ToolDefinitions } from "./tool.ts";

/** A method of your own: params in, result out. */
export type CustomMethod = (params: JsonObject, context: Context) => JsonObject | Promise<JsonObject>;

/** Limits of a server, for one principal or for all. 0 and `Infinity` disable a limit. */
export interface ServerBudget {
  /**
   * Handlers that wait in memory for an answer to their question. Beyond the limit, the oldest is dropped and run again
   * when its client returns. Default 250 of a principal, 1,000 in all.
   */
  readonly maxParkedCalls?: number | undefined;
  /**
   * Tasks that run or whose result is retained. Beyond the limit, the oldest finished task is deleted; while all run,
   * the new one is rejected. Default 1,000 of a principal, over all processes that share the store, and 10,000 of this
   * process.
   */
  readonly maxTasks?: number | undefined;
  /**
   * Bytes of tasks, with their results, and of outcomes retained for callers that repeat an answer. The oldest are
   * deleted first. Default 32 MiB of a principal, 256 MiB of this process.
   */
  readonly maxHeldBytes?: number | undefined;
}

/**
 * The limits of each principal, and of the process as a whole. When the process is at its limit, the largest principal
 * loses data first.
 */
export interface ServerBudgets {
  readonly principal?: ServerBudget | undefined;
  readonly process?: ServerBudget | undefined;
}

/** What a server says of itself, what it offers, and how it behaves. */
export interface ServerOptions<T extends ToolDefinitions = ToolDefinitions> extends OrUndefined<Implementation> {
  /** Instructions for the model on how to use this server. */
  readonly instructions?: string | undefined;

  readonly tools?: T | undefined;
  readonly resources?: readonly ResourceDefinition[] | undefined;
  readonly prompts?: PromptDefinitions | undefined;
  /** Methods beyond the protocol, by name. */
  readonly methods?: Readonly<Record<string, CustomMethod>> | undefined;
  /**
   * Called with notifications that the protocol does not define. Where the client has a session, the handler may ask,
   * and `ctx.notify` sends to that session.
   */
  readonly onNotification?: ((notification: NotificationParams, context: Context) => void | Promise<void>) | undefined;
  /**
   * Called when a session begins, before its first call. Clients of 2026-07-28 have no sessions. Errors that it throws
   * are passed to `onError`, and the session continues.
   */
  readonly onConnect?: ((session: Session, context: Context) => void | Promise<void>) | undefined;
  /**
   * Called once when a session has ended, in the process that ended it or detected its end: the client has left or was
   * killed, `sessionTtlMs` has passed, or the endpoint was closed. Its state can still be read, and is deleted
   * afterwards.
   */
  readonly onDisconnect?: ((session: Session) => void | Promise<void>) | undefined;
  /**
   * Called when the roots of a client have changed; `ctx.roots()` requests them. Clients of 2026-07-28 do not report
   * it.
   */
  readonly onRootsChanged?: ((context: Context) => void | Promise<void>) | undefined;
  /**
   * Starts a watcher for a resource with its first subscriber, over all clients and all processes that share the store.
   * It is called in one process; when that ends, another one with subscribers calls it. `context` is that of a
   * subscriber.
   */
  readonly onSubscribe?: ((uri: string, context: Context) => void | Promise<void>) | undefined;
  /**
   * Stops the watcher, in the process that started it: its last subscriber has left, or another process continues the
   * watch.
   */
  readonly onUnsubscribe?: ((uri: string) => void | Promise<void>) | undefined;
  /** Wraps every call. The first is the outermost. */
  readonly middleware?: readonly Middleware[] | undefined;

  /** Announces list changes to clients. Default false. */
  readonly listChanged?: boolean | undefined;
  /** Lets clients subscribe to resources. Default false, and true with `onSubscribe`. */
  readonly subscribe?: boolean | undefined;
  /** Lets handlers and `server.log` send log messages. Default false. */
  readonly logging?: boolean | undefined;
  /** What this server can besides the protocol, by name; needed for `server.notify`. Default: nothing. */
  readonly experimental?: JsonObject | undefined;
  readonly extensions?: Extensions | undefined;

  /** How long clients may cache lists and resources, and whether users may share them. Default: no caching. */
  readonly cache?:
    | { readonly ttlMs?: number | undefined; readonly scope?: "public" | "private" | undefined }
    | undefined;
  /** Items on one page of a list. Default 1000. */
  readonly pageSize?: number | undefined;
  /** Time limit of a handler without a result or progress, in milliseconds. Default 30,000; 0 disables it. */
  readonly timeoutMs?: number | undefined;
  /** Arguments that do not match are a result the model reads, or a protocol error. Default `result`. */
  readonly inputErrors?: "result" | "protocol" | undefined;
  /**
   * True lets Standard Schemas match patterns that cannot be proved safe: an unsafe pattern can block the process.
   * Patterns of plain JSON Schemas are always proved. Default false.
   */
  readonly trustPatterns?: boolean | undefined;

  /**
   * The store for tasks, answers and changes, so that they survive this process and reach others:
   * `openStore("redis://…")`. Default: in memory.
   */
  readonly store?: Store | Promise<Store> | undefined;
  /** Of tools that run as tasks. */
  readonly tasks?: TaskOptions | undefined;
  /**
   * Keys that seal the state of questions while a client answers them: 32 random bytes or more each, in hex or base64.
   * The first one seals, all of them open. Use the same keys in every process that serves this server; otherwise other
   * processes cannot continue a call. Default: `PLUGBAY_STATE_KEYS`, else random.
   */
  readonly stateKeys?: readonly (string | undefined)[] | undefined;
  /**
   * The audience of states and tasks: they are valid for servers with the same value. Servers that share `stateKeys` or
   * a `store` need different values, unless they are the same server. Default: `name`.
   */
  readonly stateAudience?: string | undefined;
  /** How long a client may take to answer a question, in every revision. Default 10 min. */
  readonly askTimeoutMs?: number | undefined;
  /**
   * Limits of the data that calls leave behind: of each principal (or address, for anonymous callers), and of all. See
   * {@link ServerBudget} for the defaults.
   */
  readonly budgets?: ServerBudgets | undefined;

  /**
   * For development: the message and the stack of an internal error are sent to the client, instead of only its id.
   * Default false.
   */
  readonly exposeErrors?: boolean | undefined;
  /**
   * Called with every internal error in full; the peer gets only its id. Also called for a tool or prompt that was
   * added with a pattern that is not safe to match. Default: `console.error`.
   */
  readonly onError?: ErrorHook | undefined;
  /** Receives the begin and the end of every call: `otel()`, `createMetrics()`, or both in a list. Default: none. */
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined;
  /**
   * Called with every call that has ended, and with every rejection: the caller, the operation, its outcome and its
   * duration. For an audit log; without secrets and arguments.
   */
  readonly onEvent?: ((event: ServerEvent) => void) | undefined;
  /** For tests: `date` of it is the time of day. */
  readonly clock?: Clock | undefined;
}

const serverOptions: OptionNames<ServerOptions> = {
  name: true,
  version: true,
  title: true,
  description: true,
  websiteUrl: true,
  icons: true,
  instructions: true,
  tools: true,
  resources: true,
  prompts: true,
  methods: true,
  middleware: true,
  listChanged: true,
  subscribe: true,
  logging: true,
  experimental: true,
  extensions: true,
  cache: true,
  pageSize: true,
  timeoutMs: true,
  inputErrors: true,
  trustPatterns: true,
  store: true,
  tasks: true,
  stateKeys: true,
  stateAudience: true,
  askTimeoutMs: true,
  budgets: true,
  onNotification: true,
  onConnect: true,
  onDisconnect: true,
  onRootsChanged: true,
  onSubscribe: true,
  onUnsubscribe: true,
  exposeErrors: true,
  onError: true,
  telemetry: true,
  onEvent: true,
  clock: true,
};

const otherNames: OtherNames = {
  use: "middleware",
  now: "clock.date",
  maxParkedCalls: "budgets.process.maxParkedCalls",
};

const taskOptions: OptionNames<TaskOptions> = {
  afterMs: true,
  ttlMs: true,
  maxTtlMs: true,
  pollIntervalMs: true,
  maxRunning: true,
  leaseMs: true,
};

const budgetScopes: OptionNames<ServerBudgets> = { principal: true, process: true };
const budgetNames: OptionNames<ServerBudget> = { maxParkedCalls: true, maxTasks: true, maxHeldBytes: true };

/** Throws `invalid-definition` for options that do not exist, and for numbers that would quietly disable what they limit. */
export function checkOptions(options: ServerOptions): void {
  checkOptionNames("createServer", options, serverOptions, otherNames);
  checkOptionNames("tasks of createServer", options.tasks ?? {}, taskOptions, { maxKept: "budgets.process.maxTasks" });
  checkBudgets(options.budgets ?? {});
  for (const name of ["name", "version"] as const) {
    if (typeof options[name] !== "string" || options[name] === "") {
      throw new McpError("invalid-definition", `createServer needs a ${name}: a string that is sent to clients`);
    }
  }
  const { pageSize = 1, askTimeoutMs = 1, tasks } = options;
  for (const [name, value = 1] of Object.entries({ pageSize, askTimeoutMs, ...tasks })) {
    const least = name === "afterMs" ? 0 : 1;
    if (!(value >= least)) {
      throw new McpError("invalid-definition", `the option ${name} must be at least ${least}, not ${value}`);
    }
  }
}

function checkBudgets(budgets: ServerBudgets): void {
  checkOptionNames("budgets of createServer", budgets, budgetScopes);
  for (const [scope, budget] of Object.entries(budgets)) {
    checkOptionNames(`budgets.${scope} of createServer`, budget ?? {}, budgetNames);
    for (const [name, limit = 0] of Object.entries(budget ?? {})) {
      if (typeof limit === "number" && limit >= 0) continue;
      const message = `budgets.${scope}.${name} of createServer must be 0 or more, not ${limit}; 0 is off`;
      throw new McpError("invalid-definition", message, { data: { member: name } });
    }
  }
}

/** What names a server. */
export function infoOf(options: ServerOptions): Implementation {
  const { name, version, title, description, websiteUrl, icons } = options;
  return defined({ name, version, title, description, websiteUrl, icons });
}
