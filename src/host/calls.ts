import type { ToolCallOptions } from "../client/call-options.ts";
import type { ClientConnection } from "../connect/create-connect.ts";
import type { JsonObject } from "../json/json.ts";
import type { McpError } from "../protocol/errors.ts";
import type { CallOf } from "../protocol/service.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { type Access, denied } from "./access.ts";
import type { Abortable, Delivery, Sending } from "./delivery.ts";
import { type HostTool, type Listing, splitName } from "./host-tool.ts";
import type { ServerSlots } from "./host-view.ts";
import type { CallerListOptions } from "./list-cache.ts";
import type { Results } from "./results.ts";
import type { ServerSlot } from "./server-slot.ts";
import { unknownServer, unknownTool, unlistedTool } from "./unknown-names.ts";

interface ToolCallsOptions {
  readonly find: FindTool;
  readonly access: Access;
  readonly delivery: Delivery;
  /** Cuts what is too large; absent where nothing is. */
  readonly results: Results | undefined;
}

/** One call of a tool, whoever makes it. */
export interface ToolCall<R> extends Abortable {
  readonly args: JsonObject | undefined;
  /** Sends it over a connection. Rejects with `connection-closed` when that does not survive. */
  over(line: ClientConnection, route: Route): Promise<R>;
}

/** Calls tools of any server. Whoever calls, the same is judged, approved and sent again. */
export interface ToolCalls {
  call(name: string, args?: JsonObject, options?: ToolCallOptions): Promise<CallToolResult>;
  /** Calls the tool of a route. Rejects when it may not be called, or nobody approves of it. */
  run<R>(route: Route, call: ToolCall<R>): Promise<R>;
}

export function createToolCalls({ find, access, delivery, results }: ToolCallsOptions): ToolCalls {
  const run: ToolCalls["run"] = (route, call) => {
    const first = route.isClear ? route.slot.member.line : undefined;
    return delivery.send(new ToolSending(route, call, access), first);
  };

  const runOwn = (route: Route, call: OwnCall): Promise<CallToolResult> => {
    const result = run(route, call);
    return results === undefined ? result : result.then((whole) => results.fit(route.localName, whole));
  };

  return {
    call(name, args, options) {
      const call = new OwnCall(args, options);
      const route = find(name, call);
      return route instanceof Promise ? route.then((found) => runOwn(found, call)) : runOwn(route, call);
    },
    run,
  };
}

/** A call of the host's own. A class, for every call has one. */
class OwnCall implements ToolCall<CallToolResult> {
  readonly args: JsonObject | undefined;
  readonly #options: ToolCallOptions | undefined;

  constructor(args: JsonObject | undefined, options: ToolCallOptions | undefined) {
    this.args = args;
    this.#options = options;
  }

  get signal(): AbortSignal | undefined {
    return this.#options?.signal;
  }

  over({ client }: ClientConnection, { localName }: Route): Promise<CallToolResult> {
    return client.callTool(localName, this.args, this.#options);
  }
}

/** A call on its way to a tool. */
class ToolSending<R> implements Sending<R> {
  readonly slot: ServerSlot;
  readonly #route: Route;
  readonly #call: ToolCall<R>;
  readonly #access: Access;

  constructor(route: Route, call: ToolCall<R>, access: Access) {
    this.slot = route.slot;
    this.#route = route;
    this.#call = call;
    this.#access = access;
  }

  get signal(): AbortSignal | undefined {
    return this.#call.signal;
  }

  over(line: ClientConnection): Promise<R> {
    return this.#call.over(line, this.#route);
  }

  /** Connects, judges, and asks for consent, which was given already for what is sent again. */
  async open(isAgain: boolean): Promise<ClientConnection> {
    const { slot } = this;
    const line = slot.member.line ?? (await slot.member.open(this.signal));
    if (this.#route.isClear) return line;
    if (this.#access.isOpen && slot.spec.tools === undefined) {
      this.#route.isClear = true;
      return line;
    }
    const tool = await this.#listed(line);
    const decision = await this.#access.judge(tool, slot.spec);
    if (decision.action === "deny") throw denied(tool.name, decision);
    if (decision.action === "allow") this.#route.isClear = true;
    else if (!isAgain) await this.#access.approve(tool, this.#call.args, decision, this.signal);
    return line;
  }

  /** Where nobody has listed the tool, its server is asked when it is back. What it does not say counts as no. */
  async isRepeatable(): Promise<boolean> {
    const tool = this.#route.tool ?? this.#mine(this.slot.tools.last) ?? (await this.#listedAnew());
    return tool?.annotations?.readOnlyHint === true || tool?.annotations?.idempotentHint === true;
  }

  async #listed(line: ClientConnection): Promise<HostTool> {
    const tools = await this.slot.tools.get(line, { signal: this.signal });
    const tool = this.#mine(tools);
    this.#route.tool = tool;
    if (tool === undefined) throw unlistedTool(this.slot.name, this.#route.localName, tools);
    return tool;
  }

  async #listedAnew(): Promise<HostTool | undefined> {
    try {
      return await this.#listed(await this.slot.member.open(this.signal));
    } catch {
      return undefined;
    }
  }

