import { nearestTo } from "../catalog/tool-index.ts";
import type { ToolCallOptions } from "../client/call-options.ts";
import type { ClientConnection } from "../connect/create-connect.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { type Access, denied } from "./access.ts";
import type { Abortable, Delivery, Sending } from "./delivery.ts";
import { type HostTool, type Listing, type MissingServer, splitName } from "./host-tool.ts";
import type { HostListOptions } from "./list-cache.ts";
import type { Results } from "./results.ts";
import type { ServerSlot } from "./server-slot.ts";

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
}

export interface Routes {
  /** Where a tool is, by `server:tool` or its alias in the lists at hand. Undefined when the name leads nowhere. */
  find(name: string): Route | undefined;
  /** The server. Throws `invalid-params` when there is none of the name. */
  slot(server: string): ServerSlot;
  /** The error of a server that is not there. */
  noServer(server: string): McpError;
  /** Forgets what is known of tools: something has changed. */
  forget(): void;
}

/** More than any host has: names that nobody has heard of are not kept for ever. */
const maxRoutes = 20_000;

export function createRoutes(slots: ReadonlyMap<string, ServerSlot>): Routes {
  let routes = new Map<string, Route>();

  const noServer = (server: string): McpError => unknownServer(server, [...slots.keys()]);

  const byAlias = (alias: string): Route | undefined => {
    for (const slot of slots.values()) {
      const tool = slot.tools.last.find((listed) => listed.alias === alias);
      if (tool !== undefined) return toRoute(slot, tool.localName);
    }
    return undefined;
  };

  /** An alias has no separator, so one look tells which of the two a name is. */
  const look = (name: string): Route | undefined => {
    const parts = splitName(name);
    if (parts === undefined) return byAlias(name);
    const slot = slots.get(parts.server);
    return slot && toRoute(slot, parts.name);
  };

  return {
    find(name) {
      const known = routes.get(name);
      if (known !== undefined) return known;
      const found = look(name);
      if (found === undefined) return undefined;
      if (routes.size >= maxRoutes) routes = new Map();
      routes.set(name, found);
      return found;
    },
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

function toRoute(slot: ServerSlot, localName: string): Route {
  return { slot, localName, isClear: false, tool: undefined, isTask: false };
}

/** Where a tool is, by its name or alias. Rejects with `invalid-params` when there is none; `data.reason` says why. */
export type FindTool = (name: string, caller: Abortable) => Route | Promise<Route>;

interface ToolFinderOptions {
  readonly routes: Routes;
  tools(options: HostListOptions): Promise<Listing<HostTool>>;
  /** What tools are called by those who look for them. */
  nameOf(tool: HostTool): string;
}

/** Finds tools. An alias leads somewhere only when the lists are at hand: a caller may have got it from another process. */
export function createToolFinder({ routes, tools, nameOf }: ToolFinderOptions): FindTool {
  const findInLists = async (name: string, { signal }: Abortable): Promise<Route> => {
    const listed = await tools({ signal });
    const tool = listed.find(({ alias }) => alias === name);
    const found = tool && routes.find(tool.name);
    if (found !== undefined) return found;
    throw unknownTool(name, listed.map(nameOf), listed.missing);
  };

  return (name, caller) => {
    const known = routes.find(name);
    if (known !== undefined) return known;
    const parts = splitName(name);
    return parts === undefined ? findInLists(name, caller) : Promise.reject(routes.noServer(parts.server));
  };
}

/** The error of a name that is none of a tool: says which there are, the nearest first. */
function unknownTool(name: string, names: readonly string[], missing: readonly MissingServer[] = []): McpError {
  return unknown("tool", name, names, missing);
}

/** The error of a name that is none of a prompt. */
export function unknownPrompt(name: string, names: readonly string[], missing: readonly MissingServer[]): McpError {
  return unknown("prompt", name, names, missing);
}

/** The error of a tool that its server does not list. */
function unlistedTool(server: string, localName: string, tools: readonly HostTool[]): McpError {
  const names = tools.map((tool) => tool.localName);
  const message = `server ${server} lists no tool ${quoted(localName)}; ${whatThereIs("tool", localName, names)}`;
  return wrong("unknown-tool", message, localName, names);
}

/** The error of a server that a host does not have. */
function unknownServer(name: string, names: readonly string[]): McpError {
  const message = `there is no server ${quoted(name)}; there are: ${some(names)}`;
  return wrong("unknown-server", message, name, names);
}

function unknown(what: string, name: string, names: readonly string[], missing: readonly MissingServer[]): McpError {
  const absent = missing.map(({ server }) => server);
  const more = absent.length === 0 ? "" : `; servers that could not be asked: ${some(absent)}`;
  const message = `unknown ${what} ${quoted(name)}; ${whatThereIs(what, name, names)}${more}`;
  return wrong(`unknown-${what}`, message, name, names);
}

function whatThereIs(what: string, name: string, names: readonly string[]): string {
  const near = nearestTo(name, names);
  if (near.length > 0) return `did you mean ${near.join(" or ")}?`;
  return `there are ${names.length} ${what}s: ${some(names)}`;
}

function wrong(reason: string, message: string, name: string, names: readonly string[]): McpError {
  return new McpError("invalid-params", message, {
    data: { reason, name: shortened(name), similar: nearestTo(name, names) },
  });
}

const maxChars = 128;

/** Names come from callers, and may be of any length. */
function shortened(name: string): string {
  return name.length > maxChars ? `${name.slice(0, maxChars)}…` : name;
}

function quoted(name: string): string {
  return JSON.stringify(shortened(name));
}

const maxNames = 20;

function some(names: readonly string[]): string {
  if (names.length === 0) return "none";
  return names.length > maxNames ? `${names.slice(0, maxNames).join(", ")}, …` : names.join(", ");
}
