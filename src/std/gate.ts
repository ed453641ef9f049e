/**
 * Lets so many pieces of work run at once.
 *
 * More wait in line; when the line is full, `run` returns a promise, and who
 * brings work holds back until it resolves.
 */
export interface Gate {
  /** Starts `work` as soon as there is room, in order. `work` must not throw; how it settles is all the same. */
  run(work: () => Promise<void>): Promise<void> | undefined;
  /** Gives up the place of running work while it waits for something else. */
  leave<T>(wait: Promise<T>): Promise<T>;
  /** True while the line is full. */
  readonly full: boolean;
}

export interface GateOptions {
  /** 0 is off. */
  readonly maxRunning: number;
  readonly maxWaiting: number;
}

export function createGate(options: GateOptions): Gate {
  return new Turnstile(options);
}

class Turnstile implements Gate {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #line: (() => Promise<void>)[] = [];
  /** Made once: work comes and goes all the time. */
  readonly #finish = (): void => this.#done();
  #running = 0;
  #held: (() => void)[] = [];

  constructor({ maxRunning, maxWaiting }: GateOptions) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  run(work: () => Promise<void>): Promise<void> | undefined {
    if (this.#maxRunning === 0 || (this.#running < this.#maxRunning && this.#line.length === 0)) {
      this.#start(work);
      return undefined;
    }
    this.#line.push(work);
    if (!this.full) return undefined;
    return new Promise((resolve) => {
      this.#held.push(resolve);
    });
  }

  get full(): boolean {
    return this.#line.length > 0 && this.#line.length >= this.#maxWaiting;
  }

  async leave<T>(wait: Promise<T>): Promise<T> {
    this.#done();
    try {
      return await wait;
    } finally {
      this.#running++;
    }
  }

  #start(work: () => Promise<void>): void {
    this.#running++;
    work().then(this.#finish, this.#finish);
  }

  #done(): void {
    this.#running--;
    while (this.#line.length > 0 && this.#running < this.#maxRunning)
      this.#start(this.#line.shift() as () => Promise<void>);
    if (this.#held.length === 0 || this.full) return;
    const resume = this.#held;
    this.#held = [];
    for (const resolve of resume) resolve();
  }
}
