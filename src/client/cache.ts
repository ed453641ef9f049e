import { asJson } from "../json/json.ts";
import type { Method } from "../model/methods.ts";
import type { Call, Outcome, Service } from "../model/service.ts";
import type { Change } from "../model/subscription.ts";
import type { Clock } from "../std/clock.ts";

/** Keeps results for as long as the server allows. Belongs to one client, so what is private stays so. */
export interface ResponseCache {
  /** Answers from what is kept and still fresh; else asks, and keeps what may be kept. */
  readonly reading: Service;
  /** Always asks, and keeps what may be kept. */
  readonly refreshing: Service;
  /** Drops what the change makes wrong, also what is on its way. */
  invalidate(change: Change): void;
}

interface Entry {
  readonly outcome: Outcome;
  readonly freshUntil: number;
}

/** A cache in front of a service, for methods whose results say how long they last. */
export function createCache(service: Service, clock: Clock, maxEntries = 500): ResponseCache {
  /** Least recently used first. */
  const entries = new Map<string, Entry>();
  let generation = 0;

  const find = (key: string): Outcome | undefined => {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    entries.delete(key);
    if (clock.now() >= entry.freshUntil) return undefined;
    entries.set(key, entry);
    return entry.outcome;
  };

  const keep = (key: string, outcome: Outcome): void => {
    entries.delete(key);
    const ttlMs = ttlOf(outcome);
    if (ttlMs <= 0) return;
    entries.set(key, { outcome, freshUntil: clock.now() + ttlMs });
    const [oldest] = entries.keys();
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
  };

  const refreshing: Service = async (call) => {
    const key = keyOf(call);
    if (key === undefined) return service(call);
    const asked = generation;
    const outcome = await service(call);
    if (asked === generation) keep(key, outcome);
    return outcome;
  };

  const reading: Service = async <M extends Method>(call: Call<M>): Promise<Outcome<M>> => {
    const key = keyOf(call);
    const kept = key === undefined ? undefined : find(key);
    // The key begins with the method, so what it leads to is an outcome of that method.
    return kept === undefined ? refreshing(call) : (kept as Outcome<M>);
  };

  return {
    reading,
    refreshing,
    invalidate(change) {
      generation++;
      for (const key of entries.keys()) if (isStale(key, change)) entries.delete(key);
    },
  };
}

function ttlOf(outcome: Outcome): number {
  if (outcome.kind !== "complete") return 0;
  const { ttlMs } = asJson(outcome.result);
  return typeof ttlMs === "number" ? ttlMs : 0;
}

/**
 * What a result depends on. None for a call that answers questions, whose result
 * must not be kept, and for params nobody knows the meaning of.
 */
function keyOf({ method, params, answers, state }: Call): string | undefined {
  if (answers !== undefined || state !== undefined) return undefined;
  const { uri, cursor, ...unknown } = asJson(params);
  if (Object.keys(unknown).length > 0) return undefined;
  return `${method} ${JSON.stringify(uri ?? cursor ?? null)}`;
}

function isStale(key: string, change: Change): boolean {
  switch (change.kind) {
    case "tools":
      return key.startsWith("tools/list ");
    case "prompts":
      return key.startsWith("prompts/list ");
    case "resources":
      return key.startsWith("resources/list ") || key.startsWith("resources/templates/list ");
    case "resource":
      return key === `resources/read ${JSON.stringify(change.uri)}`;
    case "task":
      return false;
  }
}
