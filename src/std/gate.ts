import type { LazyAbort } from "./lazy-abort.ts";
import { type Linked, LinkedSet } from "./linked-set.ts";

/**
 * Limits the number of concurrent pieces of work.
 *
 * More work is queued; when the queue is full, further work is rejected at once.
 */
export interface Gate<T extends Job = Job> {
  /**
   * Starts `work` as soon as there is room, in order. False when it may not even
   * wait: then it never starts, as it does not when it is aborted while it waits.
   * `work` must not throw; how it settles is all the same.
   */
  run(work: () => Promise<void>, job?: T): boolean;
  /** Gives up the place of running work while it waits for something else. */
  leave<R>(wait: Promise<R>): Promise<R>;
  /** True while nothing more may wait. */
  readonly full: boolean;
}

/** What work is for. */
export interface Job {
  readonly abort: LazyAbort;
}

export interface GateOptions<T extends Job = Job> {
  /** 0 is off. */
  readonly maxRunning: number;
  readonly maxWaiting: number;
  /** How much all that waits may weigh together; one alone may weigh anything. Default: no limit. */
  readonly maxWeight?: number;
  /** Weighs a job that has to wait. Default: they weigh nothing. */
  weigh?(job: T): number;
  /** While it is a promise, nothing is started. */
  heldUp?(): Promise<void> | undefined;
  /** Resolves when what was started has had its turn. After it was held up, one is started, then two, then four, a turn each. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
}

export function createGate<T extends Job = Job>(options: GateOptions<T>): Gate<T> {
  return new QueueGate(options);
}

class QueueGate<T extends Job> implements Gate<T> {
  readonly #options: GateOptions<T>;
  readonly #maxRunning: number;
  readonly #line = new LinkedSet<Waiting>();
  /** Made once: work comes and goes all the time. */
  readonly #finish = (): void => this.#done();
  #running = 0;
  /** Of those that run, the ones that were called from the line and begin in this very turn. */
  #called = 0;
  #weight = 0;
  #isHeldUp = false;
  /** How many may be started in this turn, and how many of them are left. */
  #wave = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  constructor(options: GateOptions<T>) {
    this.#options = options;
    this.#maxRunning = options.maxRunning || Number.POSITIVE_INFINITY;
  }

  run(work: () => Promise<void>, job?: T): boolean {
    if (this.#hasRoom()) {
      this.#start(work);
      return true;
    }
    if (this.full) return false;
    const { maxWeight = Number.POSITIVE_INFINITY, weigh } = this.#options;
    const weight = job === undefined ? 0 : (weigh?.(job) ?? 0);
    if (this.#line.size > 0 && this.#weight + weight > maxWeight) return false;
    this.#wait(work, weight, job);
    return true;
  }

  get full(): boolean {
    return this.#line.size >= this.#options.maxWaiting && !this.#hasRoom();
  }

  async leave<R>(wait: Promise<R>): Promise<R> {
    this.#done();
    try {
      return await wait;
    } finally {
      this.#running++;
    }
  }

  #hasRoom(): boolean {
    if (this.#running >= this.#maxRunning || this.#line.size > 0 || this.#called > 0) return false;
    return this.#options.heldUp?.() === undefined;
  }

  /** Other work makes the room, but a promise runs `work` in the async context of its own caller. */
  #wait(work: () => Promise<void>, weight: number, job: T | undefined): void {
    const waiting = new Waiting(weight);
    const begin = (): Promise<void> => {
      this.#called--;
      return work();
    };
    waiting.room.then(begin).then(this.#finish, this.#finish);
    this.#line.add(waiting);
    this.#weight += weight;
    waiting.unlisten = job?.abort.onAbort(() => this.#take(waiting));
    this.#advance();
  }

  #take(waiting: Waiting): void {
    if (!this.#line.delete(waiting)) return;
    this.#weight -= waiting.weight;
    waiting.unlisten?.();
  }

  #start(work: () => Promise<void>): void {
    this.#running++;
    work().then(this.#finish, this.#finish);
  }

  #done(): void {
    this.#running--;
    this.#advance();
  }

  #advance(): void {
    for (let next = this.#line.first; next !== undefined && this.#mayStart(); next = this.#line.first) {
      this.#take(next);
      this.#running++;
      this.#called++;
      next.call();
    }
  }

  #mayStart(): boolean {
    if (this.#isHeldUp || this.#running >= this.#maxRunning) return false;
    const until = this.#options.heldUp?.();
    if (until !== undefined) return this.#holdUp(until, 1);
    if (this.#left-- > 0) return true;
    const { nextTurn } = this.#options;
    return nextTurn === undefined || this.#holdUp(nextTurn(), 2 * this.#wave);
  }

  /** Starts nothing until then, and so many at first: what they do may hold up the others. */
  #holdUp(until: Promise<void>, wave: number): false {
    this.#isHeldUp = true;
    void until.then(() => {
      this.#isHeldUp = false;
      this.#wave = wave < this.#maxRunning ? wave : Number.POSITIVE_INFINITY;
      this.#left = this.#wave;
      this.#advance();
    });
    return false;
  }
}

class Waiting implements Linked<Waiting> {
  previous: Waiting | undefined;
  next: Waiting | undefined;
  readonly weight: number;
  /** Resolves when it is called. */
  readonly room: Promise<void>;
  call: () => void = () => {};
  unlisten: (() => void) | undefined;

  constructor(weight: number) {
    this.weight = weight;
    this.room = new Promise((resolve) => {
      this.call = resolve;
    });
  }
}
