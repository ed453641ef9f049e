import type { CachedCallOptions, CallOptions } from "../client/call-options.ts";
import type { Client } from "../client/client.ts";
import type { ClientConnection } from "../connect/create-connect.ts";
import type { Resource, ResourceTemplate } from "../protocol/content.ts";
import { McpError } from "../protocol/errors.ts";
import type { Method, Params, Result } from "../protocol/methods.ts";
import type { CompleteParams, CompleteResult, GetPromptResult } from "../protocol/prompt.ts";
import { type Call, type CallOf, type Outcome, type OutcomeOf, signalOf } from "../protocol/service.ts";
import { parseUriTemplate } from "../std/uri-template.ts";
import type { Routes } from "./calls.ts";
import type { ResourceRef } from "./change-feed.ts";
import type { Abortable, Delivery } from "./delivery.ts";
import type { Listings } from "./list-cache.ts";
import type { LockGate, Reference } from "./lock-check.ts";
import type { Results } from "./results.ts";
import type { ServerSlot } from "./server-slot.ts";

/**
 * The resources of all servers under one roof, for callers that know only URIs.
 *
 * A URI belongs to the first server that lists it, else to the first with a
 * template that fits. Where two servers list the same one, the second has an
 * address that says so. A template is listed once: what the second server has
 * under it can be read by such addresses.
 */
interface ResourceCalls {
  list(signal: AbortSignal): Promise<readonly Resource[]>;
  templates(signal: AbortSignal): Promise<readonly ResourceTemplate[]>;
  read(call: Call<"resources/read">): Promise<Outcome<"resources/read">>;
  complete(call: Call<"completion/complete">): Promise<Outcome<"completion/complete">>;
  /** Whose these are. Those of nobody are left out. */
  owners(uris: readonly string[]): Promise<readonly ResourceRef[]>;
}

interface ResourceCallsOptions {
  readonly slots: ReadonlyMap<string, ServerSlot>;
  readonly listings: Pick<Listings, "listResources" | "listResourceTemplates">;
  pass<M extends Method>(slot: ServerSlot, call: CallOf<M>, params: Params<M>): Promise<OutcomeOf<M>>;
}

const scheme = "plugbay-resource:";

export function createResourceCalls({ slots, listings, pass }: ResourceCallsOptions): ResourceCalls {
  const ownerOf = async (uri: string, signal?: AbortSignal): Promise<ResourceRef | undefined> => {
    if (uri.startsWith(scheme)) return readAddress(uri);
    const listed = (await listings.listResources({ signal })).find((resource) => resource.uri === uri);
    if (listed !== undefined) return { server: listed.server, uri };
    const templates = await listings.listResourceTemplates({ signal });
    const fitting = templates.find(({ uriTemplate }) => fits(uri, uriTemplate));
    return fitting && { server: fitting.server, uri };
  };

  const slotOf = (ref: ResourceRef | undefined, uri: string): ServerSlot => {
    const slot = ref && slots.get(ref.server);
    if (slot === undefined) {
      throw new McpError("resource-not-found", `no server has the resource ${uri}`, { data: { uri } });
    }
    return slot;
  };

  return {
    async list(signal) {
      const seen = new Set<string>();
      return (await listings.listResources({ signal })).map(({ server, ...resource }) => {
        if (!seen.has(resource.uri)) {
          seen.add(resource.uri);
          return resource;
        }
        return { ...resource, uri: toAddress(server, resource.uri) };
      });
    },
    async templates(signal) {
      const first = new Map<string, ResourceTemplate>();
      for (const { server: _, ...template } of await listings.listResourceTemplates({ signal })) {
        if (!first.has(template.uriTemplate)) first.set(template.uriTemplate, template);
      }
      return [...first.values()];
    },
    async read(call) {
      const { uri } = call.params;
      const ref = await ownerOf(uri, signalOf(call));
      return pass(slotOf(ref, uri), call, { ...call.params, uri: ref?.uri ?? uri });
    },
    async complete(call) {
      const { ref } = call.params;
      const uri = ref.type === "ref/resource" ? ref.uri : "";
      const templates = await listings.listResourceTemplates({ signal: signalOf(call) });
      const owner = templates.find(({ uriTemplate }) => uriTemplate === uri);
      return pass(slotOf(owner && { server: owner.server, uri }, uri), call, call.params);
    },
    async owners(uris) {
      const refs = await Promise.all(uris.map((uri) => ownerOf(uri)));
      return refs.filter((ref): ref is ResourceRef => ref !== undefined && slots.has(ref.server));
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

/** Calls about one resource or prompt of a server. A server that is not connected is connected to. */
export interface ItemCalls {
  readResource(server: string, uri: string, options?: CachedCallOptions): Promise<Result<"resources/read">>;
  /** Reads a page of a result that was too large, by the URI that the result names. */
  readResultPage(uri: string): Promise<Result<"resources/read">>;
  getPrompt(
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<GetPromptResult>;
  complete(server: string, params: CompleteParams, options?: CallOptions): Promise<CompleteResult>;
}

interface ItemCallsOptions {
  readonly routes: Routes;
  readonly gate: LockGate;
  readonly results: Results | undefined;
  readonly delivery: Delivery;
}

export function createItemCalls({ routes, gate, results, delivery }: ItemCallsOptions): ItemCalls {
  const on = async <T>(
    server: string,
    reference: Reference,
    options: CallOptions | undefined,
    work: (client: Client) => Promise<T>,
  ): Promise<T> => {
    const slot = routes.slot(server);
    const caller = { signal: options?.signal };
    return delivery.send({
      ...caller,
      slot,
      open: () => openFor(slot, reference, gate, caller),
      over: ({ client }) => work(client),
      isRepeatable: () => true,
    });
  };

  return {
    readResource: (server, uri, options) =>
      on(server, { type: "read", uri }, options, (client) => client.readResource(uri, options)),
    readResultPage: async (uri) => {
      const page = results?.read(uri);
      if (page === undefined) throw gonePage(uri);
      return page;
    },
    getPrompt: (server, name, args, options) =>
      on(server, { type: "ref/prompt", name }, options, (client) => client.getPrompt(name, args, options)),
    complete: (server, params, options) =>
      on(server, params.ref, options, (client) => client.complete(params, options)),
  };
}

function gonePage(uri: string): McpError {
  const message = `no page ${uri}: results are kept for a while only; call the tool again`;
  return new McpError("resource-not-found", message, { data: { uri } });
}

/** The connection to a server, once it is known that a lock allows what is asked for. */
export async function openFor(
  slot: ServerSlot,
  reference: Reference | undefined,
  gate: LockGate,
  caller: Abortable,
): Promise<ClientConnection> {
  const line = slot.member.line ?? (await slot.member.open(caller.signal));
  if (reference !== undefined && gate.isLocked) await gate.check(slot, line, reference, caller.signal);
  return line;
}
