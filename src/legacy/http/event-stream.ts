import { encodeMessage } from "../../jsonrpc/message.ts";
import type { Clock } from "../../std/clock.ts";
import { sseEvent } from "../../std/sse.ts";
import type { EventSink } from "../../transport/http/http-message.ts";

/** What the streams of one session have in common. */
export interface StreamHome {
  readonly log: ReplayLog;
  readonly clock: Clock;
  /** Whether the client understands an event that has an id and nothing else. */
  readonly primes: boolean;
  /** How soon a client should come back. */
  readonly retryMs: number;
  /** Hears once that a stream has ended, and a client that comes back would find nothing. */
  emptied?(name: number): void;
}

interface EventStreamOptions extends StreamHome {
  /** Tells the streams of a session apart. */
  readonly name: number;
}

/**
 * The messages of one stream, whichever connections they are written to.
 *
 * A connection may break and another take its place: what was written meanwhile
 * is written then, before anything new, and nothing twice.
 */
export interface EventStream {
  readonly name: number;
  /** True while a connection is there. */
  readonly attached: boolean;
  /** True when nothing more will be written. */
  readonly ended: boolean;
  /** True when nothing follows this event, and nothing will. */
  isOver(number: number): boolean;
  /**
   * Writes a message, now or when the client is back. A promise means that the
   * client is slow, or away and has missed much: it resolves in time.
   */
  write(text: string): Promise<void> | undefined;
  /** The text of a stream with these messages and no others. It can be picked up where the connection breaks. */
  whole(texts: readonly string[]): string;
  /**
   * Goes on over another connection, from the event after `number`; without one, or
   * with one that no connection was given, from what no connection was given. Says so
   * if some of that, or more, is lost, and for a number that was not given.
   */
  attach(sink: EventSink, number?: number, moreLost?: boolean): void;
  /** The connection broke. Of no effect if another has taken its place. */
  detach(sink: EventSink): void;
  /** Ends the connection, not the stream. */
  hangUp(retryMs?: number): void;
  /** Ends the stream after what was written. */
  end(): void;
  /** An event is kept no longer. */
  forget(event: LoggedEvent): void;
}

/** The stream of answers that came alone and whole, each numbered by its own stream. Nothing follows any of them. */
export const ALONE = 0;

/** Events that a client may miss before who writes more has to wait. */
export const MAX_MISSED = 128;
/** How long that is. */
const MAX_WAIT_MS = 30_000;

export function createEventStream(options: EventStreamOptions): EventStream {
  return new NumberedStream(options.name, options);
}

/** There may be very many that do nothing: it holds no more than it must. */
export class NumberedStream implements EventStream {
  readonly name: number;
  readonly #home: StreamHome;
  readonly #primes: boolean;
  #last = 0;
  #written = 0;
  #lastForgotten = 0;
  #ended = false;
  #sink: EventSink | undefined;
  #waiting: Wait | undefined;

  constructor(name: number, home: StreamHome) {
    this.name = name;
    this.#home = home;
    this.#primes = home.primes;
  }

  get attached(): boolean {
    return this.#sink !== undefined;
  }

  get ended(): boolean {
    return this.#ended;
  }

  isOver(number: number): boolean {
    return this.#ended && number === this.#last;
  }

