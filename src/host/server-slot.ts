import { toAlias } from "../bridge/alias.ts";
import type { CachedCallOptions } from "../client/call-options.ts";
import type { Client } from "../client/client.ts";
import type { ConnectOptions } from "../connect/connect-options.ts";
import type { ClientConnection, Dial } from "../connect/create-connect.ts";
import { isProgram } from "../connect/target.ts";
import { McpError } from "../protocol/errors.ts";
import type { Revision } from "../protocol/revision.ts";
import type { Change } from "../protocol/subscription.ts";
import type { Tool } from "../protocol/tool.ts";
import type { Clock } from "../std/clock.ts";
import { defined } from "../std/defined.ts";
import type { Gate } from "../std/gate.ts";
import { orAborted } from "../std/lazy-abort.ts";
import type { ConnectionState, Rules } from "./connection-state.ts";
import {
  type HostPrompt,
  type HostResource,
  type HostResourceTemplate,
  type HostTool,
  qualify,
  toHostTool,
} from "./host-tool.ts";
import { answersFor, type HostQuestionHandlers } from "./input-handlers.ts";
import { createFollower, type Follower, soon } from "./server-changes.ts";
import { createMember, type ServerConnection } from "./server-connection.ts";
import type { FullTrust, HostConnectOptions, ServerSpec } from "./spec.ts";

/** The place of one server in a host: its connection, its lists, its changes. */
export interface ServerSlot {
  readonly name: string;
  readonly spec: ServerSpec;
  readonly member: ServerConnection;
  readonly isEager: boolean;
  readonly tools: ListCache<"tools", HostTool>;
  readonly resources: ListCache<"resources", HostResource>;
  readonly resourceTemplates: ListCache<"resourceTemplates", HostResourceTemplate>;
  readonly prompts: ListCache<"prompts", HostPrompt>;
  readonly follower: Follower;
  close(): Promise<void>;
}

/** What all slots of a host have in common. */
export interface ServerSlotContext {
  readonly dial: Dial;
  readonly clock: Clock;
  readonly gate: Gate;
  readonly rules: Rules;
  readonly connect: "eager" | "lazy";
  readonly idleTimeoutMs: number;
  readonly pingIntervalMs: number;
  /** How long to keep lists of servers that announce no changes. */
  readonly listTtlMs: number;
  readonly options: HostConnectOptions;
  /** Why a server must not be connected to, if it must not. */
  objection(server: string, spec: ServerSpec): Promise<McpError | undefined>;
  /** What a server spoke last time, where that is known. */
  revisionHint(server: string): Revision | undefined;
  /** Read whenever a connection is made: the roots may be others by then. */
  questions(): HostQuestionHandlers;
  onState(server: string, state: ConnectionState, before: ConnectionState): void;
  onChange(server: string, change: Change): void;
  /** A list of tools was fetched, which may be another than before. */
  onTools(): void;
}

export function createServerSlot(name: string, spec: ServerSpec, context: ServerSlotContext): ServerSlot {
  const { clock, gate, rules, listTtlMs } = context;
  const isEager = (spec.connect ?? context.connect) === "eager";
  const cacheOf = <K extends ListKind, T>(
    kind: K,
    make: ListCacheOptions<K, T>["make"],
    onList?: () => void,
  ): ListCache<K, T> =>
    createListCache({
      kind,
      clock,
      keepMs: listTtlMs,
      listening: () => soon(follower.listening, clock),
      hears: () => follower.hears(changeOf(kind)),
      make,
      ...(onList && { onList }),
    });
  const ours = <T extends object>(item: T): T & { readonly server: string } => ({ ...item, server: name });
  const tools = cacheOf("tools", (tool: Tool) => toHostTool(name, tool, aliasOf), context.onTools);
  const resources = cacheOf<"resources", HostResource>("resources", ours);
  const resourceTemplates = cacheOf<"resourceTemplates", HostResourceTemplate>("resourceTemplates", ours);
  const prompts = cacheOf<"prompts", HostPrompt>("prompts", ours);
  const caches = { tools, resources, resourceTemplates, prompts };

  const follower = createFollower({
    clock,
    retryMs: 1_000,
    onChange(change) {
      for (const kind of listsOf(change)) caches[kind].forget();
      context.onChange(name, change);
    },
  });

  const member = createMember({
    name,
    isEager,
    off: spec.disabled,
    rules,
    clock,
    gate,
    idleTimeoutMs: spec.idleTimeoutMs ?? context.idleTimeoutMs,
    pingIntervalMs: context.pingIntervalMs,
    async dial(how) {
      const objection = await context.objection(name, spec);
      if (objection !== undefined) throw objection;
      return context.dial(spec.target, { ...optionsFor(name, spec, context), ...how });
    },
    onLine: (line: ClientConnection) => follower.start(line),
    onState(state, before) {
      if (before.kind === "ready") {
        follower.stop();
        for (const cache of Object.values(caches)) cache.forget();
      }
      context.onState(name, state, before);
    },
  });

  return { name, spec, member, isEager, ...caches, follower, close: () => member.close() };
}

