import type { Client } from "../client/client.ts";
import { type CallTool, createTools, type ToolFunctions } from "../client/typed-tools.ts";
import type { Dial } from "../connect/create-connect.ts";
import { asJson } from "../json/json.ts";
import type { Lock, ServerSurface } from "../lock/lock.ts";
import { McpError } from "../protocol/errors.ts";
import type { Root } from "../protocol/input.ts";
import type { Method } from "../protocol/methods.ts";
import type { OptionNames } from "../protocol/option-names.ts";
import { ownInfo } from "../protocol/own-info.ts";
import type { Implementation } from "../protocol/peer.ts";
import type { CallOf, OutcomeOf } from "../protocol/service.ts";
import type { Telemetry } from "../protocol/telemetry.ts";
import type { ToolTypes } from "../protocol/tool.ts";
import { createBroadcast } from "../std/broadcast.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { defined, type OrUndefined } from "../std/defined.ts";
import { createGate } from "../std/gate.ts";
import { holding } from "../std/hold.ts";
import { type ApprovalRequest, createAccess, type Policy } from "./access.ts";
import type { CallGuard } from "./call-guard.ts";
import { createRoutes, createToolCalls, createToolFinder } from "./calls.ts";
import { type ChangesOptions, createChangeFeed, type HostChanges } from "./change-feed.ts";
import { type RestartOptions, standardRules } from "./connection-state.ts";
import { createDelivery } from "./delivery.ts";
import { createHandles } from "./handles.ts";
import type { HostBudgets } from "./host-budgets.ts";
import { createHostServices, type ViewParts } from "./host-services.ts";
import type { ServerSlots } from "./host-view.ts";
import type { HostQuestionHandlers } from "./input-handlers.ts";
import { type CallerListings, createListings, createListWait, type Listings } from "./list-cache.ts";
import { createLockGate, type Locate, type LockGate, revisionIn, surfaceOf, toolsIn } from "./lock-check.ts";
import { createOutward } from "./outward.ts";
import type { CreateOwnSlot, OwnConnections, OwnConnectionsHost } from "./own-connections.ts";
import { createItemCalls, type ItemCalls } from "./resource-calls.ts";
import { createResults, type ResultLimits } from "./results.ts";
import { createServerRegistry } from "./server-registry.ts";
import { type ServerSlot, trustOf } from "./server-slot.ts";
import { createSignIns } from "./sign-in.ts";
import type { HostConnectOptions, ServerSpec } from "./spec.ts";
import type { HostEvent, ServerStatus } from "./status.ts";

/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Many servers as one.
 *
 * It is a service like any server: give it to `serveHttp` or `connect`. Each of
 * its servers is supervised; those that fail are reported, and the others go on.
 * Every method rejects with an `McpError`.
 */
export interface Host<T extends ToolTypes = ToolTypes> extends Management<T> {
  <M extends Method>(call: CallOf<M>): Promise<OutcomeOf<M>>;
}

/** What a host can do besides being a service. */
interface Management<T extends ToolTypes> extends Listings, ItemCalls, AsyncDisposable {
  /** What the host says of itself. A store that it shares with others keeps what belongs to this name apart. */
  readonly info: Implementation;
  /** How all servers stand, in the order they were given in. */
  servers(): readonly ServerStatus[];
  /**
   * Signs in to a server, and connects to it. This is what opens a page where a user signs in: without it, a server that
   * wants that is `needs-auth`. Rejects when nobody has signed in, or the server cannot be reached.
   */
  signIn(server: string): Promise<void>;
  /** Forgets the tokens of a server, after giving them back, and lets go of it: it is `needs-auth` then. */
  signOut(server: string): Promise<void>;
  /** Resolves when no server is being connected to: each is ready, idle, failed, or wants somebody to sign in. */
  settled(signal?: AbortSignal): Promise<readonly ServerStatus[]>;

