import { modernServer } from "../../codec/modern-server.ts";
import { isObject, type Json } from "../../json/json.ts";
import { encodeMessage, type Id } from "../../jsonrpc/message.ts";
import {
  AuthenticatedHttp,
  type Authentication,
  type Authenticator,
  type AuthRefusal,
  authOf,
} from "../../model/authenticator.ts";
import { type Failure, McpError } from "../../model/errors.ts";
import type { NeededAuth } from "../../model/peer.ts";
import { type Service, withCall } from "../../model/service.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import { challengeHeader } from "./challenge.ts";
import { type HttpAnswer, type HttpHead, type HttpHeaders, refusal } from "./http-message.ts";
import { type EventSink, type HttpReply, jsonHeaders, sendAnswer } from "./http-reply.ts";
import { createMetadataDesk } from "./resource-metadata.ts";

export interface GuardOptions {
  readonly auth: Authenticator<NeededAuth>;
  readonly path: string | undefined;
  readonly hosts: readonly string[] | "any";
  /** Hears that nobody could tell who sent a request, or of a refusal that may be up to whoever runs the server. */
  warn(message: string, kind: "authenticator-failed" | "claims-refused"): void;
}

/** A request whose sender is known, or the answer that ends it. */
export type Identified =
  | { readonly ok: true; readonly head: HttpHead }
  | { readonly ok: false; readonly answer: HttpAnswer };

/** Stands between a protected endpoint and those who use it. */
export interface Guard {
  /** Answers a request for what anybody may know. Undefined when it is for something else. */
  tell(head: HttpHead): HttpAnswer | undefined;
  /** Finds out who sends a request. Never rejects. */
  identify(head: HttpHead, cors: HttpHeaders): Promise<Identified>;
  /** A service whose calls say who makes them. */
  around(service: Service): Service;
  /** The reply to one message: what was forbidden to its sender is refused by HTTP, before any stream. */
  replyTo(id: Id, head: HttpHead, reply: HttpReply): HttpReply;
}

export function createGuard({ auth, path, hosts, warn }: GuardOptions): Guard {
  if (typeof auth !== "function")
    throw new McpError("invalid-definition", "auth must be an authenticator, or a function");
  const { metadata, schemes = [{ scheme: "Bearer" }], requiredScopes = [], credentials = [] } = auth;
  const desk = metadata === undefined ? undefined : createMetadataDesk({ metadata, path, hosts });
  const hidden = new Set(["authorization", "dpop", ...credentials.map((name) => name.toLowerCase())]);
  /** What was forbidden, by the request that asked for it. */
  const denied = new WeakMap<HttpFacts, Failure>();

  const challenge = (head: HttpHead, refused: Partial<AuthRefusal>): HttpHeaders => {
    const text = challengeHeader(schemes, {
      ...refused,
      scopes: refused.scopes ?? requiredScopes,
      metadataUrl: desk?.urlFor(head),
    });
    return text === "" ? {} : { "www-authenticate": text };
  };

  const refuse = (head: HttpHead, refused: AuthRefusal): HttpAnswer => {
    const { status, description = status === 401 ? "authentication is needed" : "this is not allowed" } = refused;
    return refusal(status, description, { ...challenge(head, refused), ...refused.headers });
  };

  /** The answer to who may not do what it asked for. Who has not said who it is may be allowed to when it does. */
  const forbid = (id: Id, head: HttpHead, failure: Failure): HttpAnswer => {
    const wanted = scopesIn(failure.data);
    const scopes = wanted.length === 0 ? [] : [...new Set([...requiredScopes, ...wanted])];
    const body = encodeMessage({ kind: "failure", id, error: modernServer.encodeFailure(failure) });
    if (authOf(head) === undefined)
      return { status: 401, headers: { ...jsonHeaders, ...challenge(head, { scopes }) }, body };
    const told = { scopes, error: "insufficient_scope", description: failure.message };
    const headers = scopes.length === 0 ? {} : challenge(head, told);
    return { status: 403, headers: { ...jsonHeaders, ...headers }, body };
  };

  return {
    tell: (head) => desk?.answer(head),
    async identify(head, cors) {
      try {
        const found = checked(await auth(head));
        if (found.ok) return { ok: true, head: new AuthenticatedHttp(head, found.auth, hidden) };
        if (found.warning !== undefined) warn(found.warning, "claims-refused");
        return { ok: false, answer: withHeaders(refuse(head, found), cors) };
      } catch (error) {
        warn(`cannot tell who sends a request: ${reasonOf(error)}`, "authenticator-failed");
        return { ok: false, answer: withHeaders(unclear, cors) };
      }
    },
    around(service) {
      const serve: Service = async (call) => {
        const { http } = call;
        const known = authOf(http);
        const outcome = await service(
          known === undefined ? call : withCall(call, { peer: { ...call.peer, auth: known } }),
        );
        const isDenied = outcome.kind === "failed" && outcome.failure.code === "forbidden";
        if (isDenied && http !== undefined) denied.set(http, outcome.failure);
        return outcome;
      };
      return Object.assign(serve, service);
    },
    replyTo: (id, head, reply) =>
      new GuardedReply(reply, () => {
        const failure = denied.get(head);
        return failure === undefined ? undefined : forbid(id, head, failure);
      }),
  };
}

/** A reply that becomes another one when the call turns out to be forbidden. */
class GuardedReply implements HttpReply {
  readonly #reply: HttpReply;
  readonly #refused: () => HttpAnswer | undefined;

  constructor(reply: HttpReply, refused: () => HttpAnswer | undefined) {
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

  onGone(listener: () => void): void {
    this.#reply.onGone(listener);
  }
}

/** Where events go when there is no stream any more. */
const nowhere: EventSink = { write: () => undefined, end() {}, destroy() {}, backlog: 0 };

const unclear = refusal(503, "cannot tell now who sends this; come again", { "retry-after": "5" });

function withHeaders({ status, headers, body }: HttpAnswer, more: HttpHeaders): HttpAnswer {
  return { status, headers: { ...headers, ...more }, body };
}

function scopesIn(data: Json | undefined): readonly string[] {
  const scopes = isObject(data) ? data.scopes : undefined;
  return Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === "string") : [];
}

/** What a function of somebody else gives is not always what its type says. */
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
