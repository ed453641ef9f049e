import { isObject, type Json } from "../../json/json.ts";
import { encodeMessage, type Id } from "../../jsonrpc/message.ts";
import {
  AuthenticatedHttp,
  type Authentication,
  type Authenticator,
  type AuthRejection,
  type AuthScheme,
  authOf,
  type ResourceMetadata,
} from "../../protocol/authenticator.ts";
import type { Account } from "../../protocol/budget.ts";
import { modernServer } from "../../protocol/codec/server-codec.ts";
import { type ErrorCode, type Failure, isCallerMissing, McpError } from "../../protocol/errors.ts";
import type { NeededAuth } from "../../protocol/peer.ts";
import { inPlaceOf, type Service, withCall } from "../../protocol/service.ts";
import { defined } from "../../std/defined.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { createHostCheck, isLoopback, parseAuthority } from "./allowed-hosts.ts";
import { type AuthRoutes, createAuthRoutes } from "./auth-routes.ts";
import type { HttpCaller } from "./fair-gate.ts";
import {
  type EventSink,
  errorAnswer,
  type GoneListener,
  type HttpAnswer,
  type HttpHead,
  type HttpHeaders,
  type HttpReply,
  jsonHeaders,
  pathOf,
  putOffBy,
  refusal,
  sendAnswer,
} from "./http-message.ts";
import { limitAnswer } from "./limit-answer.ts";
import type { RequestHold } from "./request-hold.ts";

interface GuardOptions {
  readonly auth: Authenticator<NeededAuth>;
  readonly path: string | undefined;
  readonly hosts: readonly string[] | "any";
  /** Whether clients speak TLS with the server, with nothing in front. */
  readonly isSecure?: boolean | undefined;
  /** Called when an authenticator failed, and for refusals that a wrong configuration of the server may have caused. */
  warn(message: string, kind: "authenticator-failed" | "claims-refused"): void;
}

/** A request whose sender is known, or the answer that ends it. */
export type Identified =
  | { readonly ok: true; readonly head: HttpHead }
  | {
      readonly ok: false;
      readonly answer: HttpAnswer;
      /** The reason, unless a budget has reported it. */
      readonly code?: ErrorCode;
    };

/** Authenticates the callers of a protected endpoint. */
export interface Guard {
  /** Routes beside the endpoint, without authentication. */
  readonly routes: AuthRoutes | undefined;
  /** Whether a request is for what is served beside the endpoint. */
  owns(head: HttpHead): boolean;
  /** Answers a request for public metadata. Undefined for other requests. */
  tell(head: HttpHead): HttpAnswer | undefined;
  /** Authenticates a request, which counts for the share of its address meanwhile. Never rejects. */
  identify(head: HttpHead, cors: HttpHeaders, share: Account): Promise<Identified>;
  /** A service whose calls have the authenticated caller. */
  around(service: Service): Service;
  /** The reply to one message: what was forbidden to its sender is refused by HTTP, before any stream. */
  replyTo(id: Id, head: HttpHead, reply: HttpReply): HttpReply;
}

