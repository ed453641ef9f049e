import { isObject, type JsonObject } from "../json/json.ts";
import type { Tool } from "../protocol/tool.ts";
import type { ResourceRef } from "./change-feed.ts";

// Resources of user interfaces: a tool names one in its `_meta`, and no list needs to have it. Their scheme says what they
// are, so an address that tells the servers of two equal URIs apart must have it, too.

const scheme = "ui://";

export function isUiUri(uri: string): boolean {
  return uri.startsWith(scheme);
}

/** The URI of the user interface of a tool. The flat name is that of older servers. */
export function uiUriOf({ _meta: meta }: Pick<Tool, "_meta">): string | undefined {
  if (meta === undefined) return undefined;
  const uri = isObject(meta.ui) ? meta.ui.resourceUri : meta[flatKey];
  const found = uri ?? meta[flatKey];
  return typeof found === "string" && isUiUri(found) ? found : undefined;
}

const flatKey = "ui/resourceUri";

/** `_meta` of a tool whose user interface has another address here. */
export function withUiUri(meta: JsonObject, uri: string): JsonObject {
  return {
    ...meta,
    ...(isObject(meta.ui) && meta.ui.resourceUri !== undefined && { ui: { ...meta.ui, resourceUri: uri } }),
    ...(meta[flatKey] !== undefined && { [flatKey]: uri }),
  };
}

/** Whose each URI is: the first server with a tool that refers to it. */
export function uiOwnersIn(tools: readonly (Tool & { readonly server: string })[]): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const tool of tools) {
    const uri = uiUriOf(tool);
    if (uri !== undefined && !owners.has(uri)) owners.set(uri, tool.server);
  }
  return owners;
}

/** The address of a resource of a server, where the URI alone is that of another one: `ui://server+rest`. */
export function toUiAddress({ server, uri }: ResourceRef): string {
  return `${scheme}${encodeURIComponent(server)}+${uri.slice(scheme.length)}`;
}

/** What an address names. Undefined for any other URI. */
export function readUiAddress(uri: string, isServer: (name: string) => boolean): ResourceRef | undefined {
  const [, name = "", rest = ""] = /^ui:\/\/([^/+]+)\+(.*)$/s.exec(uri) ?? [];
  const server = decoded(name);
  return server !== undefined && isServer(server) ? { server, uri: scheme + rest } : undefined;
}

function decoded(name: string): string | undefined {
  try {
    return name === "" ? undefined : decodeURIComponent(name);
  } catch {
    return undefined;
  }
}

/** Tells where a resource is to be read that a server calls so. An URI that reads like an address always is one. */
export function uiAddressOf(ref: ResourceRef, owner: string | undefined, isServer: (name: string) => boolean): string {
  const isTaken = owner !== undefined && owner !== ref.server;
  return isTaken || readUiAddress(ref.uri, isServer) !== undefined ? toUiAddress(ref) : ref.uri;
}
