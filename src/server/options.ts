import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { NotificationParams } from "../protocol/notification.ts";
import { checkOptionNames, type OptionNames, type OtherNames } from "../protocol/option-names.ts";
import type { Extensions, Implementation } from "../protocol/peer.ts";
import type { Middleware } from "../protocol/service.ts";
import type { Clock } from "../std/clock.ts";
import { defined, type OrUndefined } from "../std/defined.ts";
import type { Store } from "../store/store.ts";
import type { Context } from "./context.ts";
import type { ErrorHook } from "./error-reporter.ts";
import type { PromptDefinitions } from "./prompt.ts";
import type { ResourceDefinition } from "./resource.ts";
import type { TaskOptions } from "./tasks/task-record.ts";
import type { ToolDefinitions } from "./tool.ts";

/** A method of your own: params in, result out. */
export type CustomMethod = (params: JsonObject, context: Context) => JsonObject | Promise<JsonObject>;

/** What a server says of itself, what it offers, and how it behaves. */
export interface ServerOptions<T extends ToolDefinitions = ToolDefinitions> extends OrUndefined<Implementation> {
  /** Tells the model how to use this server. */
  readonly instructions?: string | undefined;

  readonly tools?: T | undefined;
  readonly resources?: readonly ResourceDefinition[] | undefined;
  readonly prompts?: PromptDefinitions | undefined;
  /** Methods beyond the protocol, by name. */
  readonly methods?: Readonly<Record<string, CustomMethod>> | undefined;
  /**
   * Hears notifications of clients that the protocol does not define. Where the
   * client has a session, it may ask and `ctx.notify` answers in that session.
   */
  readonly onNotification?: ((notification: NotificationParams, context: Context) => void | Promise<void>) | undefined;
  /** Hears that the roots of a client changed; `ctx.roots()` asks for them. Clients of 2026-07-28 do not say so. */
  readonly onRootsChanged?: ((context: Context) => void | Promise<void>) | undefined;
  /** Wraps every call. The first is the outermost. */
  readonly middleware?: readonly Middleware[] | undefined;

  /** Tells clients when lists change. Default false. */
  readonly listChanged?: boolean | undefined;
  /** Lets clients subscribe to resources. Default false. */
  readonly subscribe?: boolean | undefined;
  /** Lets handlers send log messages. Default false. */
  readonly logging?: boolean | undefined;
  readonly experimental?: JsonObject | undefined;
  readonly extensions?: Extensions | undefined;

  /** How long clients may keep lists and resources, and whether users may share them. Default: not at all. */
  readonly cache?:
    | { readonly ttlMs?: number | undefined; readonly scope?: "public" | "private" | undefined }
    | undefined;
  /** Items on one page of a list. Default 1000. */
  readonly pageSize?: number | undefined;
  /** How long a handler may go on without a result or progress. Default 30 s; 0 is off. */
  readonly timeoutMs?: number | undefined;
  /** Arguments that do not match are a result the model reads, or a protocol error. Default `result`. */
  readonly inputErrors?: "result" | "protocol" | undefined;
  /**
   * True lets Standard Schemas match patterns that cannot be proved safe: an
   * unsafe one can block the process for as long as a caller wants. Plain JSON
   * Schemas are proved always. Default false.
   */
  readonly trustPatterns?: boolean | undefined;

  /**
   * Where tasks, answers and changes are kept, so that they outlive this process
   * and reach others: `openStore("redis://…")`. Default: in memory.
   */
  readonly store?: Store | Promise<Store> | undefined;
  /** Of tools that run as tasks. */
  readonly tasks?: TaskOptions | undefined;
  /**
   * Keys that seal the state of questions while a client answers them: 32
   * random bytes or more each, in hex or base64. The first seals, all open. Give
   * the same to every process that serves this server; without, other
   * processes cannot go on with a call. Default: `PLUGBAY_STATE_KEYS`, else random.
   */
  readonly stateKeys?: readonly string[] | undefined;
  /** How long a client may take to answer. Default 10 min. */
  readonly askTimeoutMs?: number | undefined;
  /** Calls that may wait for answers in memory. Default 1000; older ones are run again from their start. */
  readonly maxParkedCalls?: number | undefined;

  /**
   * For development: the message and the stack of an internal error reach the
   * client, who else gets only its id. Default false.
   */
  readonly exposeErrors?: boolean | undefined;
  /**
   * Hears of every internal error in full; the peer gets only its id. Also of a
   * tool or prompt that was added with a pattern that is not safe to match.
   * Default: `console.error`.
   */
  readonly onError?: ErrorHook | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
  /** The time of day in ms. For tests. */
  readonly now?: (() => number) | undefined;
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
  askTimeoutMs: true,
  maxParkedCalls: true,
  onNotification: true,
  onRootsChanged: true,
  exposeErrors: true,
  onError: true,
  clock: true,
  now: true,
};

const otherNames: OtherNames = { use: "middleware" };

/** Throws `invalid-definition` for options that do not exist, and for numbers that would quietly disable what they limit. */
export function checkOptions(options: ServerOptions): void {
  checkOptionNames("createServer", options, serverOptions, otherNames);
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

/** What names a server. */
export function infoOf(options: ServerOptions): Implementation {
  const { name, version, title, description, websiteUrl, icons } = options;
  return defined({ name, version, title, description, websiteUrl, icons });
}
