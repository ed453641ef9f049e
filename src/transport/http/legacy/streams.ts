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
  const { clock, retryMs, maxStreams } = options;
  const streams = new Map<number, EventStream>();
  /** Those whose connection broke last are at the end. */
  const news: EventStream[] = [];
  let names = 0;
  let log: ReplayLog | undefined;

  const openLog = (): ReplayLog =>
    createReplayLog({
      maxEvents: options.replayEvents,
      maxChars: options.replayChars,
      clock,
      forgot: (event) => streams.get(event.stream)?.forget(event),
    });

  const create = (): EventStream => {
    log ??= openLog();
    const name = ++names;
    const emptied = (): void => void streams.delete(name);
    const stream = createEventStream({ name, log, clock, primes: primes(), retryMs, emptied });
    streams.set(name, stream);
    return stream;
  };

  const addNews = (): EventStream => {
    const stream = create();
    news.push(stream);
    return stream;
  };

  const detach = (stream: EventStream, sink: EventSink): void => {
    stream.detach(sink);
    const at = news.indexOf(stream);
    if (at >= 0) news.push(...news.splice(at, 1));
  };

  const foundAt = (stream: EventStream, number: number | undefined, moreLost: boolean): Found => ({
    attach: (sink) => stream.attach(sink, number, moreLost),
    detach: (sink) => detach(stream, sink),
  });

  return {
    create,
    news: () => news.findLast(({ attached }) => attached) ?? news.at(-1) ?? addNews(),
    isOver(lastEventId) {
      const position = readEventId(lastEventId);
      return position !== undefined && streams.get(position.stream)?.isOver(position.number) === true;
    },
    find(lastEventId) {
      const position = lastEventId === undefined ? undefined : readEventId(lastEventId);
      const known = position === undefined ? undefined : streams.get(position.stream);
      if (known !== undefined) return foundAt(known, position?.number, false);
      if (news.filter(({ attached }) => attached).length >= maxStreams) return undefined;
      const stream = news.findLast(({ attached }) => !attached) ?? addNews();
      return foundAt(stream, undefined, lastEventId !== undefined);
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