  /**
   * Calls a tool by `server:tool` or its alias. A server that is not connected is connected to. With generated types,
   * `openHost<HostTools>`, only the names and arguments that they know are taken.
   */
  readonly callTool: CallTool<T>;
  /** The tools as functions that return values, by their full names: `await host.tools["shop:buy"]({ sku })`. */
  readonly tools: ToolFunctions<T>;
  /** The client of one server, connected if need be. It is gone when the connection is: ask again. */
  client(server: string, signal?: AbortSignal): Promise<Client>;

  /** What happens from now on. A reader more than 4096 events behind gets `limit-reached`. */
  events(signal?: AbortSignal): AsyncIterable<HostEvent>;
  /** Changes of all lists, and of the given resources, over all connections of their servers. */
  changes(options?: ChangesOptions): HostChanges;
  /** Replaces the roots, for every server that may see them. */
  setRoots(roots: readonly Root[]): void;

  /** Adds a server. Throws `invalid-config` when the name is taken or none. */
  add(name: string, spec: ServerSpec): void;
  /**
   * Forgets a server at once, and ends it when the calls that are under way there are over. False when there is none of
   * the name.
   */
  remove(name: string): Promise<boolean>;
  /**
   * Makes these the servers: touches only what differs. New calls go to the new servers at once; resolves when those that
   * they replace have ended, which lets the calls that are under way there go on.
   */
  update(specs: Readonly<Record<string, ServerSpec>>): Promise<void>;
  /** Everything the servers show, for `createLock`. Rejects when one cannot be reached. */
  readSurfaces(signal?: AbortSignal): Promise<readonly ServerSurface[]>;
  /** From now on, this is what was approved. Undefined: nobody has a say in it. */
  setLock(lock: Lock | undefined): void;
  /** Connects anew, whatever the state. */
  restart(server: string): void;
  /** Ends every server. Idempotent, never rejects. */
  close(): Promise<void>;
}

/** Where a host gets its connections. */
export interface HostParts {
  readonly dial: Dial;
  /** Finds what commands start, where programs can be started: a lock wants to know. */
  readonly locate?: Locate;
  /** Gives callers of the host connections of their own, where they need some. */
  own?(create: CreateOwnSlot, host: OwnConnectionsHost): OwnConnections;
  /** Makes services of parts of the host. */
  views?(parts: ViewParts): void;
  /** How many entries a page of a list has at most that the host serves. Default 1,000. */
  readonly pageSize?: number;
  /** Whether lists for clients of the host have what a server that is away listed last. Default false. */
  readonly listsAbsent?: boolean;
  /** Makes of a server what the host has in its place. The same server gives the same one. */
  shape?(name: string, spec: ServerSpec): ServerSpec;
  /** Judges what callers of the host may see and do. */
  readonly guard?: CallGuard | undefined;
  /** Runs when the host is closed. */
  onClose?(): void | Promise<void>;
}

