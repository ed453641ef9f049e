import { encodeMessage } from "../../../jsonrpc/message.ts";
import type { Clock } from "../../../std/clock.ts";
import { sseEvent } from "../../../std/sse.ts";
import type { EventSink } from "../http-reply.ts";
import type { LoggedEvent, ReplayLog } from "./replay-log.ts";

export interface EventStreamOptions {
  /** Tells the streams of a session apart. */
  readonly name: number;
  readonly log: ReplayLog;
  readonly clock: Clock;
  /** Whether the client understands an event that has an id and nothing else. */
  readonly primes: boolean;
  /** How soon a client should come back. */
  readonly retryMs: number;
  /** Hears once that the stream has ended, and a client that comes back would find nothing. */
  emptied?(): void;
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
  /**
   * Goes on over another connection, from the event after `number`; without one,
   * from what no connection was given. Says so if some of that, or more, is lost.
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

/** Events that a client may miss before who writes more has to wait. */
const MAX_MISSED = 128;
/** How long that is. */
const MAX_WAIT_MS = 30_000;

export function createEventStream(options: EventStreamOptions): EventStream {
  const { name, log, clock, primes, retryMs, emptied } = options;
  let last = 0;
  let written = 0;
  let lastForgotten = 0;
  let ended = false;
  let sink: EventSink | undefined;
  let waiting: { readonly back: Promise<void>; release(): void } | undefined;

  const release = (): void => {
    waiting?.release();
    waiting = undefined;
  };

  const wait = (): Promise<void> => {
    waiting ??= createWait(clock, () => {
      waiting = undefined;
    });
    return waiting.back;
  };

  const frame = (number: number, text: string): string => sseEvent({ id: `${name}-${number}`, data: text });

  const replay = (to: EventSink, number: number): void => {
    // Looking for nothing in a long log would cost more than a call.
    const missed = number < last ? log.after(name, number) : [];
    for (const event of missed) to.write(frame(event.number, event.text));
    written = last;
  };

  return {
    name,
    get attached() {
      return sink !== undefined;
    },
    get ended() {
      return ended;
    },
    isOver: (number) => ended && number >= last,
    write(text) {
      if (ended) return undefined;
      const number = ++last;
      log.append({ stream: name, number, text });
      if (sink === undefined) return last - written > MAX_MISSED ? wait() : undefined;
      written = number;
      return sink.write(frame(number, text));
    },
    attach(next, number = written, moreLost = false) {
      sink?.end();
      sink = undefined;
      if (primes) next.write(sseEvent({ id: `${name}-${number}`, data: "", retry: retryMs }));
      if (moreLost || lastForgotten > number) next.write(truncated);
      replay(next, number);
      if (ended) next.end();
      else sink = next;
      release();
    },
    detach(gone) {
      if (sink === gone) sink = undefined;
    },
    hangUp(ms = retryMs) {
      if (!primes || sink === undefined) return;
      sink.write(`retry: ${ms}\n\n`);
      sink.end();
      sink = undefined;
    },
    end() {
      if (ended) return;
      ended = true;
      sink?.end();
      sink = undefined;
      release();
      if (lastForgotten === last) emptied?.();
    },
    forget({ number }) {
      lastForgotten = number;
      if (ended && number === last) emptied?.();
    },
  };
}

/** Tells the client that events it has missed are gone. */
const truncated: string = sseEvent({
  data: encodeMessage({ kind: "notification", method: "notifications/replay_truncated", params: {} }),
});

function createWait(clock: Clock, over: () => void): { readonly back: Promise<void>; release(): void } {
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
