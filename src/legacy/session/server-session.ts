import type { JsonObject } from "../../json/json.ts";
import type { Sender } from "../../jsonrpc/channel.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import type { Notification } from "../../jsonrpc/message.ts";
import type { RpcPeer } from "../../jsonrpc/peer.ts";
import { authOf } from "../../protocol/authenticator.ts";
import type { Decoded } from "../../protocol/codec/codec.ts";
import { type ErrorCode, type Failure, McpError, toFailure } from "../../protocol/errors.ts";
import { toLimitFailure } from "../../protocol/limit-error.ts";
import type { LogLevel } from "../../protocol/logging.ts";
import type { DiscoverResult } from "../../protocol/methods.ts";
import { type Auth, type ClientInfo, type ServerCapabilities, session as sessionKey } from "../../protocol/peer.ts";
import { isLegacy, isRevision, type LegacyRevision, newestLegacy, type Revision } from "../../protocol/revision.ts";
import { type CallOrigin, createRequestId, type Service } from "../../protocol/service.ts";
import { beginSession, endSession, withSession } from "../../protocol/session.ts";
import type { Clock } from "../../std/clock.ts";
import { createNotificationQueue, maxNotifications, type NotificationQueue } from "../../transport/answer-call.ts";
import type { Caller } from "../../transport/caller.ts";
import type { LegacySession } from "../../transport/legacy-server.ts";
import { type LegacyServerCodec, notInitialized, type Session } from "../codec/codec.ts";
import { legacyServer } from "../codec/server-codec.ts";
import { createFeed, type Feed, type FeedOptions } from "./change-feed.ts";
import type { BegunTask } from "./follow-task.ts";
import { LiveAnswering, type LiveCallHandler } from "./live-call.ts";
import { sessionMethods } from "./session-methods.ts";

/** The server's end of a connection that opens with `initialize`. */
export interface ServerSession extends LegacySession {
  /** What was agreed on. */
  readonly revision: Revision | undefined;
}

/** A session that another one can continue. */
export interface ResumableSession extends ServerSession {
  /** True while a handler runs, also for a call that was cancelled. */
  readonly busy: boolean;
  /** The state that another session needs to continue, once the handshake is over. */
  record(): SessionRecord | undefined;
  /** Continues with the handshake of another session. */
  adopt(agreed: Pick<SessionRecord, "ready" | "logLevel">): void;
}

export interface ServerSessionOptions {
  readonly service: Service;
  /** Sends questions and notifications to the client. */
  readonly peer: Pick<RpcPeer, "request" | "notify">;
  /** Whose shares are taken for calls and subscriptions. */
  readonly caller: Caller;
  /** Characters of a URI that is subscribed to. */
  readonly maxUriLength: number;
  readonly clock: Clock;
  /** What the service says of itself to a client. */
  discover(client: CallOrigin): Promise<DiscoverResult>;
  /** Creates the change notifications of the client. Default: a feed of its own. */
  createFeed?(options: FeedOptions): Feed;
  /** The id of a session that its creator also ends. Default: one of its own, which ends when it is closed. */
  readonly sessionId?: string | undefined;
  /** A session to go on from, and its feed. The peer must not use its ids again. */
  readonly resume?: Resume | undefined;
}

interface Resume {
  readonly record: SessionRecord;
  readonly feed: Feed;
}

/** A service that says how long a client may take to answer a question. */
interface KnowsAskTimeout {
  readonly askTimeoutMs?: number | undefined;
}

/** As long as a server has by default. */
const ASK_TIMEOUT_MS = 600_000;

