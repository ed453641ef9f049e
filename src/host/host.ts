import type { CachedCallOptions, CallOptions, ToolCallOptions } from "../client/call-options.ts";
import type { Client } from "../client/client.ts";
import type { Dial } from "../connect/create-connect.ts";
import type { JsonObject } from "../json/json.ts";
import type { Lock, ServerSurface } from "../lock/lock.ts";
import { McpError } from "../model/errors.ts";
import type { Root } from "../model/input.ts";
import type { Method, Result } from "../model/methods.ts";
import type { CompleteParams, CompleteResult, GetPromptResult } from "../model/prompt.ts";
import type { Call, Outcome } from "../model/service.ts";
import type { CallToolResult } from "../model/tool.ts";
import { createBroadcast } from "../std/broadcast.ts";
import { systemClock } from "../std/clock.ts";
import { createGate } from "../std/gate.ts";
import { createAccess } from "./access.ts";
import { type ChangesOptions, createChangeFeed, type HostChanges } from "./change-feed.ts";
import type { HostEvent } from "./host-event.ts";
import { createListings, type Listings } from "./listings.ts";
import { eraIn, objectionOf, surfaceOf, toolsIn } from "./locked.ts";
import { standardRules } from "./member-state.ts";
import type { HostOptions } from "./options.ts";
import { createResults } from "./results.ts";
import { createRoster } from "./roster.ts";
import { createRoutes } from "./routes.ts";
import { type Seat, trustOf } from "./seat.ts";
import { createHostService } from "./service.ts";
import type { ServerSpec } from "./spec.ts";
import type { ServerStatus } from "./status.ts";
import { createToolCalls } from "./tool-calls.ts";

/**
 * Many servers as one.
 *
 * It is a service like any server: give it to `serveHttp` or `connect`. Each of
 * its servers is supervised; those that fail are reported, and the others go on.
 * Every method rejects with an `McpError`.
 */
export interface Host extends Management {
  <M extends Method>(call: Call<M>): Promise<Outcome<M>>;
}

/** What a host can do besides being a service. */
export interface Management extends Listings, AsyncDisposable {
  /** How all servers stand, in the order they were given in. */
  servers(): readonly ServerStatus[];
  /** Resolves when no server is being connected to: each is ready, idle, or failed. */
  settled(signal?: AbortSignal): Promise<readonly ServerStatus[]>;

  /** Calls a tool by `server:tool` or its alias. A server that is not connected is connected to. */
  callTool(name: string, args?: JsonObject, options?: ToolCallOptions): Promise<CallToolResult>;
  /** Reads a resource of a server, or a page of a result that was too large. */
  readResource(server: string, uri: string, options?: CachedCallOptions): Promise<Result<"resources/read">>;
  getPrompt(
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<GetPromptResult>;
  complete(server: string, params: CompleteParams, options?: CallOptions): Promise<CompleteResult>;
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
  /** Ends a server and forgets it. False when there is none of the name. */
  remove(name: string): Promise<boolean>;
  /** Makes these the servers: touches only what differs. */
  update(specs: Readonly<Record<string, ServerSpec>>): Promise<void>;
  /** Everything the servers show, for `createLock`. Rejects when one cannot be reached. */
  survey(signal?: AbortSignal): Promise<readonly ServerSurface[]>;
  /** From now on, this is what was approved. Undefined: nobody has a say in it. */
  useLock(lock: Lock | undefined): void;
  /** Connects anew, whatever the state. */
  restart(server: string): void;
  /** Ends every server. Idempotent, never rejects. */
  close(): Promise<void>;
}

/** Where a host gets its connections. */
export interface HostParts {
  readonly dial: Dial;
  /** Runs when the host is closed. */
  onClose?(): void;
}

export function createHost(
  specs: Readonly<Record<string, ServerSpec>>,
  options: HostOptions,
  { dial, onClose }: HostParts,
): Host {
  const { clock = systemClock, connect = "eager", maxConnecting = 8, retries = 1, info = ownInfo } = options;
  const events = createBroadcast<HostEvent>({ maxUnread, overrun });
  let { roots, lock } = options;
  const roster = createRoster({
    clock,
    seat: {
      dial,
      gate: createGate({ maxRunning: maxConnecting, maxWaiting: Number.POSITIVE_INFINITY }),
      rules: { ...standardRules, ...options.restart },
      connect,
      idleMs: options.idleMs ?? 0,
      healthMs: options.healthMs ?? 60_000,
      keepListsMs: options.keepListsMs ?? 60_000,
      options: { info, ...options.options },
      objection: (server, spec) => objectionOf(lock, server, spec),
      era: (server) => eraIn(lock, server),
      questions: () => ({ ...options, ...(roots && { roots }) }),
    },
    tell: events.tell,
    onTurn: () => routes.forget(),
  });
  const { seats } = roster;
  const routes = createRoutes(seats);
  const access = createAccess({ policy: options.policy, onApprove: options.onApprove, lock: () => lock });
  const results = options.results === false ? undefined : createResults(options.results ?? {}, clock);
  const toolCalls = createToolCalls({ routes, access, results, retries, clock });
  const listings = createListings({
    seats,
    access,
    kept: ({ name }) => toolsIn(lock, name),
    onDenied: ({ server, name: tool }, by) => events.tell({ kind: "denied", server, tool, by }),
  });
  const changes = createChangeFeed({ events, seats, seat: routes.seat });

  const on = async <T>(server: string, signal: AbortSignal | undefined, work: (client: Client) => Promise<T>) => {
    const { member } = routes.seat(server);
    const { client } = await member.open(signal);
    return member.use(work(client));
  };

  const close = async (): Promise<void> => {
    onClose?.();
    await roster.close();
    events.end();
  };

  const { servers, settled, add, remove, update } = roster;
  const management: Management = {
    ...listings,
    servers,
    settled,
    add,
    remove,
    update,
    callTool: toolCalls.call,
    readResource: async (server, uri, given) =>
      results?.read(uri) ?? on(server, given?.signal, (client) => client.readResource(uri, given)),
    getPrompt: (server, name, args, given) =>
      on(server, given?.signal, (client) => client.getPrompt(name, args, given)),
    complete: (server, params, given) => on(server, given?.signal, (client) => client.complete(params, given)),
    client: async (server, signal) => (await routes.seat(server).member.open(signal)).client,
    events: (signal) => events.listen(signal),
    changes,
    setRoots(given) {
      roots = given;
      for (const { spec, member } of seats.values()) {
        if (member.line !== undefined && trustOf(spec).roots) member.line.client.setRoots(given);
      }
    },
    survey: (signal) => Promise.all([...seats.values()].filter(isOn).map((seat) => surfaceOf(seat, signal))),
    useLock(given) {
      lock = given;
      routes.forget();
      for (const server of seats.keys()) events.tell({ kind: "changed", server, change: { kind: "tools" } });
    },
    restart: (server) => routes.seat(server).member.restart(),
    close,
    [Symbol.asyncDispose]: close,
  };
  for (const [name, spec] of Object.entries(specs)) add(name, spec);
  return Object.assign(createHostService({ seats, routes, listings, toolCalls, changes, info }), management);
}

function isOn({ member }: Seat): boolean {
  return member.state.kind !== "off";
}

const ownInfo = { name: "plugbay", version: "0.1.0" };

/** A reader that is this far behind has lost interest. */
const maxUnread = 4096;

function overrun(): McpError {
  return new McpError("limit-reached", `more than ${maxUnread} events wait to be read`);
}