  #mine(tools: readonly HostTool[]): HostTool | undefined {
    return tools.find(({ localName }) => localName === this.#route.localName);
  }
}

/** Where calls of a tool go. */
export interface Route {
  readonly slot: ServerSlot;
  /** What the server itself calls the tool. */
  readonly localName: string;
  /** True once it is known that anybody may call it without being asked. */
  isClear: boolean;
  /** The tool, once it is known. */
  tool: HostTool | undefined;
  /** True once it is known that the tool runs only as a task. */
  isTask: boolean;
  /** The same tool by way of other slots of its server. */
  readonly others: WeakMap<ServerSlot, Route>;
}

/** The same tool, by way of another slot of its server. */
export function routeBy(route: Route, slot: ServerSlot): Route {
  if (slot === route.slot) return route;
  const known = route.others.get(slot);
  if (known !== undefined) return known;
  const made = toRoute(slot, route.localName);
  route.others.set(slot, made);
  return made;
}

export interface Routes {
  /** Where a tool is, by `server:tool` or its alias in the lists at hand. Undefined when the name leads nowhere. */
  find(name: string): Route | undefined;
  /** Remembers where a name leads that was found in lists, until something changes. */
  keep(name: string, route: Route): void;
  /** The server. Throws `invalid-params` when there is none of the name. */
  slot(server: string): ServerSlot;
  /** The error of a server that is not there. */
  noServer(server: string): McpError;
  /** Forgets what is known of tools: something has changed. */
  forget(): void;
}

/** A tool of a server, by what the server calls it. */
export type ToolPlace = Pick<HostTool, "server" | "localName">;

/** More than any host has: names that nobody has heard of are not kept for ever. */
const maxRoutes = 20_000;

/** `placeOf` says which tool a name is that of. Default: `server:tool`, or an alias in the lists at hand. */
export function createRoutes(
  slots: ServerSlots,
  placeOf: (name: string) => ToolPlace | undefined = (name) => fullPlace(slots, name) ?? byAlias(slots, name),
): Routes {
  let routes = new Map<string, Route>();

  const noServer = (server: string): McpError => unknownServer(server, [...slots.keys()]);

  const keep = (name: string, route: Route): void => {
    if (routes.size >= maxRoutes) routes = new Map();
    routes.set(name, route);
  };

  const look = (name: string): Route | undefined => {
    const place = placeOf(name);
    const slot = place && slots.get(place.server);
    return place && slot && toRoute(slot, place.localName);
  };

  return {
    find(name) {
      const known = routes.get(name);
      if (known !== undefined) return known;
      const found = look(name);
      if (found !== undefined) keep(name, found);
      return found;
    },
    keep,
    slot(server) {
      const found = slots.get(server);
      if (found === undefined) throw noServer(server);
      return found;
    },
    noServer,
    forget() {
      routes = new Map();
    },
  };
}

/** The tool that a full name is that of, where its server is there. */
export function fullPlace(slots: ServerSlots, name: string): ToolPlace | undefined {
  const parts = splitName(name);
  return parts && slots.has(parts.server) ? { server: parts.server, localName: parts.name } : undefined;
}

/** The tool that has an alias. An alias has no separator, so a name with one is none. */
export function byAlias(slots: ServerSlots, alias: string): ToolPlace | undefined {
  if (splitName(alias) !== undefined) return undefined;
  for (const { tools } of slots.values()) {
    const tool = tools.last.find((listed) => listed.alias === alias);
    if (tool !== undefined) return tool;
  }
  return undefined;
}

export function toRoute(slot: ServerSlot, localName: string): Route {
  return { slot, localName, isClear: false, tool: undefined, isTask: false, others: new WeakMap() };
}

/** Where a tool is, by its name or alias. Rejects with `invalid-params` when there is none; `data.reason` says why. */
export type FindTool = (name: string, caller: ToolCaller) => Route | Promise<Route>;

export interface ToolCaller extends Abortable {
  /** The call of the client that looks for the tool, if it is one. */
  readonly origin?: CallOf | undefined;
  /** True where only what the lists of the caller have will do. */
  readonly onlyListed?: boolean | undefined;
}

/** Finds tools. An alias leads somewhere only when the lists are at hand: a caller may have got it from another process. */
export function createToolFinder(
  routes: Routes,
  list: (options: CallerListOptions) => Promise<Listing<HostTool>>,
): FindTool {
  const findInLists = async (name: string, { signal, origin }: ToolCaller): Promise<Route> => {
    const listed = await list({ signal, caller: origin });
    const tool = listed.find(({ alias }) => alias === name);
    const found = tool && routes.find(tool.name);
    if (found !== undefined) return found;
    throw unknownTool(
      name,
      listed.map((each) => each.name),
      listed.missing,
    );
  };

  return (name, caller) => {
    if (caller.onlyListed === true) return findInLists(name, caller);
    const known = routes.find(name);
    if (known !== undefined) return known;
    const parts = splitName(name);
    return parts === undefined ? findInLists(name, caller) : Promise.reject(routes.noServer(parts.server));
  };
}
