import { toAlias } from "../bridge/alias.ts";
import type { CachedCallOptions } from "../client/call-options.ts";
import type { Client } from "../client/client.ts";
import { createFormQueue } from "../client/form-queue.ts";
import { hintsOf, type ListHints } from "../client/list-hints.ts";
import type { ConnectOptions } from "../connect/connect-options.ts";
import type { ClientConnection, Dial } from "../connect/create-connect.ts";
import { isProgram, readTarget } from "../connect/target.ts";
import type { Authorizer } from "../protocol/authorizer.ts";
import { type Failure, McpError } from "../protocol/errors.ts";
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
  toPlaced,
} from "./host-tool.ts";
import { answersFor, type HostQuestionHandlers } from "./input-handlers.ts";
import { createFollower, type Follower, soon } from "./server-changes.ts";
import { createMember, type ServerConnection } from "./server-connection.ts";
import type { FullTrust, HostConnectOptions, ServerSpec } from "./spec.ts";
import { withoutSignIn } from "./without-sign-in.ts";

/** The place of one server in a host: its connection, its lists, its changes. */
export interface ServerSlot {
  readonly name: string;
  readonly spec: ServerSpec;
  readonly member: ServerConnection;
  readonly isEager: boolean;
  /** Shows the server who the host is, where somebody can sign in to it. */
  readonly auth: Authorizer | undefined;
  readonly tools: ListCache<"tools", HostTool>;
  readonly resources: ListCache<"resources", HostResource>;
  readonly resourceTemplates: ListCache<"resourceTemplates", HostResourceTemplate>;
  readonly prompts: ListCache<"prompts", HostPrompt>;
  readonly follower: Follower;
  /** Of a slot that only some callers use: the one of the same server that all share. */
  readonly origin: ServerSlot | undefined;
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

export function createServerSlot(
  name: string,
  spec: ServerSpec,
  context: ServerSlotContext,
  origin?: ServerSlot,
): ServerSlot {
  const { clock, gate, rules, listTtlMs } = context;
  const forms = createFormQueue();
  const auth = spec.connectOptions?.auth ?? context.options.auth;

  /** The call that was refused fails first, for the reason that it has. */
  const needsAuth = (reason: Failure): void => {
    const { line } = member;
    clock.after(0, () => {
      if (line !== undefined && member.line === line) member.unauthorized(reason);
    });
  };

  const quietly = auth && { auth: withoutSignIn(auth, needsAuth) };
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
  const ours = <T extends object>(item: T) => toPlaced(name, item);
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
    isRemote: spec.disabled === undefined && readTarget(spec.target).kind === "url",
    off: spec.disabled,
    rules,
    clock,
    gate,
    idleTimeoutMs: spec.idleTimeoutMs ?? context.idleTimeoutMs,
    pingIntervalMs: context.pingIntervalMs,
    async dial(how) {
      const objection = await context.objection(name, spec);
      if (objection !== undefined) throw objection;
      return context.dial(spec.target, { ...optionsFor(name, spec, context), ...quietly, forms, ...how });
    },
    onLine: (line: ClientConnection) => follower.start(line),
    onState(state, before) {
      if (before.kind === "ready") {
        follower.stop();
        for (const cache of Object.values(caches)) cache.forget();
      }
      // What one caller cannot reach may be gone for all.
      if (state.kind === "down") origin?.member.doubt();
      context.onState(name, state, before);
    },
  });

  return { name, spec, member, isEager, auth, ...caches, follower, origin, close: () => member.close() };
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
  /** How long the list may be kept, and by whom, where its server says so. */
  readonly hints: ListHints | undefined;
  forget(): void;
  readonly kind: K;
}

interface Kept<T> {
  readonly line: ClientConnection;
  /** Who the host was to the server, where that may change. */
  readonly credentials: string | undefined;
  readonly askedAt: number;
  isPending: boolean;
  readonly items: Promise<readonly T[]>;
  /** What the server says about keeping the list, once it is there. */
  hints: ListHints | undefined;
}

interface Fetched<T> {
  readonly items: readonly T[];
  readonly hints: ListHints | undefined;
}

/** Of a list that a server does not have. */
const forEver: ListHints = { ttlMs: 86_400_000, cacheScope: "public" };

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

  const fetch = async (line: ClientConnection, fresh: boolean): Promise<Fetched<T>> => {
    if (line.client.server.capabilities[capabilities[kind]] === undefined) return { items: [], hints: forEver };
    await listening();
    const items: readonly object[] = await line.client[fetchers[kind]]({ fresh });
    onList?.();
    return { items: items.map((item) => make(item as Item<K>)), hints: hintsOf(items) };
  };

  const ask = (line: ClientConnection, fresh: boolean, credentials: string | undefined): Kept<T> => {
    const fetched = fetch(line, fresh);
    const items = fetched.then((list) => list.items);
    const mine: Kept<T> = { line, credentials, askedAt: clock.now(), isPending: true, items, hints: undefined };
    kept = mine;
    fetched.then(
      (list) => {
        mine.isPending = false;
        mine.hints = list.hints;
        last = list.items;
      },
      () => {
        mine.isPending = false;
        if (kept === mine) kept = undefined;
      },
    );
    return mine;
  };

  const holds = ({ isPending, askedAt }: Kept<T>): boolean => isPending || clock.now() < askedAt + keepMs || hears();

  const getAs = (credentials: string | undefined, line: ClientConnection, fresh: boolean): Promise<readonly T[]> => {
    const isMine = kept?.line === line && kept.credentials === credentials;
    return (!fresh && isMine && kept !== undefined && holds(kept) ? kept : ask(line, fresh, credentials)).items;
  };

  return {
    kind,
    get(line, { fresh = false, signal } = {}) {
      const { credentials } = line.connection;
      const items =
        credentials === undefined
          ? getAs(undefined, line, fresh)
          : credentials()
              .catch(() => "")
              .then((now) => getAs(now, line, fresh));
      return orAborted(items, signal, cancelled);
    },
    get askedAt() {
      return kept?.isPending === true ? kept.askedAt : undefined;
    },
    get last() {
      return last;
    },
    get hints() {
      if (kept?.hints === undefined) return undefined;
      const ttlMs = Math.floor(kept.askedAt + kept.hints.ttlMs - clock.now());
      return ttlMs > 0 ? { ...kept.hints, ttlMs } : undefined;
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