export function createGuard({ auth, path, hosts, isSecure, warn }: GuardOptions): Guard {
  if (typeof auth !== "function")
    throw new McpError("invalid-definition", "auth must be an authenticator, or a function");
  const { metadata, schemes = [{ scheme: "Bearer" }], requiredScopes = [], credentials = [] } = auth;
  checkResource(auth, hosts);
  const metadataEndpoint =
    metadata === undefined ? undefined : createMetadataEndpoint({ metadata, path, hosts, isSecure });
  const routes =
    auth.routes === undefined
      ? undefined
      : createAuthRoutes({ routes: auth.routes, hosts, warn: (text) => warn(text, "authenticator-failed") });
  const hidden = new Set(["authorization", "dpop", ...credentials.map((name) => name.toLowerCase())]);
  /** What was forbidden, by the request that asked for it. */
  const denied = new WeakMap<HttpRequestInfo, Failure>();

  const challenge = (head: HttpHead, refused: Partial<AuthRejection>): HttpHeaders => {
    const text = challengeHeader(schemes, {
      ...refused,
      scopes: refused.scopes ?? requiredScopes,
      metadataUrl: metadataEndpoint?.urlFor(head),
    });
    return text === "" ? {} : { "www-authenticate": text };
  };

  const refuse = (head: HttpHead, refused: AuthRejection): HttpAnswer => {
    const { status, description = status === 401 ? "authentication is needed" : "this is not allowed" } = refused;
    return refusal(status, description, { ...challenge(head, refused), ...refused.headers });
  };

  /** The response to a caller without the required permission. An anonymous caller is asked to authenticate. */
  const forbid = (id: Id, head: HttpHead, failure: Failure): HttpAnswer => {
    const wanted = scopesIn(failure.data);
    const scopes = wanted.length === 0 ? [] : [...new Set([...requiredScopes, ...wanted])];
    const body = encodeMessage({ kind: "failure", id, error: modernServer.encodeFailure(failure) });
    if (authOf(head) === undefined)
      return { status: 401, headers: { ...jsonHeaders, ...challenge(head, { scopes }) }, body };
    if (isCallerMissing(failure)) {
      const ended = { scopes, error: "invalid_token", description: failure.message };
      return { status: 401, headers: { ...jsonHeaders, ...challenge(head, ended) }, body };
    }
    const told = { scopes, error: "insufficient_scope", description: failure.message };
    const headers = scopes.length === 0 ? {} : challenge(head, told);
    return { status: 403, headers: { ...jsonHeaders, ...headers }, body };
  };

  return {
    routes,
    owns: (head) => routes?.has(head) === true || metadataEndpoint?.answer(head) !== undefined,
    tell: (head) => metadataEndpoint?.answer(head),
    async identify(head, cors, share) {
      if (routes?.has(head)) return { ok: true, head };
      const short = share.take("signIns");
      if (short !== undefined) return { ok: false, answer: withHeaders(limitAnswer(short), cors) };
      try {
        const found = checked(await auth(head));
        if (found.ok) return { ok: true, head: new AuthenticatedHttp(head, found.auth, hidden) };
        if (found.warning !== undefined) warn(found.warning, "claims-refused");
        const code = codeOf(found);
        return { ok: false, answer: withHeaders(refuse(head, found), cors), code };
      } catch (error) {
        warn(`cannot tell who sends a request: ${reasonOf(error)}`, "authenticator-failed");
        return unidentified(error, cors);
      } finally {
        share.give("signIns");
      }
    },
    around(service) {
      const serve: Service = async (call) => {
        const { http } = call;
        const known = authOf(http);
        const outcome = await service(
          known === undefined ? call : withCall(call, { peer: { ...call.peer, auth: known } }),
        );
        const isDenied =
          outcome.kind === "failed" && (outcome.failure.code === "forbidden" || isCallerMissing(outcome.failure));
        if (isDenied && http !== undefined) denied.set(http, outcome.failure);
        return outcome;
      };
      return inPlaceOf(service, serve);
    },
    replyTo: (id, head, reply) =>
      new GuardedReply(reply, () => {
        const failure = denied.get(head);
        return failure === undefined ? undefined : forbid(id, head, failure);
      }),
  };
}

/**
 * The identity of the server, which clients are told and DPoP proofs are compared with, must not be taken from a request.
 * Throws `invalid-definition` where any `Host` is taken and nothing else says how clients know the server.
 */
function checkResource({ metadata, schemes = [] }: Authenticator<NeededAuth>, hosts: GuardOptions["hosts"]): void {
  const isNeeded = metadata !== undefined || schemes.some(({ scheme }) => scheme === "DPoP");
  if (hosts !== "any" || !isNeeded || metadata?.resource !== undefined) return;
  const remedy = 'give resource in auth, the URL that clients use, such as resource: "https://shop.example.com/mcp"';
  throw new McpError(
    "invalid-definition",
    `allowedHosts: "any" lets a request name the server as it likes: ${remedy}`,
    {
      data: { member: "resource" },
    },
  );
}

/** A reply that becomes another one when the call turns out to be forbidden. */
class GuardedReply implements HttpReply {
  readonly caller: HttpCaller;
  readonly held: RequestHold;
  readonly #reply: HttpReply;
  readonly #refused: () => HttpAnswer | undefined;

  constructor(reply: HttpReply, refused: () => HttpAnswer | undefined) {
    this.caller = reply.caller;
    this.held = reply.held;
    this.#reply = reply;
    this.#refused = refused;
  }

