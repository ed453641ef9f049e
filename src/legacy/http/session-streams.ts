import type { Clock } from "../../std/clock.ts";
import { IdTable } from "../../std/id-table.ts";
import type { EventSink } from "../../transport/http/http-message.ts";
import {
  ALONE,
  createReplayLog,
  type EventStream,
  type LoggedEvent,
  NumberedStream,
  type ReplayLog,
  type StreamHome,
} from "./event-stream.ts";

export interface StreamsOptions {
  readonly clock: Clock;
  readonly retryMs: number;
  readonly replayEvents: number;
  readonly replayChars: number;
  /** Streams for news that may be read at the same time. */
  readonly maxStreams: number;
}

/** The streams of one session, by the ids of their events. */
export interface Streams {
  /** A stream for the answer to a POST. */
  create(): EventStream;
  /** The stream for what belongs to no call: one that is read, else the one that was read last. */
  news(): EventStream;
  /** True for the last event of a stream that has ended: who has it need not come back. */
  isOver(lastEventId: string): boolean;
  /** The stream that a GET asks for, and how to attach to it; undefined when too many are read. */
  find(lastEventId: string | undefined): Found | undefined;
  /** True while one is connected. */
  readonly attached: boolean;
  endAll(): void;
}

export interface Found {
  attach(sink: EventSink): void;
  /** The connection broke. */
  detach(sink: EventSink): void;
}

/** `primes` tells whether the client understands an event that has an id and nothing else. */
export function createStreams(options: StreamsOptions, primes: () => boolean): Streams {
  return new SessionStreams(options, primes);
}

class SessionStreams implements Streams, StreamHome {
  readonly #options: StreamsOptions;
  readonly #primes: () => boolean;
  /** Those whose connection broke last are at the end. */
  #news: readonly EventStream[] = none;
  #answers: IdTable<EventStream> | undefined;
  #names = 0;
  #log: ReplayLog | undefined;

  constructor(options: StreamsOptions, primes: () => boolean) {
    this.#options = options;
    this.#primes = primes;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  get retryMs(): number {
    return this.#options.retryMs;
  }

  get primes(): boolean {
    return this.#primes();
  }

  get log(): ReplayLog {
    this.#log ??= createReplayLog({
      maxEvents: this.#options.replayEvents,
      maxChars: this.#options.replayChars,
      clock: this.clock,
      forgot: (event) => this.#forget(event),
    });
    return this.#log;
  }

  get attached(): boolean {
    for (const stream of this.#all()) if (stream.attached) return true;
    return false;
  }

  create(): EventStream {
    const stream = new NumberedStream(++this.#names, this);
    this.#answers ??= new IdTable();
    this.#answers.add(stream.name, stream);
    return stream;
  }

  news(): EventStream {
    const last = this.#news.at(-1) ?? this.#addNews();
    return last.attached ? last : (this.#news.findLast(isAttached) ?? last);
  }

  isOver(lastEventId: string): boolean {
    const position = readEventId(lastEventId);
    if (position === undefined) return false;
    const { stream, number } = position;
    return stream === ALONE ? number <= this.#names : this.#named(stream)?.isOver(number) === true;
  }

  find(lastEventId: string | undefined): Found | undefined {
    const position = lastEventId === undefined ? undefined : readEventId(lastEventId);
    const known = position === undefined ? undefined : this.#named(position.stream);
    if (known !== undefined) return new FoundStream(this, known, position?.number);
    if (this.#news.filter(isAttached).length >= this.#options.maxStreams) return undefined;
    const stream = this.#news.findLast(({ attached }) => !attached) ?? this.#addNews();
    return new FoundStream(this, stream, undefined, lastEventId !== undefined);
  }

  /** The connection of a stream broke. */
  detach(stream: EventStream, sink: EventSink): void {
    stream.detach(sink);
    if (this.#news.length > 1 && this.#news.includes(stream)) {
      this.#news = this.#news.filter((other) => other !== stream).concat(stream);
    }
  }

  endAll(): void {
    for (const stream of this.#all()) stream.end();
  }

  emptied(name: number): void {
    this.#answers?.take(name);
  }

  #addNews(): EventStream {
    const stream = new NumberedStream(++this.#names, this);
    this.#news = this.#news.concat(stream);
    return stream;
  }

  #all(): readonly EventStream[] {
    return this.#answers === undefined ? this.#news : [...this.#news, ...this.#answers.values()];
  }

  #named(name: number): EventStream | undefined {
    return this.#answers?.get(name) ?? this.#news.find((stream) => stream.name === name);
  }

  #forget(event: LoggedEvent): void {
    this.#named(event.stream)?.forget(event);
  }
}

const none: readonly EventStream[] = [];

function isAttached({ attached }: EventStream): boolean {
  return attached;
}

/** A stream, and where to go on with it. */
class FoundStream implements Found {
  readonly #streams: SessionStreams;
  readonly #stream: EventStream;
  readonly #number: number | undefined;
  readonly #moreLost: boolean;

  constructor(streams: SessionStreams, stream: EventStream, number: number | undefined, moreLost = false) {
    this.#streams = streams;
    this.#stream = stream;
    this.#number = number;
    this.#moreLost = moreLost;
  }

  attach(sink: EventSink): void {
    this.#stream.attach(sink, this.#number, this.#moreLost);
  }

  detach(sink: EventSink): void {
    this.#streams.detach(this.#stream, sink);
  }
}

function readEventId(text: string): { readonly stream: number; readonly number: number } | undefined {
  const [, stream, number] = /^(\d{1,9})-(\d{1,15})$/.exec(text) ?? [];
  return stream === undefined || number === undefined ? undefined : { stream: Number(stream), number: Number(number) };
}
