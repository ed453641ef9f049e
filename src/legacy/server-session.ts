import { answerCall } from "../codec/answer.ts";
import type { Decoded, LegacyServerCodec, Session } from "../codec/codec.ts";
import { legacyServer } from "../codec/legacy-server.ts";
import type { JsonObject } from "../json/json.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { Notification } from "../jsonrpc/message.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import { type ErrorCode, type Failure, McpError, toFailure } from "../model/errors.ts";
import { type DiscoverResult, methodRow } from "../model/methods.ts";
import { isLegacy, isRevision, type LegacyRevision, newestLegacy, type Revision } from "../model/revision.ts";
import type { Ask, Call, Outcome, Service } from "../model/service.ts";
import type { Clock } from "../std/clock.ts";
import type { Gate } from "../std/gate.ts";
import { askThenServe } from "./ask-then-serve.ts";
import { type Asker, createAsker } from "./asker.ts";
import { createFeed, type Feed } from "./feed.ts";
import { sessionMethods } from "./session-methods.ts";

/** The server's end of a connection that opens with `initialize`. */
export interface ServerSession {
  /** Answers a request. A promise holds back the reading of more. */
  request(exchange: Exchange): Promise<void> | undefined;
  notification(notification: Notification): void;
  acceptsBatches(): boolean;
  /** True once `initialize` has arrived. */
  readonly greeted: boolean;
  /** What was agreed on. */
  readonly revision: Revision | undefined;
  /** Tells the client nothing more. */
  close(): void;
}

export interface ServerSessionOptions {
  readonly service: Service;
  /** Reaches the client, for questions and for news. */
  readonly peer: Pick<RpcPeer, "request" | "notify">;
  readonly gate: Gate;
  readonly clock: Clock;
  /** How long a client may take to answer a question. */
  readonly askTimeoutMs: number;
  /** What the service says of itself. */
  discover(): Promise<DiscoverResult>;
}

type State =
  | { readonly status: "fresh" }
  | { readonly status: "greeting" }
  | { readonly status: "greeted"; readonly link: Link }
  | { readonly status: "ready"; readonly link: Link };

/** What the handshake settled. */
interface Link {
  readonly codec: LegacyServerCodec;
  readonly session: Session;
  readonly server: DiscoverResult;
  readonly feed: Feed;
}

export function createServerSession(options: ServerSessionOptions): ServerSession {
  const { service, peer, discover } = options;
  let state: State = { status: "fresh" };

  const meet = async (codec: LegacyServerCodec, hello: JsonObject): Promise<Link> => {
    const { info, capabilities } = codec.decodeHello(hello);
    const client = { revision: codec.revision, info, capabilities };
    const server = await discover();
    const feed = createFeed({
      service,
      codec,
      peer: client,
      capabilities: server.capabilities,
      send: peer.notify,
    });
    return { codec, server, feed, session: { peer: client, logLevel: "info" } };
  };

  const greet = async (exchange: Exchange): Promise<void> => {
    const { protocolVersion } = exchange.request.params;
    if (state.status !== "fresh") return refuse(exchange, "invalid-request", "already initialized");
    if (typeof protocolVersion !== "string") {
      return refuse(exchange, "invalid-params", "params.protocolVersion must be a string");
    }
    state = { status: "greeting" };
    const codec = legacyServer(offer(protocolVersion));
    try {
      const link = await meet(codec, exchange.request.params);
      state = { status: "greeted", link };
      exchange.succeed(codec.encodeWelcome(link.server));
    } catch (error) {
      state = { status: "fresh" };
      exchange.fail(codec.encodeFailure(tellable(error)));
    }
  };

  const ready = (link: Link): void => {
    state = { status: "ready", link };
  };

  /** Requests for the session, not for the service. */
  const adjust = (exchange: Exchange, link: Link): boolean => {
    const { method, params } = exchange.request;
    const finish = (done: Decoded<JsonObject>): void => {
      if (done.ok) exchange.succeed(done.value);
      else exchange.fail(link.codec.encodeFailure(done.failure));
    };
    const done = sessionMethods.get(method)?.(params, {
      capabilities: link.server.capabilities,
      feed: link.feed,
      setLogLevel: (logLevel) => ready({ ...link, session: { ...link.session, logLevel } }),
    });
    if (done instanceof Promise) void done.then(finish);
    else if (done !== undefined) finish(done);
    return done !== undefined;
  };

  return {
    request(exchange) {
      const { method } = exchange.request;
      if (method === "ping") return void exchange.succeed({});
      if (method === "initialize") return greet(exchange);
      if (state.status !== "ready") return refuse(exchange, "invalid-request", "not initialized");
      const { link } = state;
      return adjust(exchange, link) ? undefined : serve(exchange, link, options);
    },
    notification({ method }) {
      if (state.status !== "greeted" || !isInitialized(method)) return;
      const { link } = state;
      ready(link);
      void link.feed.start();
    },
    acceptsBatches: () => linkOf(state)?.codec.revision === "2025-03-26",
    get greeted() {
      return state.status !== "fresh";
    },
    get revision() {
      return linkOf(state)?.codec.revision;
    },
    close: () => linkOf(state)?.feed.stop(),
  };
}

/** Answers a call of the service. A promise holds back the reading of more. */
function serve(exchange: Exchange, { codec, session }: Link, options: ServerSessionOptions): Promise<void> | undefined {
  const { service, peer, gate, clock, askTimeoutMs } = options;
  const decoded = codec.decodeCall(exchange.request, session);
  if (!decoded.ok) return void exchange.refuse(codec.encodeFailure(decoded.failure));
  const runs = methodRow(exchange.request.method).runs === true;
  let asker: Asker | undefined;
  // Most calls ask nothing.
  const ask: Ask = (question) => {
    asker ??= createAsker({ peer, codec, askTimeoutMs, gate: runs ? gate : undefined }, exchange);
    return asker.ask(question);
  };
  const work = async (): Promise<void> => {
    const run = (call: Call): Promise<Outcome> => askThenServe(service, call, ask, clock);
    await answerCall(exchange, decoded.value, { codec, ask, serve: run });
    asker?.close();
  };
  if (runs) return gate.run(work);
  void work();
  return undefined;
}

function linkOf(state: State): Link | undefined {
  return "link" in state ? state.link : undefined;
}

/** A revision the client asked for and we speak, else the newest that has a handshake. */
function offer(asked: string): LegacyRevision {
  return isRevision(asked) && isLegacy(asked) ? asked : newestLegacy;
}

/** Some clients of the first days left out the prefix. */
function isInitialized(method: string): boolean {
  return method === "notifications/initialized" || method === "initialized";
}

/** Before the handshake no codec is chosen, but all of them agree on these codes. */
function refuse(exchange: Exchange, code: ErrorCode, message: string): undefined {
  exchange.refuse(legacyServer(newestLegacy).encodeFailure({ code, message }));
  return undefined;
}

/** What a client may know of a service that cannot say what it is. */
function tellable(error: unknown): Failure {
  if (error instanceof McpError) return toFailure(error);
  console.error("plugbay: the service does not say what it is:", error);
  return { code: "internal", message: "internal error" };
}
