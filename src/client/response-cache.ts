import { asJson } from "../json/json.ts";
import type { Method } from "../model/methods.ts";
import type { CallOf, Outcome, OutcomeOf, Service } from "../model/service.ts";
import type { Change } from "../model/subscription.ts";
import type { Clock } from "../std/clock.ts";
import { changedSubject, keyOf, subjectOf } from "./cache-entries.ts";

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

  const reading: Service = async <M extends Method>(call: CallOf<M>): Promise<OutcomeOf<M>> => {
    const key = keyOf(call);
    const kept = key === undefined ? undefined : table.find(key);
    // The key begins with the method, so what it leads to is an outcome of that method.
    return kept === undefined ? refreshing(call) : (kept as OutcomeOf<M>);
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

/** Outcomes in memory, each for as long as it says. */
interface CacheTable {
  find(key: string): Outcome | undefined;
  /** Keeps an outcome in the place of what was there; one that must not be kept leaves nothing there. */
  keep(key: string, outcome: Outcome): void;
  drop(key: string): void;
  /** Drops all that tells of it. */
  dropAll(subject: string): void;
}

interface Entry {
  readonly outcome: Outcome;
  readonly freshUntil: number;
}

/** When there are more than `maxEntries`, the least recently used goes. */
export function createCacheTable(clock: Clock, maxEntries = 500): CacheTable {
  /** Least recently used first. */
  const entries = new Map<string, Entry>();

  return {
    find(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      if (clock.now() >= entry.freshUntil) return undefined;
      entries.set(key, entry);
      return entry.outcome;
    },
    keep(key, outcome) {
      entries.delete(key);
      const ttlMs = ttlOf(outcome);
      if (ttlMs <= 0) return;
      entries.set(key, { outcome, freshUntil: clock.now() + ttlMs });
      const [oldest] = entries.keys();
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    },
    drop: (key) => void entries.delete(key),
    dropAll(subject) {
      for (const key of entries.keys()) if (subjectOf(key) === subject) entries.delete(key);
    },
  };
}

/** How long an outcome may be kept. */
function ttlOf(outcome: Outcome): number {
  if (outcome.kind !== "complete") return 0;
  const { ttlMs } = asJson(outcome.result);
  return typeof ttlMs === "number" ? ttlMs : 0;
}
