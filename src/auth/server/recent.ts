/** Things to be remembered for a while, within bounds: the oldest go first. */
export interface Recent<V> {
  get(name: string): V | undefined;
  set(name: string, value: V, ttlMs: number): void;
  delete(name: string): void;
}

export interface RecentOptions {
  readonly max: number;
  now(): number;
}

export function createRecent<V>({ max, now }: RecentOptions): Recent<V> {
  const kept = new Map<string, { readonly value: V; readonly until: number }>();
  return {
    get(name) {
      const found = kept.get(name);
      if (found === undefined || found.until > now()) return found?.value;
      kept.delete(name);
      return undefined;
    },
    set(name, value, ttlMs) {
      kept.delete(name);
      kept.set(name, { value, until: now() + ttlMs });
      const [oldest] = kept.keys();
      if (kept.size > max && oldest !== undefined) kept.delete(oldest);
    },
    delete: (name) => void kept.delete(name),
  };
}
