import type { Channel, Sender } from "../../../jsonrpc/channel.ts";
import type { Exchange } from "../../../jsonrpc/inbound.ts";
import {
  encodeMessage,
  type Incoming,
  type Message,
  type Notification,
  type Parsed,
} from "../../../jsonrpc/message.ts";
import { createPeer, type PeerHandlers, type RpcPeer } from "../../../jsonrpc/peer.ts";
import type { Feed, FeedOptions } from "../../../legacy/feed.ts";
import { createServerSession, type ResumableSession } from "../../../legacy/server-session.ts";
import type { SessionRecord } from "../../../legacy/session-record.ts";
import type { DiscoverResult } from "../../../model/methods.ts";
import type { Service } from "../../../model/service.ts";
import type { Clock } from "../../../std/clock.ts";
import type { Deadlines } from "../../../std/deadlines.ts";
import { createGate } from "../../../std/gate.ts";
import type { HttpFacts } from "../../../std/http-facts.ts";
import type { HttpHeaders } from "../http-message.ts";
import type { EventSink, HttpReply } from "../http-reply.ts";
import { openLiveSink, type SinkRules } from "../live-sink.ts";
import type { Pulse } from "../pulse.ts";
import type { AnswerStream, PostRules } from "./post-way.ts";

/** What sessions need for their calls. */
export interface CallRules extends SinkRules {
  readonly service: Service;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly maxConcurrent: number;
  readonly maxOpen: number;
  readonly askTimeoutMs: number;
  readonly drainMs: number;
  readonly alwaysStream: boolean;
  discover(http?: HttpFacts): Promise<DiscoverResult>;
}

/** What stays of a session when nothing is going on. */
export interface SessionHome {
  /** A stream for the answers to what was posted. */
  createStream(posted: Parsed): AnswerStream;
  /** Begins the ids of questions, where they are asked by several processes. */
  readonly idPrefix?: string | undefined;
  /** True when the client understands a stream that ends early. */
  readonly primes: boolean;
  readonly feed: Feed | undefined;
  createFeed(options: FeedOptions): Feed;
  /** Writes what belongs to no call. */
  tell(text: string): Promise<void> | undefined;
  /** Hears that no POST waits for an answer. */
  calmed(): void;
  /** Hears that nothing more is to be said. */
  ended(): void;
}

/** What a session needs while something is going on: a peer with its requests, the calls that run, the way of each. */
export class ActiveSession implements Channel, PeerHandlers, PostRules {
  readonly incoming: AsyncIterable<readonly Incoming[]> = nothing;
  readonly pulse: Pulse;
  readonly alwaysStream: boolean;
  readonly rpc: RpcPeer;
  readonly session: ResumableSession;
  readonly #home: SessionHome;
  readonly #rules: CallRules;
  /** POSTs that wait for an answer. */
  calls = 0;
  /** True when it was used since somebody looked. */
  used = true;

  /** Goes on from a record, else waits for `initialize`. */
  constructor(home: SessionHome, rules: CallRules, record?: SessionRecord) {
    const { service, clock, deadlines, maxOpen, drainMs, askTimeoutMs } = rules;
    this.#home = home;
    this.#rules = rules;
    this.pulse = rules.pulse;
    this.alwaysStream = rules.alwaysStream;
    const ids = { firstId: record?.nextId, idPrefix: home.idPrefix };
    this.rpc = createPeer(this, this, { maxOpen, drainMs, clock, deadlines, ...ids });
    this.session = createServerSession({
      service,
      peer: this.rpc,
      gate: createGate({ maxRunning: rules.maxConcurrent, maxWaiting: Number.POSITIVE_INFINITY }),
      clock,
      askTimeoutMs,
      discover: rules.discover,
      createFeed: (options) => home.createFeed(options),
      resume: record === undefined || home.feed === undefined ? undefined : { record, feed: home.feed },
    });
  }

  /** True while it cannot be done without. */
  get busy(): boolean {
    return this.calls > 0 || this.session.busy || this.rpc.isBusy();
  }

  request(exchange: Exchange): Promise<void> | undefined {
    return this.session.request(exchange);
  }

  notification(notification: Notification): void {
    this.session.notification(notification);
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

  get resumable(): boolean {
    return this.#home.primes;
  }

  createStream(posted: Parsed): AnswerStream {
    return this.#home.createStream(posted);
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
