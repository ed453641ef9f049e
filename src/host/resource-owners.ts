import type { Resource } from "../protocol/content.ts";
import { McpError } from "../protocol/errors.ts";
import { type CallOf, signalOf } from "../protocol/service.ts";
import { parseUriTemplate } from "../std/uri-template.ts";
import { withAbsent } from "./absent-lists.ts";
import type { CallGuard } from "./call-guard.ts";
import type { ResourceRef } from "./change-feed.ts";
import { type HostResource, type HostResourceTemplate, type Listing, withoutPlace } from "./host-tool.ts";
import type { HostView, ServerSlots } from "./host-view.ts";
import type { CallerListings } from "./list-cache.ts";
import type { LockGate } from "./lock-check.ts";
import type { SeenResources } from "./seen-resources.ts";
import { isUiUri, readUiAddress, uiAddressOf } from "./ui-resources.ts";

/** Whose the resources of many servers are, where one name space has those of all. */
export interface ResourceOwners {
  /**
   * The resource that a URI names here. Where no list has it, the resources that it may name, the likeliest first. Rejects
   * with `resource-not-found` for that of nobody.
   */
  find(uri: string, caller: CallOf): Promise<readonly ResourceRef[]>;
  /** The resources of a list by the URIs that they have here. */
  placed(listing: Listing<HostResource>, caller: CallOf): Promise<readonly Resource[]>;
  /** The templates of a list, with those of servers that are away. */
  templatesOf(listing: Listing<HostResourceTemplate>): readonly HostResourceTemplate[];
}

export interface ResourceOwnersOptions {
  readonly slots: ServerSlots;
  readonly view: Pick<HostView, "hasResource" | "only">;
  readonly listings: Pick<CallerListings, "listResources" | "listResourceTemplates">;
  /** Whose the user interfaces of tools are, by URI. */
  uiOwners(caller: CallOf): Promise<ReadonlyMap<string, string>>;
  /** What results have named to callers. */
  readonly seen: Pick<SeenResources, "serversOf">;
  /** Judges what callers may know of, if anybody does. */
  readonly guard: Pick<CallGuard, "sees"> | undefined;
  readonly gate: Pick<LockGate, "isLocked">;
}

/** Something that a server lists. */
interface Owned {
  readonly server: string;
}

/** What the servers list, as a caller sees it. */
interface Lists {
  readonly resources: Listing<HostResource>;
  readonly templates: Listing<HostResourceTemplate>;
}

const scheme = "plugbay-resource:";

export function createResourceOwners(options: ResourceOwnersOptions): ResourceOwners {
  const { slots, view, listings, uiOwners, seen, guard, gate } = options;
  const isServer = (name: string): boolean => slots.has(name);
  const resourcesOf = (listing: Listing<HostResource>) => withAbsent(slots, listing, ({ resources }) => resources.last);
  const templatesOf = (listing: Listing<HostResourceTemplate>) =>
    withAbsent(slots, listing, ({ resourceTemplates }) => resourceTemplates.last);

  /** Servers of which nobody knows what they list. */
  const unknownIn = ({ missing }: Listing<Owned>): readonly string[] =>
    missing.flatMap(({ server }) => {
      const slot = slots.get(server);
      if (slot === undefined || slot.member.state.kind === "off") return [];
      return slot.resources.last.length + slot.resourceTemplates.last.length === 0 ? [server] : [];
    });

  const uiRefOf = async (uri: string, caller: CallOf): Promise<ResourceRef | undefined> => {
    const address = readUiAddress(uri, isServer);
    if (address !== undefined) return address;
    const server = (await uiOwners(caller)).get(uri);
    return server === undefined ? undefined : { server, uri };
  };

  /** The resources that a URI may name at servers that do not list it. A lock allows none that was not approved. */
  const mayHave = (servers: readonly string[], uri: string, caller: CallOf): readonly ResourceRef[] =>
    [...new Set(gate.isLocked ? [] : servers)]
      .filter((server) => slots.has(server))
      .filter((server) => guard?.sees(caller, { kind: "resource", server, name: uri }) !== false)
      .map((server) => ({ server, uri }));

  /** The resources that a URI may name which no list has. */
  const unlisted = (uri: string, caller: CallOf, lists: Lists): readonly ResourceRef[] => {
    const fitting = mostSpecific(templatesOf(lists.templates).filter(({ uriTemplate }) => fits(uri, uriTemplate)));
    const unknown = fitting === undefined || hasScheme(fitting.uriTemplate) ? [] : unknownIn(lists.resources);
    const named = seen.serversOf(caller, uri);
    if (fitting !== undefined && unknown.length === 0) {
      const others = named.filter((server) => server !== fitting.server);
      return [{ server: fitting.server, uri }, ...mayHave(others, uri, caller)];
    }
    const alike = unknown.length === 0 ? serversWith(schemeOf(uri), [...lists.resources, ...lists.templates]) : [];
    const refs = mayHave([...named, ...alike], uri, caller);
    return refs.length === 0 ? notFound(uri, unknown) : refs;
  };

  const findOwners = async (uri: string, caller: CallOf): Promise<readonly ResourceRef[]> => {
    if (uri.startsWith(scheme)) return [readAddress(uri) ?? notFound(uri)];
    const ui = isUiUri(uri) ? await uiRefOf(uri, caller) : undefined;
    if (ui !== undefined) return [ui];
    const options = { signal: signalOf(caller), caller };
    // Both: what is known of a server that goes away later is what was asked for while it was there.
    const [resources, templates] = await Promise.all([
      listings.listResources(options),
      listings.listResourceTemplates(options),
    ]);
    const listed = resourcesOf(resources).find((resource) => resource.uri === uri);
    if (listed !== undefined) return [{ server: listed.server, uri }];
    // The user interface of a tool that is not in a view is not in it either.
    return view.only === undefined || isUiUri(uri)
      ? unlisted(uri, caller, { resources, templates })
      : mayHave([view.only], uri, caller);
  };

  const find: ResourceOwners["find"] = async (uri, caller) => {
    const refs: ResourceRef[] = [];
    for (const ref of await findOwners(uri, caller)) {
      const isOfTool = isUiUri(ref.uri) && (await uiOwners(caller)).has(ref.uri);
      if (view.hasResource(ref.uri, isOfTool)) refs.push(ref);
    }
    return refs.length === 0 ? notFound(uri) : refs;
  };

  const placed: ResourceOwners["placed"] = async (listing, caller) => {
    const owners = new Map<string, string>();
    for (const { server, uri } of resourcesOf(listing)) if (!owners.has(uri)) owners.set(uri, server);
    const uis = listing.some(({ uri }) => isUiUri(uri)) ? await uiOwners(caller) : undefined;
    return listing.flatMap((resource) => {
      const { server, uri } = resource;
      if (!view.hasResource(uri, uis?.has(uri) === true)) return [];
      const owner = uis?.get(uri) ?? owners.get(uri);
      const address = isUiUri(uri) ? uiAddressOf({ server, uri }, owner, isServer) : undefined;
      const own = address ?? (owner === server ? uri : toAddress(server, uri));
      return [{ ...withoutPlace(resource), uri: own }];
    });
  };

  return { find, placed, templatesOf };
}

