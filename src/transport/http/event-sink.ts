import type { Account, Shortage } from "../../protocol/budget.ts";
import { toLimitError } from "../../protocol/limit-error.ts";
import { sseComment } from "../../std/sse.ts";
import type { Heartbeat, HeartbeatListener } from "./heartbeat.ts";
import { type EventSink, type GoneListener, type HttpHeaders, type HttpReply, streamHeaders } from "./http-message.ts";

/** What all streams of one endpoint have in common. */
export interface SinkRules {
  readonly heartbeat: Heartbeat;
  /** A client that leaves more than this unread, besides the message it has to read first, is cut off. */
  readonly maxUnreadBytes: number;
  /** Called when a client was cut off, with the reason. */
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
  const sink = new LiveSink(reply.open({ ...streamHeaders, ...headers }), rules, reply.caller.share, user);
  user?.attach(sink);
  reply.onGone(sink);
  return sink;
}

const noHeaders: HttpHeaders = Object.freeze({});

const keepAlive = sseComment("");

class LiveSink implements EventSink, GoneListener, HeartbeatListener {
  previous: HeartbeatListener | undefined = undefined;
  next: HeartbeatListener | undefined = undefined;
  readonly #sink: EventSink;
  readonly #rules: SinkRules;
  readonly #share: Account;
  readonly #user: SinkUser | undefined;
  /** Bytes that the client has not read, as far as they are counted. */
  #unread = 0;
  /** Whether something was written since the last beat. */
  #spoke = true;
  /** Beats since the client last had caught up. */
  #behind = 0;
  #slow: Promise<void> | undefined;
  /** As much as may be unread, now that the client is behind. */
  #limit: number | undefined;
  #open = true;

  constructor(sink: EventSink, rules: SinkRules, share: Account, user: SinkUser | undefined) {
    this.#sink = sink;
    this.#share = share;
    this.#rules = rules;
    this.#user = user;
    rules.heartbeat.add(this);
  }

  write(text: string): Promise<void> | undefined {
    if (!this.#open) return undefined;
    this.#spoke = true;
    const slow = this.#sink.write(text);
    if (slow === undefined) return undefined;
    const short = this.#count();
    if (this.#slow !== slow) {
      void this.#watch(slow);
      return slow;
    }
    if (this.#limit !== undefined && this.#sink.backlog > this.#limit)
      this.#cut(`a client left more than ${this.#rules.maxUnreadBytes} bytes unread`);
    else if (short !== undefined) this.#cut(`a client left too much unread: ${toLimitError(short).message}`);
    else return slow;
    return undefined;
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
  gone(): void {
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
    const { maxUnreadBytes } = this.#rules;
    this.#slow = slow;
    this.#limit = this.#sink.backlog + maxUnreadBytes;
    await slow;
    if (this.#slow !== slow) return;
    this.#giveBack();
    this.#slow = undefined;
    this.#behind = 0;
  }

  /** Counts what is unread. Says when the client has used up a share of its own: others do not lose theirs for it. */
  #count(): Shortage | undefined {
    const more = this.#sink.backlog - this.#unread;
    if (more <= 0) return undefined;
    const short = this.#share.shortage("heldBytes", more);
    this.#share.add("heldBytes", more);
    this.#unread += more;
    return short?.scope === "process" ? undefined : short;
  }

  #giveBack(): void {
    if (this.#unread > 0) this.#share.give("heldBytes", this.#unread);
    this.#unread = 0;
  }

  #cut(reason: string): void {
    this.destroy();
    this.#rules.dropped(reason);
  }

  #close(): void {
    this.#giveBack();
    this.#open = false;
    this.#rules.heartbeat.delete(this);
  }
}
