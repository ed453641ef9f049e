import type { Clock } from "../../std/clock.ts";
import { type Linked, LinkedSet } from "../../std/linked-set.ts";

/**
 * The requests of a platform that ends them without a word: when their client has left, or their time is up.
 *
 * Each shows by a timer of its own that it goes on, which also tells the platform that it is waiting for something.
 * Those that come later find the ones that have fallen silent.
 */
export interface LiveRequests {
  /** One that goes on until `over`, and longer if it is held. `lost` is called by a later one when it has ended without a word. */
  add(over: Promise<void>, lost: () => void): LiveRequest;
}

export interface LiveRequest {
  readonly over: Promise<void>;
  /** It also goes on until `work` settles, which is when this resolves. */
  readonly holdFor: (work: Promise<unknown>) => Promise<void>;
}

const BEAT_MS = 1_000;
/** A request that was silent for so long may have ended; or another one kept all of them from running. */
const SILENT_MS = 5 * BEAT_MS;

export function createLiveRequests(clock: Clock): LiveRequests {
  const all = new LinkedSet<Life>();
  let looked = Number.NEGATIVE_INFINITY;

  const look = (): void => {
    const now = clock.now();
    if (now - looked < BEAT_MS) return;
    looked = now;
    for (const life of all.toArray()) {
      if (!life.isSilent(now)) continue;
      all.delete(life);
      life.lost();
    }
  };

  return {
    add(over, lost) {
      look();
      const life = new Life(clock, all, lost);
      const holdFor = (work: Promise<unknown>): Promise<void> => life.holdFor(work);
      return { over: holdFor(over), holdFor };
    },
  };
}

class Life implements Linked<Life> {
  previous: Life | undefined = undefined;
  next: Life | undefined = undefined;
  readonly lost: () => void;
  readonly #clock: Clock;
  readonly #all: LinkedSet<Life>;
  #holds = 0;
  #seen = 0;
  /** Since when it was found to be silent. */
  #suspected: number | undefined;
  #disarm = (): void => {};

  constructor(clock: Clock, all: LinkedSet<Life>, lost: () => void) {
    this.#clock = clock;
    this.#all = all;
    this.lost = lost;
    all.add(this);
    this.#beat();
  }

  /** What was found silent gets as much time again: after a long computation, none has had the chance to show itself. */
  isSilent(now: number): boolean {
    if (now - this.#seen < SILENT_MS) return false;
    this.#suspected ??= now;
    return now - this.#suspected >= SILENT_MS;
  }

  async holdFor(work: Promise<unknown>): Promise<void> {
    this.#holds++;
    await work.catch(() => {});
    if (--this.#holds > 0) return;
    this.#all.delete(this);
    this.#disarm();
  }

  #beat(): void {
    this.#seen = this.#clock.now();
    this.#suspected = undefined;
    this.#disarm = this.#clock.after(BEAT_MS, () => this.#all.has(this) && this.#beat());
  }
}