export function createHost<T extends ToolTypes = ToolTypes>(
  specs: Readonly<Record<string, ServerSpec>>,
  options: HostOptions,
  {
    dial,
    locate = async () => ({}),
    own: createOwn,
    views: createViews,
    pageSize = 1_000,
    listsAbsent = false,
    shape,
    guard,
    onClose,
  }: HostParts,
): Host<T> {
  const { clock = systemClock, maxRetries: retries = 1 } = options;
  const info = options.info ? defined(options.info) : ownInfo;
  const events = createBroadcast<HostEvent>({ maxUnread, overrun, clock });
  let { roots, lock } = options;
  const gate = createLockGate({
    lock: () => lock,
    locate,
    onWithheld: (server, list, name) => events.tell({ kind: "withheld", server, list, name }),
  });
  const registry = createServerRegistry({
    clock,
    slot: {
      dial,
      ...connectingOf(options),
      options: { info, ...defined({ telemetry: options.telemetry, ...options.connectOptions }) },
      objection: gate.objection,
      revisionHint: (server) => revisionIn(lock, server),
      questions: () => ({ ...options, ...(roots && { roots }) }),
    },
    shape,
    drainMs: options.drainMs ?? 300_000,
    tell: events.tell,
    retire: async (slot, enough) => own?.retire(slot, enough),
    onTurn: () => services.forget(),
  });
  const { slots, add, ownSlot, close: closeServers, ...supervision } = registry;
  const own: OwnConnections | undefined = createOwn?.(ownSlot, {
    slots,
    send: (shared, call, request) => services.send(shared, call, request),
  });
  const routes = createRoutes(slots);
  const access = createAccess({ policy: options.policy, onApprove: options.onApprove, lock: () => lock });
  const outward = createOutward((masked) => events.tell({ kind: "failed", ...masked }));
  const handles = createHandles({ stateKeys: options.stateKeys, now: Date.now });
  const results = options.resultLimits === false ? undefined : createResults(options.resultLimits ?? {}, clock);
  const delivery = createDelivery({ retries, clock });
  const listingsOf = (some: ServerSlots): CallerListings =>
    createListings({
      slots: some,
      access,
      gate,
      kept: ({ name }) => toolsIn(lock, name),
      onDenied: ({ server, name: tool }, by) => events.tell({ kind: "denied", server, tool, by }),
      wait: createListWait(clock, options.listTimeoutMs ?? 5_000),
      own,
      listsAbsent,
    });
  const listings = listingsOf(slots);
  const toolCalls = createToolCalls({ find: createToolFinder(routes, listings.listTools), access, delivery, results });
  const changes = createChangeFeed({ events, slots, slot: routes.slot });

  const close = async (): Promise<void> => {
    await holding(clock, Promise.all([onClose?.(), closeServers()]));
    events.end();
  };

  const management: Management<T> = {
    info,
    ...listings,
    ...createSignIns(routes.slot),
    ...createItemCalls({ routes, gate, results, delivery }),
    ...supervision,
    add,
    // What tools take and give exists only in types.
    callTool: toolCalls.call as CallTool<T>,
    tools: createTools<T>((name, input, given) => toolCalls.call(name, input && asJson(input), given)),
    client: async (server, signal) => (await routes.slot(server).member.open(signal)).client,
    events: (signal) => events.listen(signal),
    changes,
    setRoots(given) {
      roots = given;
      for (const slot of slots.values()) tellRoots(slot, given);
    },
    readSurfaces: (signal) =>
      Promise.all([...slots.values()].filter(isOn).map((slot) => surfaceOf(slot, locate, signal))),
    setLock(given) {
      lock = given;
      services.forget();
      for (const slot of slots.values()) judgeAgain(slot, gate, events.tell);
    },
    restart: (server) => routes.slot(server).member.restart(),
    close,
    [Symbol.asyncDispose]: close,
  };
  const parts = { slots, listingsOf, toolCalls, changes, info, gate, delivery, results, handles, outward, clock };
  const services = createHostServices({ ...options, ...parts, routes, own, guard, tell: events.tell, pageSize });
  createViews?.({ create: services.view, slots });
  for (const [name, spec] of Object.entries(specs)) add(name, spec);
  return Object.assign(services.whole, management);
}

/** When servers are connected to, and for how long. */
function connectingOf(options: HostOptions) {
  const { connect = "eager", maxConnecting = 8, idleTimeoutMs = 0, pingIntervalMs = 60_000 } = options;
  const { listTtlMs = 60_000 } = options;
  return {
    connect,
    gate: createGate({ maxRunning: maxConnecting, maxWaiting: Number.POSITIVE_INFINITY }),
    rules: { ...standardRules, ...defined(options.restart ?? {}) },
    idleTimeoutMs,
    pingIntervalMs,
    listTtlMs,
  };
}

function tellRoots({ spec, member }: ServerSlot, roots: readonly Root[]): void {
  if (member.line !== undefined && trustOf(spec).roots) member.line.client.setRoots(roots);
}

/** A lock may allow something else from now on. */
function judgeAgain(slot: ServerSlot, gate: LockGate, tell: (event: HostEvent) => void): void {
  for (const change of allLists) tell({ kind: "changed", server: slot.name, change });
  void gate.judgeAgain(slot);
}

const allLists = [{ kind: "tools" }, { kind: "prompts" }, { kind: "resources" }] as const;

function isOn({ member }: ServerSlot): boolean {
  return member.state.kind !== "off";
}

