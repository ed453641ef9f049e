import { asJson } from "../json/json.ts";
import type { Outcome } from "../model/service.ts";
import type { Clock } from "../std/clock.ts";
import { subjectOf } from "./cache-key.ts";

/** Outcomes in memory, each for as long as it says. */
export interface CacheTable {
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
