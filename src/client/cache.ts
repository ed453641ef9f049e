import type { Method } from "../model/methods.ts";
import type { Call, Outcome, Service } from "../model/service.ts";
import type { Change } from "../model/subscription.ts";
import type { Clock } from "../std/clock.ts";
import { changedSubject, keyOf } from "./cache-key.ts";
import { createCacheTable } from "./cache-table.ts";

/** Keeps results for as long as the server allows. */
export interface ResponseCache {
  /** Answers from what is kept and still fresh; else asks, and keeps what may be kept. */
  readonly reading: Service;
  /** Always asks, and keeps what may be kept. */
  readonly refreshing: Service;
  /** Drops what the change makes wrong, also what is on its way. */
  invalidate(change: Change): void;
}

/**
 * A cache in memory, in front of a service, for methods whose results say how
 * long they last. Belongs to one client, so what is private stays so.
 */
export function createCache(service: Service, clock: Clock, maxEntries?: number): ResponseCache {
  const table = createCacheTable(clock, maxEntries);
  let generation = 0;

  const refreshing: Service = async (call) => {
    const key = keyOf(call);
    if (key === undefined) return service(call);
    const asked = generation;
    const outcome = await service(call);
    if (asked === generation) table.keep(key, outcome);
    return outcome;
  };

  const reading: Service = async <M extends Method>(call: Call<M>): Promise<Outcome<M>> => {
    const key = keyOf(call);
    const kept = key === undefined ? undefined : table.find(key);
    // The key begins with the method, so what it leads to is an outcome of that method.
    return kept === undefined ? refreshing(call) : (kept as Outcome<M>);
  };

  return {
    reading,
    refreshing,
    invalidate(change) {
      const subject = changedSubject(change);
      generation++;
      if (subject !== undefined) table.dropAll(subject);
    },
  };
}
