import type { JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { Extensions, Implementation } from "../model/peer.ts";
import type { Middleware } from "../model/service.ts";
import type { Clock } from "../std/clock.ts";
import { defined } from "../std/defined.ts";
import type { Store } from "../store/store.ts";
import type { Context } from "./context.ts";
import type { Prompts } from "./define-prompt.ts";
import type { ResourceDefinition } from "./define-resource.ts";
import type { Tools } from "./define-tool.ts";
import type { FaultHook } from "./faults.ts";

/** A method of your own: params in, result out. */
export type CustomMethod = (params: JsonObject, context: Context) => JsonObject | Promise<JsonObject>;

/** How tasks are kept and run. Times are in ms; `Infinity` switches a limit off. */
export interface TaskLimits {
  /** How long a call of an `auto` tool may take before it becomes a task. Default 250. */
  readonly afterMs?: number;
  /** How long a task is kept from its creation on, but at least a minute after its end. Default 1 h. */
  readonly ttlMs?: number;
  /** The longest time a client may want one kept. Default 24 h. */
  readonly maxTtlMs?: number;
  /** How long clients are told to wait before they ask again. Default 1000. */
  readonly pollIntervalMs?: number;
  /** Tasks that may be under way in this process, those that wait for answers too. Default 100. */
  readonly maxRunning?: number;
  /** Tasks that ended in this process and are kept; the oldest give way. Default 10,000. */
  readonly maxKept?: number;
  /** After this long another process goes on with the tasks of one that died. Default 15,000. */
  readonly leaseMs?: number;
}

/** What a server says of itself, what it offers, and how it behaves. */
export interface ServerOptions<T extends Tools = Tools> extends Implementation {
  /** Tells the model how to use this server. */
  readonly instructions?: string;

  readonly tools?: T;
  readonly resources?: readonly ResourceDefinition[];
  readonly prompts?: Prompts;
  /** Methods beyond the protocol, by name. */
  readonly methods?: Readonly<Record<string, CustomMethod>>;
  /** Wraps every call. The first is the outermost. */
  readonly use?: readonly Middleware[];

  /** Tells clients when lists change. Default false. */
  readonly listChanged?: boolean;
  /** Lets clients subscribe to resources. Default false. */
  readonly subscribe?: boolean;
  /** Lets handlers send log messages. Default false. */
  readonly logging?: boolean;
  readonly experimental?: JsonObject;
  readonly extensions?: Extensions;

  /** How long clients may keep lists and resources, and whether users may share them. Default: not at all. */
  readonly cache?: { readonly ttlMs?: number; readonly scope?: "public" | "private" };
  /** Items on one page of a list. Default 1000. */
  readonly pageSize?: number;
  /** How long a handler may go on without a result or progress. Default 30 s; 0 is off. */
  readonly timeoutMs?: number;
  /** Arguments that do not match are a result the model reads, or a protocol error. Default `result`. */
  readonly inputErrors?: "result" | "protocol";

  /**
   * Where tasks, answers and changes are kept, so that they outlive this process
   * and reach others: `openStore("redis://…")`. Default: in memory.
   */
  readonly store?: Store | Promise<Store>;
  /** Of tools that run as tasks. */
  readonly tasks?: TaskLimits;
  /**
   * Secrets that seal the state of questions while a client answers them. The
   * first seals, all open. Give the same to every process that serves this
   * server; without, other processes cannot go on with a call.
   */
  readonly stateKeys?: readonly string[];
  /** How long a client may take to answer. Default 10 min. */
  readonly stateTtlMs?: number;
  /** Calls that may wait for answers in memory. Default 1000; older ones are run again from their start. */
  readonly maxParked?: number;

  /**
   * Hears of every internal error in full; the peer gets only its id. Also of a
   * tool or prompt that was added with a pattern that is not safe to match.
   * Default: `console.error`.
   */
  readonly onError?: FaultHook;
  /** For tests. */
  readonly clock?: Clock;
  /** The time of day in ms. For tests. */
  readonly now?: () => number;
}

/** Throws `invalid-definition` for numbers that would quietly disable what they limit. */
export function checkOptions({ pageSize = 1, stateTtlMs = 1, tasks }: ServerOptions): void {
  for (const [name, value = 1] of Object.entries({ pageSize, stateTtlMs, ...tasks })) {
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
