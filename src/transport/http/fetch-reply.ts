import type { HttpCaller } from "./fair-gate.ts";
import type { Heartbeat, HeartbeatListener } from "./heartbeat.ts";
import type { EventSink, GoneListener, HttpAnswer, HttpHeaders, HttpReply } from "./http-message.ts";
import { limitAnswer } from "./limit-answer.ts";
import { LARGE_BODY, RequestHold } from "./request-hold.ts";

/** A response that is not made yet: plain data, which any request may give. */
type Answered = HttpAnswer | { readonly status: number; readonly headers: HttpHeaders; readonly sink: FetchSink };

/**
 * The response to a `Request`.
 *
 * It may be written by another request than its own, as an answer to a question is in a session. Some platforms let no
 * request use the streams of another, so everything waits in plain data for the one that it belongs to.
 */
export class FetchReply implements HttpReply {
  readonly caller: HttpCaller;
  readonly held: RequestHold;
  readonly #rules: FetchRules;
  readonly #signal: AbortSignal;
  readonly #always: HttpHeaders;
  readonly #answered: Promise<Answered>;
  #answer: (answered: Answered) => void = () => {};
  readonly #listeners: GoneListener[] = [];
  readonly #lostListeners: (() => void)[] = [];
  /** Resolves when the response is complete, or its client has left. */
  readonly over: Promise<void>;
  #finish: () => void = () => {};
  #phase: "waiting" | "answered" | "gone" = "waiting";

