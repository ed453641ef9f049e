/** Lets so many pieces of work run at once, and those who bring it have their turns one after the other. */
export interface FairGate {
  /**
   * Resolves to what `work` does as soon as it is the turn of `key`. Rejects with what `full` makes when too much waits: for
   * whoever brings it, or, when another key has more that waits, for the newest work of that one, which never starts.
   */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

interface FairGateOptions {
  readonly maxRunning: number;
  /** Of all keys together. */
  readonly maxWaiting: number;
  /** The error of work that may not even wait. */
  full(): Error;
}

interface Waiting {
  start(): void;
  refuse(error: Error): void;
}

export function createFairGate({ maxRunning, maxWaiting, full }: FairGateOptions): FairGate {
  /** What waits by key. The key whose turn comes next is the first. */
  const lines = new Map<string, Waiting[]>();
  let [running, waiting] = [0, 0];

  const advance = (): void => {
    const [next] = lines;
    if (next === undefined || running >= maxRunning) return;
    const [key, line] = next;
    const first = line.shift();
    lines.delete(key);
    if (line.length > 0) lines.set(key, line);
    waiting--;
    first?.start();
  };

  /** Takes the newest work from the key that has most. False when that would be no more than `key` has. */
  const makeRoom = (key: string): boolean => {
    const [largest, line] = [...lines].reduce((a, b) => (b[1].length > a[1].length ? b : a));
    if (largest === key || line.length <= (lines.get(key)?.length ?? 0) + 1) return false;
    line.pop()?.refuse(full());
    waiting--;
    return true;
  };

  return {
    run(key, work) {
      if (running >= maxRunning && waiting >= maxWaiting && !makeRoom(key)) return Promise.reject(full());
      return new Promise((resolve, reject) => {
        const start = (): void => {
          running++;
          work()
            .then(resolve, reject)
            .finally(() => {
              running--;
              advance();
            });
        };
        if (running < maxRunning) return start();
        const line = lines.get(key);
        if (line === undefined) lines.set(key, [{ start, refuse: reject }]);
        else line.push({ start, refuse: reject });
        waiting++;
      });
    },
  };
}
