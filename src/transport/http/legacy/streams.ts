import type { Clock } from "../../../std/clock.ts";
import type { EventSink } from "../http-reply.ts";
import { createEventStream, type EventStream } from "./event-stream.ts";
import { createReplayLog, type ReplayLog } from "./replay-log.ts";

export interface StreamsOptions {
  readonly clock: Clock;
  readonly retryMs: number;
  readonly replayEvents: number;
  readonly replayChars: number;
  /** Streams for news that may be read at the same time. */
  readonly maxStreams: number;
  /** Whether the client understands an event that has an id and nothing else. */
  primes(): boolean;
}

/** The streams of one session, by the ids of their events. */
export interface Streams {
  /** A stream for the answer to a POST. */
  create(): EventStream;
  /** The stream for what belongs to no call: one that is read, else the one that was read last. */
  news(): EventStream;
  /** The stream that a GET asks for, and how to attach to it; undefined when too many are read. */
  find(lastEventId: string | undefined): Found | undefined;
  /** True while one is connected. */
  readonly attached: boolean;
  endAll(): void;
}

export interface Found {
  readonly stream: EventStream;
  attach(sink: EventSink): void;
}

export function createStreams(options: StreamsOptions): Streams {
  const { clock, retryMs, maxStreams, primes } = options;
  const streams = new Map<number, EventStream>();
  const news: EventStream[] = [];
  let names = 0;
  let log: ReplayLog | undefined;

  const openLog = (): ReplayLog =>
    createReplayLog({
      maxEvents: options.replayEvents,
      maxChars: options.replayChars,
      clock,
      forgot(event) {
        const stream = streams.get(event.stream);
        stream?.forget(event);
        if (stream?.forgotten) streams.delete(stream.name);
      },
    });

  const create = (): EventStream => {
    log ??= openLog();
    const stream = createEventStream({ name: ++names, log, clock, primes: primes(), retryMs });
    streams.set(stream.name, stream);
    return stream;
  };

  const addNews = (): EventStream => {
    const stream = create();
    news.push(stream);
    return stream;
  };

  return {
    create,
    news: () => news.findLast(({ attached }) => attached) ?? news.at(-1) ?? addNews(),
    find(lastEventId) {
      const position = lastEventId === undefined ? undefined : readEventId(lastEventId);
      const known = position === undefined ? undefined : streams.get(position.stream);
      if (known !== undefined) return { stream: known, attach: (sink) => known.attach(sink, position?.number) };
      if (news.filter(({ attached }) => attached).length >= maxStreams) return undefined;
      const stream = news.find(({ attached }) => !attached) ?? addNews();
      return { stream, attach: (sink) => stream.attach(sink, undefined, lastEventId !== undefined) };
    },
    get attached() {
      return [...streams.values()].some(({ attached }) => attached);
    },
    endAll() {
      for (const stream of streams.values()) stream.end();
    },
  };
}

function readEventId(text: string): { readonly stream: number; readonly number: number } | undefined {
  const [, stream, number] = /^(\d{1,9})-(\d{1,15})$/.exec(text) ?? [];
  return stream === undefined || number === undefined ? undefined : { stream: Number(stream), number: Number(number) };
}
