import type { McpError } from "../protocol/errors.ts";
import type { Result } from "../protocol/methods.ts";
import { type CallOf, signalOf } from "../protocol/service.ts";
import type { Tool } from "../protocol/tool.ts";
import { withAbsent } from "./absent-lists.ts";
import type { CallGuard } from "./call-guard.ts";
import {
  byAlias,
  createRoutes,
  type FindTool,
  fullPlace,
  type Route,
  type ToolCaller,
  type ToolPlace,
} from "./calls.ts";
import { type HostTool, type Listing, splitName, type ToolListing } from "./host-tool.ts";
import type { HostView, ServerSlots } from "./host-view.ts";
import type { CallerListings, CallerListOptions } from "./list-cache.ts";
import { createListMemo, createListPages, type ListPages } from "./list-pages.ts";
import { createNameTable, type NameCollision, type NameTable } from "./name-table.ts";
import { uiAddressOf, uiOwnersIn, uiUriOf, withUiUri } from "./ui-resources.ts";
import { ambiguousName, unknownServer, unknownTool } from "./unknown-names.ts";

/** The tools of a served host, as the callers of one view see them. */
export interface ServedTools {
  /** A page of the tools, and the list that it is of. */
  list(call: CallOf<"tools/list">): Promise<ServedPage<Result<"tools/list">>>;
  readonly find: FindTool;
  /** Whose the user interfaces of tools are, by URI. */
  uiOwners(caller: CallOf): Promise<ReadonlyMap<string, string>>;
  /** Forgets where names lead: something has changed. */
  forget(): void;
}

/** A page of a list, the same object until something changes. */
export interface ServedPage<P> {
  readonly page: P;
  readonly listing: Listing<unknown>;
}

export interface ServedListOptions {
  readonly slots: ServerSlots;
  readonly view: HostView;
  readonly listings: CallerListings;
  readonly pageSize: number;
  /** Judges what callers may know of, if anybody does. The lists are those that it leaves. */
  readonly guard: CallGuard | undefined;
  /** Hears of names that several things want. */
  onCollisions(list: "tools" | "prompts", collisions: readonly NameCollision[]): void;
}

export function createServedTools(options: ServedListOptions): ServedTools {
  const { slots, view, listings, guard } = options;
  const nameAll = createListMemo((tools: readonly HostTool[]) => nameTools(tools, options));
  const isIn = ({ server, localName }: HostTool): boolean => view.hasTool(server, localName);
  const routes = createRoutes(slots, (name) => placeOf(name, slots, view));

  /** Those that a caller may know of. */
  const serversFor = (caller: CallOf | undefined): readonly string[] =>
    [...slots.keys()].filter((name) => caller === undefined || guard?.seesServer(caller, name) !== false);

  const look = async (caller: CallerListOptions): Promise<{ readonly named: NamedTools; listing: ToolListing }> => {
    const listing = await listings.listTools(caller);
    const all = withSeen(guard, listing) ?? withAbsent(slots, listing, ({ tools }) => tools.last);
    return { named: nameAll(all.filter(isIn)), listing };
  };

  /** Where a name leads may depend on the lists of a caller. It is remembered only where it is the same for all. */
  const findInLists = async (name: string, { signal, origin, onlyListed }: ToolCaller): Promise<Route> => {
    const { named, listing } = await look({ signal, caller: origin });
    const { table } = named;
    const known = table.find(name);
    const tool = onlyListed === true && known !== undefined && !listing.includes(known) ? undefined : known;
    const found = tool && routes.find(tool.name);
    if (tool === undefined || found === undefined)
      throw notFound(name, table, listing.filter(isIn), { servers: serversFor(origin), listing });
    const isForAll = tool.alias === name || slots.get(tool.server)?.tools.last.includes(tool) === true;
    if (isForAll) routes.keep(name, found);
    return found;
  };

  return {
    async list(call) {
      const { named, listing } = await look({ signal: signalOf(call), caller: call });
      return { page: named.toPages(listing.filter(isIn)).page(call.params.cursor), listing };
    },
    find: (name, caller) => (caller.onlyListed ? undefined : routes.find(name)) ?? findInLists(name, caller),
    uiOwners: async (caller) => (await look({ signal: signalOf(caller), caller })).named.uiOwners,
    forget: routes.forget,
  };
}

/** What a caller sees, where things may be hidden from it: nothing is added of servers that are away. */
export function withSeen<T>(guard: CallGuard | undefined, listing: Listing<T>): Listing<T> | undefined {
  return guard?.mode === "enforce" ? listing : undefined;
}

/** What a name leads to that needs no look at lists, or at those of all servers. */
function placeOf(name: string, slots: ServerSlots, view: HostView): ToolPlace | undefined {
  const place = fullPlace(slots, name) ?? shortPlace(name, slots, view);
  return place !== undefined && view.hasTool(place.server, place.localName) ? place : undefined;
}

function shortPlace(name: string, slots: ServerSlots, { only, originals }: HostView): ToolPlace | undefined {
  const alias = only === undefined || name.startsWith(`${only}__`) ? byAlias(slots, name) : undefined;
  if (alias !== undefined || only === undefined) return alias;
  return { server: only, localName: originals(name)[0] ?? name };
}

/** What is made of a list of tools. */
interface NamedTools {
  readonly table: NameTable<HostTool>;
  readonly uiOwners: ReadonlyMap<string, string>;
  /** The pages of these tools, or of some of them. */
  toPages(tools: readonly HostTool[]): ListPages<Result<"tools/list">>;
}

function nameTools(tools: readonly HostTool[], options: ServedListOptions): NamedTools {
  const { slots, view, pageSize, onCollisions } = options;
  const table = createNameTable(tools, { ...view, servers: [...slots.keys()] });
  const uiOwners = uiOwnersIn(tools);
  const isServer = (name: string): boolean => slots.has(name);
  onCollisions("tools", table.collisions);

  const toPlain = (tool: HostTool): Tool => {
    const { server, localName, alias: _, hiddenText: __, ...rest } = tool;
    const uri = uiUriOf(tool);
    const address = uri === undefined ? undefined : uiAddressOf({ server, uri }, uiOwners.get(uri), isServer);
    const description = view.described(server, localName);
    return {
      ...rest,
      name: table.nameOf(tool),
      ...(description !== undefined && { description }),
      ...(address !== undefined && address !== uri && rest._meta && { _meta: withUiUri(rest._meta, address) }),
    };
  };

  const toPages = createListMemo((shown: readonly HostTool[]) =>
    createListPages<Tool, Result<"tools/list">>(shown.map(toPlain), {
      member: "tools",
      pageSize,
      keyOf: ({ name }) => name,
    }),
  );
  return { table, uiOwners, toPages };
}

/** The error of a name that leads nowhere. */
function notFound(
  name: string,
  table: NameTable<HostTool>,
  tools: readonly HostTool[],
  { servers, listing }: { readonly servers: readonly string[]; readonly listing: ToolListing },
): McpError {
  const meant = table.meant(name);
  if (meant.length > 1) return ambiguousName("tool", name, meant);
  const parts = splitName(name);
  if (parts !== undefined && !servers.includes(parts.server)) return unknownServer(parts.server, servers);
  return unknownTool(name, tools.map(table.nameOf), listing.missing);
}