  send(status: number, headers: HttpHeaders, body: string): void {
    sendAnswer(this.#reply, this.#refused() ?? { status, headers, body });
  }

  open(headers: HttpHeaders): EventSink {
    const refused = this.#refused();
    if (refused === undefined) return this.#reply.open(headers);
    sendAnswer(this.#reply, refused);
    return nowhere;
  }

  onGone(listener: GoneListener): void {
    this.#reply.onGone(listener);
  }

  onLost(listener: () => void): void {
    this.#reply.onLost?.(listener);
  }
}

/** Where events go when there is no stream any more. */
const nowhere: EventSink = { write: () => undefined, end() {}, destroy() {}, backlog: 0 };

const unclear = refusal(503, "the sender cannot be identified right now; retry later", { "retry-after": "5" });

/**
 * The response to a sender who cannot be authenticated because of a limit: 429 where it is the share of the sender,
 * else 503. It contains the figures of the error and not its message, which may be about others.
 */
function limited(error: unknown): HttpAnswer | undefined {
  if (!(error instanceof McpError) || error.code !== "limit-reached" || !isObject(error.data)) return undefined;
  const { limit = null, max = null, scope = null, retryAfterMs = null } = error.data;
  const message = `the sender cannot be identified right now: ${limit} is ${max}; retry later`;
  const data = { reason: "limit-reached", limit, max, scope, retryAfterMs };
  const failure = modernServer.encodeFailure({ code: "limit-reached", message, data });
  const putOff = putOffBy(failure);
  if (putOff === undefined) return undefined;
  return { ...errorAnswer(scope === "principal" ? 429 : 503, null, failure), headers: putOff.headers };
}

function unidentified(error: unknown, cors: HttpHeaders): Identified {
  const limit = limited(error);
  const code = limit === undefined ? "internal" : "limit-reached";
  return { ok: false, answer: withHeaders(limit ?? unclear, cors), code };
}

function codeOf({ status }: AuthRejection): ErrorCode {
  return status === 401 ? "unauthorized" : "forbidden";
}

function withHeaders({ status, headers, body }: HttpAnswer, more: HttpHeaders): HttpAnswer {
  return { status, headers: { ...headers, ...more }, body };
}

function scopesIn(data: Json | undefined): readonly string[] {
  const scopes = isObject(data) ? data.scopes : undefined;
  return Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === "string") : [];
}

/** The result of a function of the user may not match its type. */
function checked(found: Authentication<NeededAuth>): Authentication {
  if (found.ok === true && (found.auth === undefined || isPrincipal(found.auth.principal))) {
    return found as Authentication;
  }
  if (found.ok === false && (found.status === 401 || found.status === 403)) return found;
  throw new McpError("invalid-response", "an authenticator must say who it is, or refuse");
}

function isPrincipal(principal: unknown): boolean {
  return typeof principal === "string" && principal !== "";
}

/** Errors of others may repeat credentials. */
function reasonOf(error: unknown): string {
  if (error instanceof McpError) return error.message;
  return error instanceof Error ? error.name : "it threw";
}

/** The parameters of a challenge besides the authentication schemes. */
interface ChallengeFacts {
  /** The scheme that an error is about. */
  readonly scheme?: string | undefined;
  readonly error?: string | undefined;
  readonly description?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** Where the metadata of the server is. */
  readonly metadataUrl?: string | undefined;
}

/** Schemes whose challenge names the resource metadata. */
const tokenSchemes: ReadonlySet<string> = new Set(["bearer", "dpop"]);

/** The value of `WWW-Authenticate`: one challenge for each way, in their order. */
export function challengeHeader(schemes: readonly AuthScheme[], facts: ChallengeFacts): string {
  const used = facts.scheme?.toLowerCase() ?? schemes[0]?.scheme.toLowerCase();
  const isOffered = schemes.some(({ scheme }) => scheme.toLowerCase() === used);
  const offered = isOffered || facts.scheme === undefined ? schemes : [...schemes, { scheme: facts.scheme }];
  return offered
    .map(({ scheme, parameters = {} }) => {
      const isToken = tokenSchemes.has(scheme.toLowerCase());
      const told = isToken ? tokenParameters(facts, scheme.toLowerCase() === used) : {};
      return [scheme, parametersText({ ...parameters, ...told })].filter((part) => part !== "").join(" ");
    })
    .join(", ");
}

function tokenParameters(facts: ChallengeFacts, isUsed: boolean): Readonly<Record<string, string | undefined>> {
  const { error, description, scopes = [], metadataUrl } = facts;
  return {
    resource_metadata: metadataUrl,
    scope: scopes.length === 0 ? undefined : scopes.join(" "),
    ...(isUsed && error !== undefined && { error, error_description: description }),
  };
}

function parametersText(parameters: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(parameters)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${quotable(value)}"`]))
    .join(", ");
}

/** Text that can stand between quotes in a header: nothing that ends them, no line breaks, ASCII only. */
function quotable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").replaceAll(/["\\]/g, "\\$&");
}