/** A reader that is this far behind has lost interest. */
const maxUnread = 4096;

function overrun(): McpError {
  return new McpError("limit-reached", `more than ${maxUnread} events wait to be read`);
}

export interface HostOptions extends HostQuestionHandlers {
  /** `eager` (the default) connects to all servers at once and keeps them up; `lazy` to each when it is first needed. */
  readonly connect?: "eager" | "lazy" | undefined;
  /** How many servers are being connected to at once. Default 8; 0 is off. */
  readonly maxConnecting?: number | undefined;
  /** When servers that failed are tried again. */
  readonly restart?: RestartOptions | undefined;
  /** How often a server of an older revision is asked whether it is there. Default 60 s; 0 is off. */
  readonly pingIntervalMs?: number | undefined;
  /** Lets go of servers that nobody has used for so long. Default 0: never. */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * How long a list waits for a server that is being connected to, or owes its part, counted from when that began. A server
   * that takes longer is in `missing`, and is waited for no more until it answers. Default 5 s; 0 waits for all.
   */
  readonly listTimeoutMs?: number | undefined;
  /** How long calls that are under way may go on at a server that was removed or changed. Default 5 min; 0 ends them. */
  readonly drainMs?: number | undefined;
  /** How long lists are kept of servers that announce no changes. Default 60 s. */
  readonly listTtlMs?: number | undefined;
  /** What may be called, and what has to be approved. Default: everything may be called. */
  readonly policy?: Policy | undefined;
  /** Asked before a tool is called whose policy is `approve`. Only `true` is a yes. */
  readonly onApprove?: ((request: ApprovalRequest) => boolean | Promise<boolean>) | undefined;
  /**
   * What was approved. A server that is not in it, or that would start or reach
   * something else, is not started; a tool, prompt or resource that is not what
   * it was is not listed and cannot be called. Tools of servers that are not
   * connected are listed by it.
   */
  readonly lock?: Lock | undefined;
  /** False gives results as they come, whatever their size. */
  readonly resultLimits?: ResultLimits | false | undefined;
  /**
   * Where the host is served: what each of its callers may have at one server (`principal`), and all of them together
   * (`process`): calls that run and wait, questions and tasks. See {@link HostBudget} for the defaults; 0 is off.
   */
  readonly budgets?: HostBudgets | undefined;
  /**
   * How often a call whose connection broke is sent again, where the server
   * says that the tool only reads, or that calling it twice is calling it once.
   * Default 1.
   */
  readonly maxRetries?: number | undefined;
  /** What the host says of itself, to servers and to who calls it as a server. */
  readonly info?: OrUndefined<Implementation> | undefined;
  /**
   * Where the host is served: secrets that seal what its callers bring back, the states of calls that ask and the ids of
   * tasks. 32 random bytes or more each; the first seals, all open. Processes that serve the same host need the same.
   * Default: `PLUGBAY_STATE_KEYS`, else random.
   */
  readonly stateKeys?: readonly (string | undefined)[] | undefined;
  /** For all servers. */
  readonly connectOptions?: HostConnectOptions | undefined;
  /**
   * Hears of every call to a server, and of every call of a client where the host is served: `otel()`,
   * `createMetrics()`, or both in a list. Default: nobody.
   */
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined;
  readonly clock?: Clock | undefined;
}

/** By another name, `policy` or `lock` would leave tools unguarded: what is not here is refused. */
export const hostOptionNames: OptionNames<HostOptions> = {
  onWarning: true,
  clock: true,
  info: true,
  onElicit: true,
  onElicitUrl: true,
  onSample: true,
  roots: true,
  onRequest: true,
  onLog: true,
  connect: true,
  maxConnecting: true,
  restart: true,
  pingIntervalMs: true,
  idleTimeoutMs: true,
  listTimeoutMs: true,
  listTtlMs: true,
  drainMs: true,
  policy: true,
  onApprove: true,
  lock: true,
  resultLimits: true,
  budgets: true,
  maxRetries: true,
  stateKeys: true,
  connectOptions: true,
  sampling: true,
  telemetry: true,
};
