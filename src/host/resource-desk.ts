import { McpError } from "../model/errors.ts";
import type { Method, Params } from "../model/methods.ts";
import type { Resource, ResourceTemplate } from "../model/resource.ts";
import { type Call, type Outcome, signalOf } from "../model/service.ts";
import { parseUriTemplate } from "../std/uri-template.ts";
import type { ResourceRef } from "./change-feed.ts";
import type { Listings } from "./listings.ts";
import type { Seat } from "./seat.ts";

/**
 * The resources of all servers under one roof, for callers that know only URIs.
 *
 * A URI belongs to the first server that lists it, else to the first with a
 * template that fits. Where two servers list the same one, the second has an
 * address that says so.
 */
export interface ResourceDesk {
  list(signal: AbortSignal): Promise<readonly Resource[]>;
  templates(signal: AbortSignal): Promise<readonly ResourceTemplate[]>;
  read(call: Call<"resources/read">): Promise<Outcome<"resources/read">>;
  complete(call: Call<"completion/complete">): Promise<Outcome<"completion/complete">>;
  /** Whose these are. Those of nobody are left out. */
  owners(uris: readonly string[]): Promise<readonly ResourceRef[]>;
}

export interface ResourceDeskOptions {
  readonly seats: ReadonlyMap<string, Seat>;
  readonly listings: Pick<Listings, "resources" | "resourceTemplates">;
  pass<M extends Method>(seat: Seat, call: Call<M>, params: Params<M>): Promise<Outcome<M>>;
}

const scheme = "plugbay-resource:";

export function createResourceDesk({ seats, listings, pass }: ResourceDeskOptions): ResourceDesk {
  const ownerOf = async (uri: string, signal?: AbortSignal): Promise<ResourceRef | undefined> => {
    if (uri.startsWith(scheme)) return readAddress(uri);
    const listed = (await listings.resources({ signal })).find((resource) => resource.uri === uri);
    if (listed !== undefined) return { server: listed.server, uri };
    const templates = await listings.resourceTemplates({ signal });
    const fitting = templates.find(({ uriTemplate }) => fits(uri, uriTemplate));
    return fitting && { server: fitting.server, uri };
  };

  const seatOf = (ref: ResourceRef | undefined, uri: string): Seat => {
    const seat = ref && seats.get(ref.server);
    if (seat === undefined) throw new McpError("resource-not-found", `no server has the resource ${uri}`);
    return seat;
  };

  return {
    async list(signal) {
      const seen = new Set<string>();
      return (await listings.resources({ signal })).map(({ server, ...resource }) => {
        if (!seen.has(resource.uri)) {
          seen.add(resource.uri);
          return resource;
        }
        return { ...resource, uri: toAddress(server, resource.uri) };
      });
    },
    templates: async (signal) =>
      (await listings.resourceTemplates({ signal })).map(({ server: _, ...template }) => template),
    async read(call) {
      const { uri } = call.params;
      const ref = await ownerOf(uri, signalOf(call));
      return pass(seatOf(ref, uri), call, { ...call.params, uri: ref?.uri ?? uri });
    },
    async complete(call) {
      const { ref } = call.params;
      const uri = ref.type === "ref/resource" ? ref.uri : "";
      const templates = await listings.resourceTemplates({ signal: signalOf(call) });
      const owner = templates.find(({ uriTemplate }) => uriTemplate === uri);
      return pass(seatOf(owner && { server: owner.server, uri }, uri), call, call.params);
    },
    async owners(uris) {
      const refs = await Promise.all(uris.map((uri) => ownerOf(uri)));
      return refs.filter((ref): ref is ResourceRef => ref !== undefined && seats.has(ref.server));
    },
  };
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

/** A template that cannot be read fits nothing. */
function fits(uri: string, template: string): boolean {
  const parsed = parseUriTemplate(template);
  return parsed.ok && parsed.value.match(uri) !== undefined;
}
