import { sseComment } from "../../std/sse.ts";
import type { Heartbeat, HeartbeatListener } from "./heartbeat.ts";
import { type EventSink, type HttpHeaders, type HttpReply, streamHeaders } from "./http-message.ts";

/** What all streams of one endpoint have in common. */
export interface SinkRules {
  readonly heartbeat: Heartbeat;
  /** A client that leaves more than this unread, besides the message it has to read first, is cut off. 0 is off. */
  readonly maxQueuedBytes: number;
  /** Hears that a client was cut off, and why. */
  dropped(reason: string): void;
}

/** What writes to a stream as long as its client is there. */
export interface SinkUser {
  attach(sink: EventSink): void;
  /** The client is gone. */
  detach(sink: EventSink): void;
}

/** Opens a stream that is kept alive, and cut off when its client does not read. */
export function openLiveSink(
  reply: HttpReply,
  rules: SinkRules,
  headers: HttpHeaders = noHeaders,
  user?: SinkUser,
): EventSink {
  const sink = new LiveSink(reply.open({ ...streamHeaders, ...headers }), rules, user);
  user?.attach(sink);
  reply.onGone(() => sink.leave());
  return sink;
}

const noHeaders: HttpHeaders = Object.freeze({});

const keepAlive = sseComment("");

class LiveSink implements EventSink, HeartbeatListener {
  previous: HeartbeatListener | undefined = undefined;
  next: HeartbeatListener | undefined = undefined;
  readonly #sink: EventSink;
  readonly #rules: SinkRules;
  readonly #user: SinkUser | undefined;
  /** Whether something was written since the last beat. */
  #spoke = true;
  /** Beats since the client last had caught up. */
  #behind = 0;
  #slow: Promise<void> | undefined;
  /** As much as may be unread, now that the client is behind. */
  #limit = Number.POSITIVE_INFINITY;
  #open = true;

  constructor(sink: EventSink, rules: SinkRules, user: SinkUser | undefined) {
    this.#sink = sink;
    this.#rules = rules;
    this.#user = user;
    rules.heartbeat.add(this);
  }

  write(text: string): Promise<void> | undefined {
    if (!this.#open) return undefined;
    this.#spoke = true;
    const slow = this.#sink.write(text);
    if (slow === undefined) return undefined;
    if (this.#slow !== slow) {
      void this.#watch(slow);
    } else if (this.#sink.backlog > this.#limit) {
      this.#cut(`a client left more than ${this.#rules.maxQueuedBytes} bytes unread`);
      return undefined;
    }
    return slow;
  }

  end(text?: string): void {
    if (!this.#open) return;
    this.#close();
    this.#sink.end(text);
  }

  destroy(): void {
    this.#close();
    this.#sink.destroy();
  }

  get backlog(): number {
    return this.#sink.backlog;
  }

  /** The client is gone. */
  leave(): void {
    this.#close();
    this.#user?.detach(this);
  }

  beat(): void {
    const isStalled = this.#sink.isStalled?.() === true;
    if (!isStalled && this.#slow === undefined) this.#behind = 0;
    else if (++this.#behind > 2) return void this.#cut("a client did not read for too long");
    if (!this.#spoke && this.#slow === undefined) this.write(keepAlive);
    this.#spoke = false;
  }

  async #watch(slow: Promise<void>): Promise<void> {
    const { maxQueuedBytes } = this.#rules;
    this.#slow = slow;
    this.#limit = maxQueuedBytes > 0 ? this.#sink.backlog + maxQueuedBytes : Number.POSITIVE_INFINITY;
    await slow;
    if (this.#slow !== slow) return;
    this.#slow = undefined;
    this.#behind = 0;
  }

  #cut(reason: string): void {
    this.destroy();
    this.#rules.dropped(reason);
  }

  #close(): void {
    this.#open = false;
    this.#rules.heartbeat.delete(this);
  }
}
