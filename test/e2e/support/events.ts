/** What happened, in order, and a way to wait for more of it. */
export interface Log<T> {
  readonly items: readonly T[];
  add(item: T): void;
  /** Resolves with the items once there are at least this many. */
  count(atLeast: number): Promise<readonly T[]>;
  /** Resolves with the first item, early or late, that fits. */
  find(fits: (item: T) => boolean): Promise<T>;
}

/** Collects what a callback is told, so that a test can wait for it instead of sleeping. */
export function createLog<T>(): Log<T> {
  const items: T[] = [];
  const checks = new Set<() => void>();

  const when = <R>(attempt: () => R | undefined): Promise<R> =>
    new Promise((resolve) => {
      const check = (): void => {
        const found = attempt();
        if (found === undefined) return;
        checks.delete(check);
        resolve(found);
      };
      checks.add(check);
      check();
    });

  return {
    items,
    add(item) {
      items.push(item);
      for (const check of checks) check();
    },
    count: (atLeast) => when(() => (items.length >= atLeast ? [...items] : undefined)),
    async find(fits) {
      let seen = 0;
      const { item } = await when(() => {
        while (seen < items.length) {
          const item = items[seen++] as T;
          if (fits(item)) return { item };
        }
        return undefined;
      });
      return item;
    },
  };
}
