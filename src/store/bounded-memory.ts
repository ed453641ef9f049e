import type { Clock } from "../std/clock.ts";
import { checkCount } from "./check.ts";
import { createExpiry } from "./expiring-map.ts";
import { createMemoryStore } from "./memory-store.ts";
import type { Store } from "./store.ts";

export interface BoundedMemoryOptions {
  readonly clock: Clock;
  /** How many values are kept. When there are that many, those that expire first are forgotten early for a new one. */
  readonly maxValues: number;
}

/** Of the values that are kept, one in so many is dropped to make room: finding those that expire first takes a sort. */
const DROP_SHARE = 16;

/** A store in the memory of this process that keeps a bounded number of values. */
export function boundedMemoryStore({ clock, maxValues }: BoundedMemoryOptions): Store {
  checkCount("maxValues", maxValues, 1);
  const expiry = createExpiry(clock);
  return createMemoryStore(expiry, ({ slots }, drop) => {
    if (slots.size < maxValues) return;
    expiry.sweep();
    if (slots.size < maxValues) return;
    const byDue = [...slots].sort(([, a], [, b]) => a.due - b.due);
    for (const [name] of byDue.slice(0, Math.ceil(maxValues / DROP_SHARE))) drop(name);
  });
}
