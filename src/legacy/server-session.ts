import type { Decoded, LegacyServerCodec, Session } from "../codec/codec.ts";
import { legacyServer } from "../codec/legacy-server.ts";
import type { JsonObject } from "../json/json.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { Notification } from "../jsonrpc/message.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import { type ErrorCode, type Failure, McpError, toFailure } from "../model/errors.ts";
import type { DiscoverResult } from "../model/methods.ts";
import type { ServerCapabilities } from "../model/peer.ts";
import { isLegacy, isRevision, type LegacyRevision, newestLegacy, type Revision } from "../model/revision.ts";
import type { Service } from "../model/service.ts";
import type { Clock } from "../std/clock.ts";
import type { Gate } from "../std/gate.ts";
import type { HttpFacts } from "../std/http-facts.ts";
import { createFeed, type Feed, type FeedOptions } from "./feed.ts";
import { LiveAnswering, type LiveDesk } from "./live-answering.ts";
import { sessionMethods } from "./session-methods.ts";
import type { SessionRecord } from "./session-record.ts";

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

/** A session that another one can take over from. */
export interface ResumableSession extends ServerSession {
  /** True while a handler runs, also for a call that was cancelled. */
  readonly busy: boolean;
  /** What another session needs to go on, once the handshake is over. */
  record(): SessionRecord | undefined;
  /** Goes on with what was agreed on elsewhere. */
  adopt(agreed: Pick<SessionRecord, "ready" | "logLevel">): void;
}

export interface ServerSessionOptions {
  readonly service: Service;
  /** Reaches the client, for questions and for news. */
  readonly peer: Pick<RpcPeer, "request" | "notify" | "nextId">;
  readonly gate: Gate;
  readonly clock: Clock;
  /** How long a client may take to answer a question. */
  readonly askTimeoutMs: number;
  /** What the service says of itself to who sent a request. */
  discover(http?: HttpFacts): Promise<DiscoverResult>;
  /** Makes what tells the client of changes. Default: a feed of its own. */
  createFeed?(options: FeedOptions): Feed;
  /** A session to go on from, and its feed. The peer must go on with its ids. */
  readonly resume?: { readonly record: SessionRecord; readonly feed: Feed } | undefined;
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
  /** What the client was told of the server. */
  readonly capabilities: ServerCapabilities;
  readonly feed: Feed;
}

export function createServerSession(options: ServerSessionOptions): ResumableSession {
  return new HandshakeSession(options);
}

const fresh: State = { status: "fresh" };

class HandshakeSession implements ResumableSession {
  readonly #options: ServerSessionOptions;
  #state: State;
  #running = 0;
  readonly #desk: LiveDesk;

  constructor(options: ServerSessionOptions) {
    this.#options = options;
    const { service, peer, gate, clock, askTimeoutMs } = options;
    const onOver = (): void => {
      this.#running--;
    };
    this.#desk = { service, peer, gate, clock, askTimeoutMs, onOver };
    this.#state = options.resume === undefined ? fresh : resumed(options.resume.record, options.resume.feed);
  }

