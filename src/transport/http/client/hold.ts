/** Keeps what is to be done until it may be done. */
export interface Hold {
  /** Runs the task now, or in its turn when the hold is released. */
  run(task: () => void): void;
  /** From now on, tasks wait. */
  start(): void;
  release(): void;
  /** Drops what waits. */
  close(): void;
}

export function createHold(): Hold {
  let waiting: (() => void)[] | undefined;

  return {
    run(task) {
      if (waiting === undefined) task();
      else waiting.push(task);
    },
    start() {
      waiting ??= [];
    },
    release() {
      const tasks = waiting ?? [];
      waiting = undefined;
      for (const task of tasks) task();
    },
    close() {
      waiting = undefined;
    },
  };
}
