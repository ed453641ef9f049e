import type { Clock } from "../../../std/clock.ts";

/** One message on a stream, as it was or will be written. */
export interface LoggedEvent {
  /** The stream it belongs to. */
  readonly stream: number;
  /** Counts the events of the stream, from 1. */
  readonly number: number;
  readonly text: string;
}

/** The last events of one session, for clients that come back for what they missed. */
export interface ReplayLog {
  append(event: LoggedEvent): void;
  /** What followed on a stream, as far as it is known. */
  after(stream: number, number: number): readonly LoggedEvent[];
}

export interface ReplayOptions {
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

/**
 * Keeps events in memory: the last `maxEvents`, and more of them while they are
 * young, within `maxChars`. The newest is kept however long it is.
 */
export function createReplayLog({ maxEvents, maxChars, clock, forgot }: ReplayOptions): ReplayLog {
  const events: (LoggedEvent & { readonly at: number })[] = [];
  let first = 0;
  let chars = 0;

  const isFull = (): boolean => {
    const count = events.length - first;
    if (count <= 1) return false;
    if (chars > maxChars) return true;
    return count > maxEvents && clock.now() - (events[first]?.at ?? 0) > YOUNG_MS;
  };

  const trim = (): void => {
    while (isFull()) {
      const event = events[first++];
      if (event === undefined) return;
      chars -= event.text.length;
      forgot(event);
    }
    // Moving the rest to the front now and then keeps the cost of an event constant.
    if (first < 1_024 || first * 2 < events.length) return;
    events.splice(0, first);
    first = 0;
  };

  return {
    append({ stream, number, text }) {
      events.push({ stream, number, text, at: clock.now() });
      chars += text.length;
      trim();
    },
    after: (stream, number) => events.slice(first).filter((event) => event.stream === stream && event.number > number),
  };
}