  constructor(signal: AbortSignal, always: HttpHeaders, rules: FetchRules, caller: HttpCaller) {
    this.caller = caller;
    this.held = new RequestHold(caller.share);
    this.#rules = rules;
    this.#signal = signal;
    this.#always = always;
    this.over = new Promise((resolve) => {
      this.#finish = resolve;
    });
    void this.over.then(() => this.held.release());
    this.#answered = new Promise((resolve) => {
      this.#answer = resolve;
    });
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  /** To be called by the request itself, once. */
  async response(): Promise<Response> {
    const answered = await this.#answered;
    const finish = (): void => {
      this.#signal.removeEventListener("abort", this.#leave);
      this.#finish();
    };
    if ("sink" in answered) {
      const { sink, status, headers } = answered;
      return new Response(sink.toStream(this.#leave, finish), { status, headers });
    }
    finish();
    return toResponse(answered);
  }

  send(status: number, headers: HttpHeaders, body: string): void {
    if (this.#phase !== "waiting") return;
    this.#phase = "answered";
    const all = { ...headers, ...this.#always };
    const short = body.length > LARGE_BODY ? this.held.takeLarge(body.length) : undefined;
    if (short !== undefined) return void this.#answer(withHeaders(limitAnswer(short), this.#always));
    if (body.length <= LARGE_BODY) return void this.#answer({ status, headers: all, body });
    const { heartbeat, dropped } = this.#rules;
    const sink = new FetchSink({ ended() {}, cut: () => dropped("a client did not read for too long") });
    sink.end(body);
    const unread = new UnreadSink(sink, heartbeat);
    void this.over.then(() => unread.stop());
    this.#answer({ status, headers: all, sink });
  }

  open(headers: HttpHeaders): EventSink {
    const ended = (): void => {
      if (this.#phase === "waiting") this.#phase = "answered";
    };
    const sink = new FetchSink({ ended, cut: this.#leave });
    this.#answer({ sink, status: 200, headers: { ...headers, ...this.#always } });
    return sink;
  }

  onGone(listener: GoneListener): void {
    if (this.#phase === "gone") listener.gone();
    else this.#listeners.push(listener);
  }

  onLost(listener: () => void): void {
    this.#lostListeners.push(listener);
  }

  /** The platform has ended the request with all its work. */
  lose(): void {
    this.#leave();
    for (const listener of this.#lostListeners) listener();
  }

  readonly #leave = (): void => {
    if (this.#phase !== "waiting") return;
    this.#phase = "gone";
    for (const listener of this.#listeners) listener.gone();
    this.#answer({ status: 499, headers: {}, body: "" });
    this.#finish();
  };
}

function withHeaders({ status, headers, body }: HttpAnswer, more: HttpHeaders): HttpAnswer {
  return { status, headers: { ...headers, ...more }, body };
}

interface FetchRules {
  readonly heartbeat: Heartbeat;
  /** Called when a client was cut off, with the reason. */
  dropped(reason: string): void;
}

/** Ends a body of which nothing is read for three beats. */
class UnreadSink implements HeartbeatListener {
  previous: HeartbeatListener | undefined = undefined;
  next: HeartbeatListener | undefined = undefined;
  readonly #sink: FetchSink;
  readonly #heartbeat: Heartbeat;
  #beats = 0;

  constructor(sink: FetchSink, heartbeat: Heartbeat) {
    this.#sink = sink;
    this.#heartbeat = heartbeat;
    heartbeat.add(this);
  }

  beat(): void {
    this.#beats = this.#sink.isStalled() ? this.#beats + 1 : 0;
    if (this.#beats <= 2) return;
    this.stop();
    this.#sink.destroy();
  }

  stop(): void {
    this.#heartbeat.delete(this);
  }
}

interface SinkEvents {
  /** The stream has its last event. */
  ended(): void;
  /** The connection was cut by this side. */
  cut(): void;
}

/** More unread bytes than this make `write` return a promise. */
const HIGH_WATER = 65_536;

/** Events for a stream, which its reader takes from here. */
class FetchSink implements EventSink {
  readonly #encoder = new TextEncoder();
  readonly #events: SinkEvents;
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #state: "open" | "ended" | "closed" = "open";
  #destroy: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #room: Room | undefined;
  #wasRead = true;
  backlog = 0;

  constructor(events: SinkEvents) {
    this.#events = events;
  }

  /**
   * The stream, for the request that it belongs to, which waits here for events of other requests. `left` is called
   * when the client has left, `over` when nothing more is read.
   */
  toStream(left: () => void, over: () => void): ReadableStream<Uint8Array> {
    const close = (): void => {
      this.#close();
      over();
    };
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const destroyed = new Promise<void>((resolve) => {
            this.#destroy = resolve;
          });
          void destroyed.then(() => {
            controller.error(new Error("the client does not read"));
            over();
          });
          if (this.#state === "closed") this.#destroy?.();
          this.#room ??= createRoom();
        },
        pull: async (controller) => {
          while (this.#chunks.length === 0 && this.#state === "open") await this.#written();
          if (this.#state === "closed") return;
          if (this.#chunks.length > 0) controller.enqueue(this.#take());
          if (this.#state !== "ended") return;
          close();
          controller.close();
        },
        cancel: () => {
          close();
          left();
        },
      },
      { highWaterMark: 0 },
    );
  }

  write(text: string): Promise<void> | undefined {
    if (this.#state !== "open") return undefined;
    this.#add(text);
    if (this.backlog < HIGH_WATER) return undefined;
    this.#room ??= createRoom();
    return this.#room.wait;
  }

  end(text?: string): void {
    if (this.#state !== "open") return;
    this.#state = "ended";
    this.#add(text ?? "");
    this.#room?.release();
    this.#events.ended();
  }

  destroy(): void {
    if (this.#state === "closed") return;
    this.#close();
    this.#destroy?.();
    // As with sockets, the current writer is notified later.
    queueMicrotask(this.#events.cut);
  }

  isStalled(): boolean {
    const isStalled = this.backlog > 0 && !this.#wasRead;
    this.#wasRead = false;
    return isStalled;
  }

  #add(text: string): void {
    const chunk = this.#encoder.encode(text);
    if (chunk.length > 0) this.#chunks.push(chunk);
    this.backlog += chunk.length;
    this.#wake?.();
  }

  #written(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #take(): Uint8Array<ArrayBuffer> {
    const [only = none, ...more] = this.#chunks;
    const all = more.length === 0 ? only : joined(this.#chunks, this.backlog);
    this.#chunks = [];
    this.backlog = 0;
    this.#wasRead = true;
    this.#room?.release();
    // Whoever waits for room goes on in the request that made the promise: this one lasts as long as the stream.
    this.#room = createRoom();
    return all;
  }

  #close(): void {
    this.#state = "closed";
    this.#chunks = [];
    this.backlog = 0;
    this.#wake?.();
    this.#room?.release();
  }
}

const none = new Uint8Array();

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

interface Room {
  readonly wait: Promise<void>;
  release(): void;
}

function createRoom(): Room {
  let release = (): void => {};
  const wait = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { wait, release };
}

export function toResponse({ status, headers, body }: HttpAnswer): Response {
  return new Response(body === "" ? null : body, { status, headers });
}
