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

export function createGate({ maxRunning, maxWaiting }: GateOptions): Gate {
  const line: (() => Promise<void>)[] = [];
  let running = 0;
  let held: (() => void)[] = [];

  const isFull = (): boolean => line.length > 0 && line.length >= maxWaiting;

  const done = (): void => {
    running--;
    while (line.length > 0 && running < maxRunning) start(line.shift() as () => Promise<void>);
    if (held.length === 0 || isFull()) return;
    const resume = held;
    held = [];
    for (const resolve of resume) resolve();
  };

  const start = (work: () => Promise<void>): void => {
    running++;
    work().then(done, done);
  };

  return {
    run(work) {
      if (maxRunning === 0 || (running < maxRunning && line.length === 0)) {
        start(work);
        return undefined;
      }
      line.push(work);
      if (!isFull()) return undefined;
      return new Promise((resolve) => {
        held.push(resolve);
      });
    },
    get full() {
      return isFull();
    },
    async leave(wait) {
      done();
      try {
        return await wait;
      } finally {
        running++;
      }
    },
  };
}
