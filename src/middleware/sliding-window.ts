import type { Values } from "../store/store.ts";

/** Whether something may happen now, or how long until it could. */
export type Verdict = { readonly ok: true } | { readonly ok: false; readonly retryAfterMs: number };

/** Something that wants to happen. What costs more than the limit never can. */
export interface Wish {
  /** Whose it is. What has another name is counted apart. */
  readonly name: string;
  readonly cost: number;
  /** The time of day, in whole milliseconds, so that all processes see the same windows. */
  readonly now: number;
}

export interface WindowOptions {
  readonly limit: number;
  readonly windowMs: number;
}

/** What was counted when something wanted to happen. Everything is whole, so nothing is lost by rounding. */
interface Count {
  /** In the window before this one. */
  readonly before: number;
  /** In this window, without what wants to happen. */
  readonly others: number;
  readonly cost: number;
  /** Of this window. */
  readonly elapsedMs: number;
}

/**
 * Counts what happens in windows that begin at the same time everywhere, two
 * numbers a name. The window before counts for as much of it as would still lie
 * in a window that ends now.
 *
 * What is refused does not count. While it is being given back, others may be
 * refused for it. Rejects when the numbers cannot be had.
 */
export async function take(values: Pick<Values, "add">, wish: Wish, options: WindowOptions): Promise<Verdict> {
  const { name, cost, now } = wish;
  const { limit, windowMs } = options;
  if (cost > limit) return { ok: false, retryAfterMs: windowMs };
  const index = Math.floor(now / windowMs);
  const [before, sum] = await Promise.all([
    values.add(`${name} ${index - 1}`, 0, windowMs),
    values.add(`${name} ${index}`, cost, 2 * windowMs),
  ]);
  const count = { before: Math.max(0, before), others: Math.max(0, sum - cost), cost, elapsedMs: now % windowMs };
  if (isWithin(count, options)) return { ok: true };
  // What cannot be given back now is counted until its window is over.
  values.add(`${name} ${index}`, -cost, 2 * windowMs).catch(() => {});
  return { ok: false, retryAfterMs: waitOf(count, options) };
}

function isWithin({ before, others, cost, elapsedMs }: Count, { limit, windowMs }: WindowOptions): boolean {
  return before * (windowMs - elapsedMs) <= (limit - others - cost) * windowMs;
}

/** How long until it could happen, if nothing else does. */
function waitOf(count: Count, { limit, windowMs }: WindowOptions): number {
  const { before, others, cost, elapsedMs } = count;
  const room = limit - others - cost;
  if (room >= 0) return fadedBy(before, room, windowMs) - elapsedMs;
  return windowMs - elapsedMs + fadedBy(others, limit - cost, windowMs);
}

/** How far into a window it is until so many of the one before count for no more than `room`. */
function fadedBy(before: number, room: number, windowMs: number): number {
  return before <= room ? 0 : windowMs - Math.floor((room * windowMs) / before);
}
