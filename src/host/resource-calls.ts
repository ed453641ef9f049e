import type { CachedCallOptions, CallOptions } from "../client/call-options.ts";
import type { Client } from "../client/client.ts";
import type { ClientConnection } from "../connect/create-connect.ts";
import type { Resource, ResourceTemplate } from "../protocol/content.ts";
import { type ErrorCode, McpError, toFailure } from "../protocol/errors.ts";
import type { Method, Params, Result } from "../protocol/methods.ts";
import type { CompleteParams, CompleteResult, GetPromptResult } from "../protocol/prompt.ts";
import { type Call, type CallOf, type Outcome, type OutcomeOf, signalOf } from "../protocol/service.ts";
import type { Routes } from "./calls.ts";
import type { ResourceRef } from "./change-feed.ts";
import type { Abortable, Delivery } from "./delivery.ts";
import { withoutPlace } from "./host-tool.ts";
import { createListPages } from "./list-pages.ts";
import type { LockGate, Reference } from "./lock-check.ts";
import { createResourceOwners, notFound, type ResourceOwnersOptions } from "./resource-owners.ts";
import type { Results } from "./results.ts";
import type { ServedPage } from "./served-tools.ts";
import type { ServerSlot } from "./server-slot.ts";

/**
 * The resources of all servers under one roof, for callers that know only URIs.
 *
 * A URI belongs to the first server that lists it, else to the server with the most specific template that fits; that of a
 * user interface first of all to the first server with a tool that refers to it. What a
 * server that is away had listed stays its own: nobody else takes its place. Where two servers list the same URI, the
 * second has an address that says so. A template is listed once: what the second server has
 * under it can be read by such addresses. A URI that no list has is that of the only server of a view, else of a server whose
 * results have named it to the caller, else of a server that lists URIs of the same scheme.
 */
interface ResourceCalls {
  list(call: CallOf<"resources/list">): Promise<ServedPage<Result<"resources/list">>>;
  templates(call: CallOf<"resources/templates/list">): Promise<ServedPage<Result<"resources/templates/list">>>;
  read(call: Call<"resources/read">): Promise<Outcome<"resources/read">>;
  complete(call: Call<"completion/complete">): Promise<Outcome<"completion/complete">>;
  /** The server that has the resource. Undefined when no server has it, or when it is not known which one. */
  ownerOf(uri: string, caller: CallOf): Promise<ResourceRef | undefined>;
}

interface ResourceCallsOptions extends ResourceOwnersOptions {
  readonly pageSize: number;
  pass<M extends Method>(slot: ServerSlot, call: CallOf<M>, params: Params<M>): Promise<OutcomeOf<M>>;
}

export function createResourceCalls(options: ResourceCallsOptions): ResourceCalls {
  const { slots, view, listings, pageSize, pass } = options;
  const { find, placed, templatesOf } = createResourceOwners(options);

  const slotOf = ({ server }: Pick<ResourceRef, "server">, uri: string): ServerSlot =>
    slots.get(server) ?? notFound(uri);

  const readFrom = async (ref: ResourceRef, call: Call<"resources/read">): Promise<Outcome<"resources/read">> => {
    const { uri } = call.params;
    return readAs(uri, ref, await pass(slotOf(ref, uri), call, { ...call.params, uri: ref.uri }));
  };

  return {
    async list(call) {
      const listing = await listings.listResources({ signal: signalOf(call), caller: call });
      const paging = { member: "resources", pageSize, keyOf: (item: Resource) => item.uri };
      const pages = createListPages<Resource, Result<"resources/list">>(await placed(listing, call), paging);
      return { page: pages.page(call.params.cursor), listing };
    },
    async templates(call) {
      const listing = await listings.listResourceTemplates({ signal: signalOf(call), caller: call });
      const first = new Map<string, ResourceTemplate>();
      for (const template of listing) {
        const { uriTemplate } = template;
        if (!first.has(uriTemplate) && view.hasResource(uriTemplate, false))
          first.set(uriTemplate, withoutPlace(template));
      }
      const paging = { member: "resourceTemplates", pageSize, keyOf: (item: ResourceTemplate) => item.uriTemplate };
      const all = [...first.values()];
      const pages = createListPages<ResourceTemplate, Result<"resources/templates/list">>(all, paging);
      return { page: pages.page(call.params.cursor), listing };
    },
    async read(call) {
      const { uri } = call.params;
      const refs = await find(uri, call);
      const [only = notFound(uri), ...others] = refs;
      if (others.length === 0) return readFrom(only, call);
      for (const ref of refs) {
        const outcome = await readFrom(ref, call).catch(failureOf);
        if (outcome.kind !== "failed" || !lacking.has(outcome.failure.code)) return outcome;
      }
      return notFound(uri);
    },
    async complete(call) {
      const { ref } = call.params;
      const uri = ref.type === "ref/resource" ? ref.uri : "";
      const listing = await listings.listResourceTemplates({ signal: signalOf(call), caller: call });
      const templates = templatesOf(listing);
      const owner = templates.find(({ uriTemplate }) => uriTemplate === uri && view.hasResource(uri, false));
      return pass(slotOf(owner ?? notFound(uri), uri), call, call.params);
    },
    async ownerOf(uri, caller) {
      const [ref, ...others] = await find(uri, caller).catch(() => []);
      return ref !== undefined && others.length === 0 && slots.has(ref.server) ? ref : undefined;
    },
  };
}

/** What servers say of a resource that they do not have. Those of the older revisions have no code for it. */
const lacking: ReadonlySet<ErrorCode> = new Set([
  "resource-not-found",
  "invalid-params",
  "method-not-found",
  "unsupported",
]);

function failureOf(error: unknown): Outcome<"resources/read"> {
  if (!(error instanceof McpError)) throw error;
  return { kind: "failed", failure: toFailure(error), cause: error };
}

/** The contents of a resource by the URI that they were asked for. */
function readAs(uri: string, ref: ResourceRef, outcome: Outcome<"resources/read">): Outcome<"resources/read"> {
  if (uri === ref.uri || outcome.kind !== "complete") return outcome;
  const contents = outcome.result.contents.map((item) => (item.uri === ref.uri ? { ...item, uri } : item));
  return { ...outcome, result: { ...outcome.result, contents } };
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
