import type { Clock } from "../../../std/clock.ts";

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