  request(exchange: Exchange): Promise<void> | undefined {
    const { method } = exchange.request;
    if (method === "ping") return void exchange.succeed({});
    if (method === "initialize") return this.#greet(exchange);
    if (this.#state.status !== "ready") return refuse(exchange, "invalid-request", "not initialized");
    const { link } = this.#state;
    return this.#adjust(exchange, link) ? undefined : this.#serve(exchange, link);
  }

  notification({ method }: Notification): void {
    if (this.#state.status !== "greeted" || !isInitialized(method)) return;
    const { link } = this.#state;
    this.#ready(link);
    void link.feed.start();
  }

  acceptsBatches(): boolean {
    return this.revision === "2025-03-26";
  }

  get greeted(): boolean {
    return this.#state.status !== "fresh";
  }

  get revision(): Revision | undefined {
    return linkOf(this.#state)?.codec.revision;
  }

  get busy(): boolean {
    return this.#running > 0;
  }

  record(): SessionRecord | undefined {
    const link = linkOf(this.#state);
    if (link === undefined) return undefined;
    return {
      peer: link.session.peer,
      capabilities: link.capabilities,
      ready: this.#state.status === "ready",
      logLevel: link.session.logLevel,
      subscriptions: link.feed.subscriptions(),
      nextId: this.#options.peer.nextId(),
    };
  }

  adopt({ ready, logLevel }: Pick<SessionRecord, "ready" | "logLevel">): void {
    const link = linkOf(this.#state);
    if (link === undefined) return;
    const status = ready || this.#state.status === "ready" ? "ready" : "greeted";
    this.#state = { status, link: { ...link, session: { ...link.session, logLevel } } };
  }

  close(): void {
    linkOf(this.#state)?.feed.stop();
  }

  async #greet(exchange: Exchange): Promise<void> {
    const { protocolVersion } = exchange.request.params;
    if (this.#state.status !== "fresh") return refuse(exchange, "invalid-request", "already initialized");
    if (typeof protocolVersion !== "string") {
      return refuse(exchange, "invalid-params", "params.protocolVersion must be a string");
    }
    this.#state = { status: "greeting" };
    const codec = legacyServer(offer(protocolVersion));
    try {
      const server = await this.#options.discover(exchange.via.http);
      const link = this.#meet(codec, exchange.request.params, server);
      this.#state = { status: "greeted", link };
      exchange.succeed(codec.encodeWelcome(server));
    } catch (error) {
      this.#state = fresh;
      exchange.fail(codec.encodeFailure(tellable(error)));
    }
  }

  #meet(codec: LegacyServerCodec, hello: JsonObject, { capabilities }: DiscoverResult): Link {
    const { service, peer, createFeed: create = createFeed } = this.#options;
    const stated = codec.decodeHello(hello);
    const client = { revision: codec.revision, info: stated.info, capabilities: stated.capabilities };
    const feed = create({ service, codec, peer: client, capabilities, send: peer.notify });
    return { codec, capabilities, feed, session: { peer: client, logLevel: "info" } };
  }

  #ready(link: Link): void {
    this.#state = { status: "ready", link };
  }

  /** Requests for the session, not for the service. */
  #adjust(exchange: Exchange, link: Link): boolean {
    const { method, params } = exchange.request;
    const change = sessionMethods.get(method);
    if (change === undefined) return false;
    const finish = (done: Decoded<JsonObject>): void => {
      if (done.ok) exchange.succeed(done.value);
      else exchange.fail(link.codec.encodeFailure(done.failure));
    };
    const done = change(params, {
      capabilities: link.capabilities,
      feed: link.feed,
      setLogLevel: (logLevel) => this.#ready({ ...link, session: { ...link.session, logLevel } }),
    });
    if (done instanceof Promise) void done.then(finish);
    else finish(done);
    return true;
  }

  /** Answers a call of the service. A promise holds back the reading of more. */
  #serve(exchange: Exchange, { codec, session }: Link): Promise<void> | undefined {
    const decoded = codec.decodeCall(exchange.request, session);
    if (!decoded.ok) return void exchange.refuse(codec.encodeFailure(decoded.failure));
    const answering = new LiveAnswering(this.#desk, codec, exchange, decoded.value);
    const work = (): Promise<void> => {
      this.#running++;
      return answering.run();
    };
    if (decoded.value.row.runs === true) return this.#options.gate.run(work);
    void work();
    return undefined;
  }
}

/** The state of a session that goes on. */
function resumed({ peer, capabilities, ready, logLevel }: SessionRecord, feed: Feed): State {
  const codec = legacyServer(offer(peer.revision));
  return { status: ready ? "ready" : "greeted", link: { codec, capabilities, feed, session: { peer, logLevel } } };
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