function toAddress(server: string, uri: string): string {
  return `${scheme}//${encodeURIComponent(server)}/${encodeURIComponent(uri)}`;
}

function readAddress(address: string): ResourceRef | undefined {
  const [, server, uri] = /^plugbay-resource:\/\/([^/]+)\/([^/]+)$/.exec(address) ?? [];
  try {
    return server && uri ? { server: decodeURIComponent(server), uri: decodeURIComponent(uri) } : undefined;
  } catch {
    return undefined;
  }
}

export function notFound(uri: string, unknown: readonly string[] = []): never {
  const more = unknown.length === 0 ? "" : `; servers that could not be asked: ${unknown.join(", ")}`;
  throw new McpError("resource-not-found", `no server has the resource ${uri}${more}`, { data: { uri } });
}

/** A template that cannot be read fits nothing. */
function fits(uri: string, template: string): boolean {
  const parsed = parseUriTemplate(template);
  return parsed.ok && parsed.value.match(uri) !== undefined;
}

/**
 * The template that says most of the URIs that fit it: the one with the longest beginning without a variable, then with
 * the most text in all, then without a variable that takes slashes. Of equals the first.
 */
function mostSpecific<T extends { readonly uriTemplate: string }>(templates: readonly T[]): T | undefined {
  const [first, ...others] = templates;
  return first && others.reduce((best, next) => (compareTemplates(next, best) > 0 ? next : best), first);
}

function compareTemplates(...pair: readonly { readonly uriTemplate: string }[]): number {
  const [a, b] = pair.map(({ uriTemplate }) => specificity(uriTemplate));
  const difference = a?.map((value, index) => value - (b?.[index] ?? 0)).find((value) => value !== 0);
  return difference ?? 0;
}

function specificity(template: string): readonly number[] {
  const beginning = template.indexOf("{");
  const text = template.replaceAll(/\{[^}]*\}/g, "");
  return [beginning < 0 ? template.length : beginning, text.length, /\{[+#]/.test(template) ? 0 : 1];
}

/**
 * The scheme of a URI that servers may be asked for in turn. URLs of the web are none: they may hold secrets. Nor are user
 * interfaces, which belong to tools.
 */
function schemeOf(uri: string): string | undefined {
  const [, name = ""] = /^([a-z][a-z\d+.-]*):/i.exec(uri) ?? [];
  const lower = name.toLowerCase();
  return ["", "http", "https", "ui"].includes(lower) ? undefined : lower;
}

/** The servers that list resources or templates of a scheme. */
function serversWith(scheme: string | undefined, listed: readonly Located[]): readonly string[] {
  if (scheme === undefined) return [];
  return listed.flatMap((item) =>
    schemeOf("uri" in item ? item.uri : item.uriTemplate) === scheme ? item.server : [],
  );
}

type Located = Owned & ({ readonly uri: string } | { readonly uriTemplate: string });

/** Whether a template names the scheme of its URIs, and so cannot take those of any server. */
function hasScheme(template: string): boolean {
  return /^[a-z][a-z\d+.-]*:/i.test(template);
}