const aliasOf = (server: string, tool: string): string => toAlias(qualify(server, tool));

function optionsFor(name: string, spec: ServerSpec, context: ServerSlotContext): ConnectOptions {
  const { options, questions, clock } = context;
  const revisionHint = context.revisionHint(name);
  return {
    ...(revisionHint !== undefined && { revisionHint }),
    ...options,
    ...defined(spec.connectOptions ?? {}),
    ...answersFor(name, questions(), trustOf(spec)),
    clock,
  };
}

/** What a server is trusted with, all of it said. */
export function trustOf({ trust = {}, target }: ServerSpec): FullTrust {
  return { ask: trust.ask ?? true, sample: trust.sample ?? false, roots: trust.roots ?? isProgram(target) };
}

/** The lists a server has. */
export type ListKind = "tools" | "resources" | "resourceTemplates" | "prompts";

type Item<K extends ListKind> = Awaited<ReturnType<Client[Fetchers[K]]>>[number];

interface Fetchers {
  readonly tools: "listTools";
  readonly resources: "listResources";
  readonly resourceTemplates: "listResourceTemplates";
  readonly prompts: "listPrompts";
}

const fetchers: Fetchers = {
  tools: "listTools",
  resources: "listResources",
  resourceTemplates: "listResourceTemplates",
  prompts: "listPrompts",
};

/** What a list belongs to: a capability of the server, which says whether changes are announced. */
const capabilities = {
  tools: "tools",
  resources: "resources",
  resourceTemplates: "resources",
  prompts: "prompts",
} as const;

/**
 * The lists of one server, for as long as they hold: until the server says that
 * they changed, or for a time where it would not say. What is made of an item
 * is made once.
 */
export interface ListCache<K extends ListKind, T> {
  /**
   * The list over this connection, all pages. Empty where the server has no such thing. Who asks at the same time
   * shares a request, which goes on when one of them gives up.
   */
  get(line: ClientConnection, options?: CachedCallOptions): Promise<readonly T[]>;
  /** Since when the server owes the list. Undefined when it does not. */
  readonly askedAt: number | undefined;
  /** The list as it was last seen, also when it does not hold any more. */
  readonly last: readonly T[];
  forget(): void;
  readonly kind: K;
}

interface Kept<T> {
  readonly line: ClientConnection;
  readonly askedAt: number;
  isPending: boolean;
  readonly items: Promise<readonly T[]>;
}

interface ListCacheOptions<K extends ListKind, T> {
  readonly kind: K;
  readonly clock: Clock;
  /** How long to keep lists of servers that announce no changes. */
  readonly keepMs: number;
  /** Waits until changes are heard of: what is fetched before may be old without anybody knowing. */
  listening(): Promise<void>;
  /** True while changes of this list are heard of. */
  hears(): boolean;
  make(item: Item<K>): T;
  /** Hears of every list that was fetched, before anybody sees it. Must not throw. */
  onList?(): void;
}

function createListCache<K extends ListKind, T>(options: ListCacheOptions<K, T>): ListCache<K, T> {
  const { kind, clock, keepMs, listening, hears, make, onList } = options;
  let kept: Kept<T> | undefined;
  let last: readonly T[] = [];

  const fetch = async (line: ClientConnection, fresh: boolean): Promise<readonly T[]> => {
    if (line.client.server.capabilities[capabilities[kind]] === undefined) return [];
    await listening();
    const items: readonly unknown[] = await line.client[fetchers[kind]]({ fresh });
    onList?.();
    return items.map((item) => make(item as Item<K>));
  };

  const ask = (line: ClientConnection, fresh: boolean): Kept<T> => {
    const mine: Kept<T> = { line, askedAt: clock.now(), isPending: true, items: fetch(line, fresh) };
    kept = mine;
    mine.items.then(
      (items) => {
        mine.isPending = false;
        last = items;
      },
      () => {
        mine.isPending = false;
        if (kept === mine) kept = undefined;
      },
    );
    return mine;
  };

  const holds = ({ isPending, askedAt }: Kept<T>): boolean => isPending || clock.now() < askedAt + keepMs || hears();

  return {
    kind,
    get(line, { fresh = false, signal } = {}) {
      const mine = !fresh && kept?.line === line && holds(kept) ? kept : ask(line, fresh);
      return orAborted(mine.items, signal, cancelled);
    },
    get askedAt() {
      return kept?.isPending === true ? kept.askedAt : undefined;
    },
    get last() {
      return last;
    },
    forget() {
      kept = undefined;
    },
  };
}

function cancelled(cause: unknown): McpError {
  return new McpError("cancelled", "listing was cancelled", { cause });
}

/** The change that a list is subject to. */
function changeOf(kind: ListKind): "tools" | "prompts" | "resources" {
  return capabilities[kind];
}

/** The lists that a change is about. */
function listsOf({ kind }: Change): readonly ListKind[] {
  switch (kind) {
    case "tools":
    case "prompts":
      return [kind];
    case "resources":
      return ["resources", "resourceTemplates"];
    default:
      return [];
  }
}