  write(text: string): Promise<void> | undefined {
    if (this.#ended) return undefined;
    const number = ++this.#last;
    this.#home.log.append({ stream: this.name, number, text });
    if (this.#sink === undefined) return number - this.#written > MAX_MISSED ? this.#wait() : undefined;
    this.#written = number;
    return this.#sink.write(this.#frame(number, text));
  }

  whole(texts: readonly string[]): string {
    if (!this.#primes && texts.length === 1) return this.#alone(texts[0] as string);
    let events = this.#primes ? this.#prime(0) : "";
    for (const text of texts) {
      const number = ++this.#last;
      this.#home.log.append({ stream: this.name, number, text, whole: true });
      events += this.#frame(number, text);
    }
    this.#written = this.#last;
    this.end();
    return events;
  }

  attach(next: EventSink, asked: number = this.#written, moreLost = false): void {
    const number = Math.min(asked, this.#written);
    this.#letGo();
    if (this.#primes) next.write(this.#prime(number));
    if (moreLost || asked > number || this.#lastForgotten > number) next.write(truncatedFrame);
    this.#replay(next, number);
    if (this.#ended) next.end();
    else this.#sink = next;
    this.#release();
  }

  detach(gone: EventSink): void {
    if (this.#sink === gone) this.#sink = undefined;
  }

  hangUp(ms: number = this.#home.retryMs): void {
    if (!this.#primes || this.#sink === undefined) return;
    this.#sink.write(retryFrame(ms));
    this.#letGo();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#letGo();
    this.#release();
    if (this.#lastForgotten === this.#last) this.#home.emptied?.(this.name);
  }

  forget({ number }: LoggedEvent): void {
    this.#lastForgotten = number;
    if (this.#ended && number === this.#last) this.#home.emptied?.(this.name);
  }

  /** Who has seen its id has it all, and who has not cannot ask for it: nothing is kept. */
  #alone(text: string): string {
    this.#ended = true;
    this.#home.emptied?.(this.name);
    return messageFrame(`${ALONE}-${this.name}`, text);
  }

  #prime(number: number): string {
    return primeFrame(`${this.name}-${number}`, this.#home.retryMs);
  }

  #frame(number: number, text: string): string {
    return messageFrame(`${this.name}-${number}`, text);
  }

  #replay(to: EventSink, number: number): void {
    // Looking for nothing in a long log would cost more than a call.
    const missed = number < this.#last ? this.#home.log.after(this.name, number) : [];
    for (const event of missed) to.write(this.#frame(event.number, event.text));
    this.#written = this.#last;
  }

  /** Ends the connection, if there is one. */
  #letGo(): void {
    this.#sink?.end();
    this.#sink = undefined;
  }

  /** Where a writer ends with its request, it cannot wait for a client to come back. */
  #wait(): Promise<void> | undefined {
    if (this.#home.clock.requestBound === true) return undefined;
    this.#waiting ??= createWait(this.#home.clock, () => {
      this.#waiting = undefined;
    });
    return this.#waiting.back;
  }

  #release(): void {
    this.#waiting?.release();
    this.#waiting = undefined;
  }
}

/** The time that a writer gives a client to come back. */
export interface Wait {
  readonly back: Promise<void>;
  release(): void;
}

/** `over` hears that the time is up. */
export function createWait(clock: Clock, over: () => void): Wait {
  let release = (): void => {};
  const back = new Promise<void>((resolve) => {
    const stop = clock.after(MAX_WAIT_MS, () => {
      over();
      resolve();
    });
    release = () => {
      stop();
      resolve();
    };
  });
  return { back, release };
}

/** A message as the event with this id. */
export function messageFrame(id: string | undefined, text: string): string {
  return sseEvent(id === undefined ? { data: text } : { id, data: text });
}

/** An event that has an id and no message: who breaks off after it knows where to go on. */
export function primeFrame(id: string, retryMs: number): string {
  return sseEvent({ id, data: "", retry: retryMs });
}

/** Tells the client when to come back. */
export function retryFrame(ms: number): string {
  return `retry: ${ms}\n\n`;
}

/** Tells the client that events it has missed are gone. */
export const truncatedFrame: string = sseEvent({
  data: encodeMessage({ kind: "notification", method: "notifications/replay_truncated", params: {} }),
});

/** One message on a stream, as it was or will be written. */
export interface LoggedEvent {
  /** The stream it belongs to. */
  readonly stream: number;
  /** Counts the events of the stream, from 1. */
  readonly number: number;
  readonly text: string;
  /** True when it was given to the connection together with all before it: nothing of its stream is still on its way. */
  readonly whole?: boolean;
}

/** The last events of one session, for clients that come back for what they missed. */
export interface ReplayLog {
  append(event: LoggedEvent): void;
  /** What followed on a stream, as far as it is known. */
  after(stream: number, number: number): readonly LoggedEvent[];
}

interface ReplayOptions {
  /** Events that are kept in any case. */
  readonly maxEvents: number;
  /** Characters that are kept at most. */
  readonly maxChars: number;
  readonly clock: Clock;
  /** Hears of an event that is kept no longer. */
  forgot(event: LoggedEvent): void;
}

/** What is younger than this may be on its way to a client whose connection is just breaking. */
const YOUNG_MS = 10_000;
const LONG_AGO = -YOUNG_MS - 1;

/**
 * Keeps events in memory: the last `maxEvents`, and more of them while they are
 * young, within `maxChars`. The newest is kept however long it is.
 */
export function createReplayLog(options: ReplayOptions): ReplayLog {
  return new MemoryLog(options);
}

class MemoryLog implements ReplayLog {
  readonly #options: ReplayOptions;
  readonly #events: (LoggedEvent & { readonly at: number })[] = [];
  #first = 0;
  #chars = 0;

  constructor(options: ReplayOptions) {
    this.#options = options;
  }

  append({ stream, number, text, whole }: LoggedEvent): void {
    // Whole milliseconds take less room.
    const at = whole === true ? LONG_AGO : Math.ceil(this.#options.clock.now());
    this.#events.push({ stream, number, text, at });
    this.#chars += text.length;
    this.#trim();
  }

  after(stream: number, number: number): readonly LoggedEvent[] {
    return this.#events.slice(this.#first).filter((event) => event.stream === stream && event.number > number);
  }

  #isFull(): boolean {
    const { maxEvents, maxChars, clock } = this.#options;
    const count = this.#events.length - this.#first;
    if (count <= 1) return false;
    if (this.#chars > maxChars) return true;
    return count > maxEvents && clock.now() - (this.#events[this.#first]?.at ?? 0) > YOUNG_MS;
  }

  #trim(): void {
    while (this.#isFull()) {
      const event = this.#events[this.#first++];
      if (event === undefined) return;
      this.#chars -= event.text.length;
      this.#options.forgot(event);
    }
    // Moving the rest to the front now and then keeps the cost of an event constant.
    if (this.#first < 1_024 || this.#first * 2 < this.#events.length) return;
    this.#events.splice(0, this.#first);
    this.#first = 0;
  }
}
