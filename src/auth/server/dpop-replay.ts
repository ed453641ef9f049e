import { McpError } from "../../model/errors.ts";
import type { Store } from "../../store/store.ts";

/** Proofs that were used, while they could be used again. */
export interface UsedProofs {
  /** True for the first that asks by this name. Rejects when nobody can tell. */
  claim(name: string, ttlMs: number): Promise<boolean>;
}

/** Proofs that are known to every process with this store. */
export function sharedProofs(store: Store | Promise<Store>): UsedProofs {
  return {
    async claim(name, ttl) {
      const { values } = await store;
      return (await values.put(`dpop/${name}`, "", { version: null, ttl })) !== undefined;
    },
  };
}

/** Proofs that were used in this process. When too many could be used again, no further one is taken. */
export function localProofs(now: () => number, max = 100_000): UsedProofs {
  /** In the order in which they run out: all live equally long. */
  const until = new Map<string, number>();
  return {
    async claim(name, ttlMs) {
      const time = now();
      for (const [oldest, end] of until) {
        if (end > time) break;
        until.delete(oldest);
      }
      if (until.has(name)) return false;
      if (until.size >= max)
        throw new McpError("limit-reached", `more than ${max} proofs were used within ${ttlMs} ms`);
      until.set(name, time + ttlMs);
      return true;
    },
  };
}
