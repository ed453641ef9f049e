import type { Channel, Sender } from "../../jsonrpc/channel.ts";
import { createPeer } from "../../jsonrpc/create-peer.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import { encodeMessage, type Incoming, type Message, type Notification, type Parsed } from "../../jsonrpc/message.ts";
import type { PeerHandlers, RpcPeer } from "../../jsonrpc/peer.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import type { Caller } from "../../transport/caller.ts";
import { openLiveSink } from "../../transport/http/event-sink.ts";
import type { Heartbeat } from "../../transport/http/heartbeat.ts";
import type { EventSink, HttpHeaders, HttpReply } from "../../transport/http/http-message.ts";
import type { Feed, FeedOptions } from "../session/change-feed.ts";
import { createServerSession, type ResumableSession, type SessionRecord } from "../session/server-session.ts";
import { type AnswerStream, itemsOf, type PostRules } from "./post-response.ts";
import type { CallRules } from "./session-rules.ts";

/** The state of a session without activity. */
export interface ActiveSessionHost {
  readonly id: string;
  /** A stream for the answers to what was posted. */
  createStream(posted: Parsed, http: HttpRequestInfo): AnswerStream;
  /** The text of a stream with these messages and no others. */
  whole(texts: readonly string[], http: HttpRequestInfo): string;
  /** Begins the ids of questions. Each time something begins to go on, it is another one. */
  readonly idPrefix: string;
  /** True when the client understands a stream that ends early. */
  readonly primes: boolean;
  readonly feed: Feed | undefined;
  /** Whose shares its calls are taken of. */
  readonly caller: Caller;
  createFeed(options: FeedOptions): Feed;
  /** Writes what belongs to no call. */
  tell(text: string): Promise<void> | undefined;
  /** Called when no POST waits for a response. */
  calmed(): void;
  /** Called when the session has ended. */
  ended(): void;
}

/** The activity of a session: a peer with its requests, the running calls, and the destination of each response. */
export class ActiveSession implements Channel, PeerHandlers, PostRules {
  readonly incoming: AsyncIterable<readonly Incoming[]> = nothing;
  readonly heartbeat: Heartbeat;
  readonly alwaysStream: boolean;
  readonly rpc: RpcPeer;
  readonly session: ResumableSession;
  readonly #home: ActiveSessionHost;
  readonly #rules: CallRules;
  /** POSTs that wait for an answer. */
  calls = 0;

  /** Continues from a record, else waits for `initialize`. */
  constructor(home: ActiveSessionHost, rules: CallRules, record?: SessionRecord) {
    const { service, clock, deadlines, ledger, drainMs } = rules;
    this.#home = home;
    this.#rules = rules;
    this.heartbeat = rules.heartbeat;
    this.alwaysStream = rules.alwaysStream;
    const ids = { firstId: record && 1, idPrefix: home.idPrefix };
    this.rpc = createPeer(this, this, {
      maxOpen: ledger.max("connection", "openRequests"),
      drainMs,
      clock,
      deadlines,
      ...ids,
    });
    this.session = createServerSession({
      service,
      peer: this.rpc,
      caller: home.caller,
      maxUriLength: rules.limits.maxUriLength,
      clock,
      discover: rules.discover,
      sessionId: home.id,
      createFeed: (options) => home.createFeed(options),
      resume: record === undefined || home.feed === undefined ? undefined : { record, feed: home.feed },
    });
  }

  /** True while it cannot be done without. */
  get busy(): boolean {
    return this.calls > 0 || this.session.busy || this.rpc.isBusy();
  }

  onRequest(incoming: IncomingRequest): Promise<void> | undefined {
    return this.session.request(incoming);
  }

  onNotification(notification: Notification, via: Sender): void {
    this.session.notification(notification, via);
  }

  acceptsBatches(): boolean {
    return this.session.acceptsBatches();
  }

  send(message: Message): Promise<void> | undefined {
    return this.#home.tell(encodeMessage(message));
  }

  async close(): Promise<void> {
    this.#home.ended();
  }

  get aside(): Sender {
    return this;
  }

  /** For what a POST brought that is not answered. */
  asideFor(http: HttpRequestInfo, { held }: HttpReply): Sender {
    return { http, send: (message) => this.send(message), hold: () => held.hold(), release: () => held.release() };
  }

  cancel(posted: Parsed): void {
    for (const item of itemsOf(posted)) {
      if (item.kind !== "request") continue;
      const params = { requestId: item.id, reason: "the platform ended the request" };
      this.rpc.receive({ kind: "notification", method: "notifications/cancelled", params }, this);
    }
  }

  get resumable(): boolean {
    return this.#home.primes;
  }

  createStream(posted: Parsed, http: HttpRequestInfo): AnswerStream {
    return this.#home.createStream(posted, http);
  }

  whole(texts: readonly string[], http: HttpRequestInfo): string {
    return this.#home.whole(texts, http);
  }

  openSink(to: HttpReply, headers: HttpHeaders): EventSink {
    return openLiveSink(to, this.#rules, headers);
  }

  done(): void {
    if (--this.calls === 0) this.#home.calmed();
  }
}

const nothing: AsyncIterable<readonly Incoming[]> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
};