type State =
  | { readonly status: "fresh" }
  | { readonly status: "initializing" }
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
  #isClosed = false;
  #notifications: NotificationQueue | undefined;
  readonly #handler: LiveCallHandler;

  constructor(options: ServerSessionOptions) {
    this.#options = options;
    const { service, peer, caller, clock } = options;
    const { askTimeoutMs = ASK_TIMEOUT_MS } = service as Service & KnowsAskTimeout;
    const onOver = (): void => {
      this.#running--;
    };
    const onPage = (id: string): void => linkOf(this.#state)?.feed.expect(id);
    const onTask = (task: BegunTask, { via }: IncomingRequest): void => {
      linkOf(this.#state)?.feed.follow(task, authOf(via.http));
    };
    this.#handler = { service, peer, gate: caller.gate, clock, askTimeoutMs, onPage, onTask, onOver };
    this.#state = options.resume === undefined ? fresh : resumed(options, options.resume);
  }

  request(incoming: IncomingRequest): Promise<void> | undefined {
    const { method } = incoming.request;
    if (method === "ping") return void incoming.succeed({});
    if (method === "initialize") return this.#greet(incoming);
    if (this.#state.status !== "ready") return refuse(incoming, "invalid-request", notInitialized);
    const { link } = this.#state;
    return this.#adjust(incoming, link) ? undefined : this.#serve(incoming, link);
  }

  notification(notification: Notification, via: Sender): void {
    const state = this.#state;
    if (state.status === "ready") {
      this.#onNotification(notification, via, state.link);
    } else if (state.status === "greeted" && isInitialized(notification.method)) {
      this.#ready(state.link);
      void state.link.feed.start();
    }
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
    const { [sessionKey]: _, ...peer } = link.session.peer;
    return {
      peer,
      capabilities: link.capabilities,
      ready: this.#state.status === "ready",
      logLevel: link.session.logLevel,
    };
  }

  adopt({ ready, logLevel }: Pick<SessionRecord, "ready" | "logLevel">): void {
    const link = linkOf(this.#state);
    if (link === undefined) return;
    const status = ready || this.#state.status === "ready" ? "ready" : "greeted";
    this.#state = { status, link: { ...link, session: { ...link.session, logLevel } } };
  }

  close(): void {
    const link = linkOf(this.#state);
    link?.feed.stop();
    if (!this.#isClosed && link !== undefined) this.#end(link.session.peer);
    this.#isClosed = true;
  }

  /** Reports the end of a session that has no other owner to the service. */
  #end({ [sessionKey]: session }: ClientInfo): void {
    const { sessionId, service } = this.#options;
    if (sessionId === undefined && session !== undefined) void endSession(service, session.id);
  }

  async #greet(incoming: IncomingRequest): Promise<void> {
    const { params } = incoming.request;
    if (this.#state.status !== "fresh") return refuse(incoming, "invalid-request", "already initialized");
    const codec = legacyServer(offer(params.protocolVersion));
    const decoded = codec.decodeInitializeRequest(params);
    if (!decoded.ok) return incoming.refuse(codec.encodeFailure(decoded.failure));
    this.#state = { status: "initializing" };
    const id = this.#options.sessionId ?? createRequestId();
    const client = withSession(this.#options.service, { revision: codec.revision, ...decoded.value }, id);
    const { http } = incoming.via;
    const auth = authOf(http);
    try {
      const server = await this.#options.discover({ peer: client, http });
      await beginSession(this.#options.service, { peer: auth === undefined ? client : { ...client, auth }, http });
      if (this.#isClosed) this.#end(client);
      const link = this.#meet(codec, client, server, auth);
      this.#state = { status: "greeted", link };
      incoming.succeed(codec.encodeInitializeResult(server));
    } catch (error) {
      this.#state = fresh;
      incoming.fail(codec.encodeFailure(tellable(error)));
    }
  }

  #meet(codec: LegacyServerCodec, client: ClientInfo, { capabilities }: DiscoverResult, auth?: Auth): Link {
    const { service, peer, caller, createFeed: create = createFeed } = this.#options;
    const listener = auth === undefined ? client : { ...client, auth };
    const feed = create({
      service,
      codec,
      peer: listener,
      capabilities,
      share: caller.share,
      send: peer.notify,
      logLevel: () => linkOf(this.#state)?.session.logLevel,
    });
    return { codec, capabilities, feed, session: { peer: client, logLevel: "info" } };
  }

  #ready(link: Link): void {
    this.#state = { status: "ready", link };
  }

  /** Requests for the session, not for the service. */
  #adjust(incoming: IncomingRequest, link: Link): boolean {
    const { method, params } = incoming.request;
    const change = sessionMethods.get(method);
    if (change === undefined) return false;
    const finish = (done: Decoded<JsonObject>): void => {
      if (done.ok) incoming.succeed(done.value);
      else incoming.fail(link.codec.encodeFailure(done.failure));
    };
    const done = change(params, {
      capabilities: link.capabilities,
      feed: link.feed,
      maxUriLength: this.#options.maxUriLength,
      auth: authOf(incoming.via.http),
      setLogLevel: (logLevel) => this.#ready({ ...link, session: { ...link.session, logLevel } }),
    });
    if (done instanceof Promise) void done.then(finish);
    else finish(done);
    return true;
  }

  #onNotification(notification: Notification, via: Sender, { codec, session }: Link): void {
    this.#notifications ??= createNotificationQueue(maxNotifications);
    const { gate } = this.#options.caller;
    this.#notifications.add({ gate, notification, via, source: session }, (incoming, wire) => {
      this.#running++;
      return new LiveAnswering(this.#handler, codec, incoming, wire).run();
    });
  }

  /** Answers a call of the service, now or when it has its turn. */
  #serve(incoming: IncomingRequest, { codec, session }: Link): Promise<void> | undefined {
    const decoded = codec.decodeCall(incoming.request, session);
    if (!decoded.ok) return incoming.refuse(codec.encodeFailure(decoded.failure));
    const answering = new LiveAnswering(this.#handler, codec, incoming, decoded.value);
    const work = (): Promise<void> => {
      this.#running++;
      return answering.run();
    };
    if (decoded.value.row.runs === true) {
      const short = this.#options.caller.gate.run(work, incoming);
      return short && incoming.fail(codec.encodeFailure(toLimitFailure(short)));
    }
    void work();
    return undefined;
  }
}

/** The state of a session that goes on. */
function resumed({ service, sessionId: id = "" }: ServerSessionOptions, { record, feed }: Resume): State {
  const { capabilities, ready, logLevel } = record;
  const peer = withSession(service, record.peer, id);
  const codec = legacyServer(offer(peer.revision));
  return { status: ready ? "ready" : "greeted", link: { codec, capabilities, feed, session: { peer, logLevel } } };
}

function linkOf(state: State): Link | undefined {
  return "link" in state ? state.link : undefined;
}

/** A revision the client asked for and we speak, else the newest that has a handshake. */
function offer(asked: unknown): LegacyRevision {
  return isRevision(asked) && isLegacy(asked) ? asked : newestLegacy;
}

/** Some clients of the first days left out the prefix. */
function isInitialized(method: string): boolean {
  return method === "notifications/initialized" || method === "initialized";
}

/** Before the handshake no codec is chosen, but all of them agree on these codes. */
function refuse(incoming: IncomingRequest, code: ErrorCode, message: string): Promise<void> | undefined {
  return incoming.refuse(legacyServer(newestLegacy).encodeFailure({ code, message }));
}

/** What a client may know of a service that cannot say what it is. */
function tellable(error: unknown): Failure {
  if (error instanceof McpError) return toFailure(error);
  console.error("plugbay: the service does not say what it is:", error);
  return { code: "internal", message: "internal error" };
}

/**
 * What there is to know of a session in which nothing is going on: plain data,
 * from which it can go on later, or elsewhere.
 */
export interface SessionRecord {
  /** The client, as it introduced itself. */
  readonly peer: ClientInfo;
  /** What the client was told of the server. */
  readonly capabilities: ServerCapabilities;
  /** True once the client has said that it is ready. */
  readonly ready: boolean;
  readonly logLevel: LogLevel | undefined;
}