export interface MetadataOptions {
  readonly metadata: ResourceMetadata;
  /** Where the endpoint is. Absent where it is wherever requests reach it. */
  readonly path: string | undefined;
  /** Names of the server. */
  readonly hosts: readonly string[] | "any";
  /** Whether clients speak TLS with the server, with nothing in front. */
  readonly isSecure?: boolean | undefined;
}

/** The public metadata of a protected resource (RFC 9728). */
interface MetadataEndpoint {
  /** Answers a request for it. Undefined when the request is for something else. */
  answer(head: HttpHead): HttpAnswer | undefined;
  /** Where it is, for a request to the endpoint. */
  urlFor(head: HttpHead): string;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

export function createMetadataEndpoint({ metadata, path, hosts, isSecure }: MetadataOptions): MetadataEndpoint {
  const { resource, ...rest } = metadata;
  const known = resource === undefined ? undefined : new URL(resource);
  const checkHost = createHostCheck(hosts);
  const fixedPath = withoutSlash(known?.pathname ?? path);
  const served = new Set([fixedPath, withoutSlash(path)]);
  const originOf = (head: HttpHead): string => known?.origin ?? originFrom(head.header("host"), isSecure);

  /** The path of the endpoint that the metadata is asked of. Undefined when there is none there. */
  const endpointOf = (asked: string): string | undefined => {
    if (!asked.startsWith(WELL_KNOWN)) return undefined;
    const rest = withoutSlash(asked.slice(WELL_KNOWN.length)) ?? "";
    if (rest === "") return fixedPath ?? "";
    if (fixedPath === undefined) return rest.startsWith("/") ? rest : undefined;
    return served.has(rest) ? fixedPath : undefined;
  };

  return {
    answer(head) {
      const endpoint = endpointOf(pathOf(head.url));
      if (endpoint === undefined) return undefined;
      const badHost = checkHost(head.header("host"));
      if (badHost !== undefined) return refusal(403, badHost);
      if (head.method === "OPTIONS") return { status: 204, headers: preflight, body: "" };
      if (head.method !== "GET") return refusal(405, "metadata can only be read; use GET", { ...open, allow: "GET" });
      const named = resource ?? `${originOf(head)}${endpoint}`;
      const caching = { "cache-control": known === undefined ? "no-store" : "max-age=300" };
      return {
        status: 200,
        headers: { ...open, ...caching, "content-type": "application/json" },
        body: JSON.stringify(defined({ resource: named, ...rest })),
      };
    },
    urlFor: (head) => `${originOf(head)}${WELL_KNOWN}${fixedPath ?? withoutSlash(pathOf(head.url))}`,
  };
}

/** Readable by any page, as it is the same for all callers. */
const open: HttpHeaders = { "access-control-allow-origin": "*" };
const preflight: HttpHeaders = {
  ...open,
  "access-control-allow-methods": "GET",
  "access-control-allow-headers": "*",
  "access-control-max-age": "600",
};

/** What clients call the server by. Only this machine may be reached without TLS; who ends that in front is not seen here. */
function originFrom(host = "", isSecure = false): string {
  const { name = "" } = parseAuthority(host) ?? {};
  return `${isLoopback(name) && !isSecure ? "http" : "https"}://${host}`;
}

function withoutSlash(path: string | undefined): string | undefined {
  return path?.endsWith("/") ? path.slice(0, -1) : path;
}
