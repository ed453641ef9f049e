import type { Clock } from "../std/clock.ts";

/** Things by name, each until its time. What is due is not there, whether its memory was given back yet or not. */
export interface ExpiringMap<T> {
  /** When each is due, also of those that are and whose memory was not given back yet. */
  readonly slots: ReadonlyMap<string, { readonly due: number }>;
  get(name: string): T | undefined;
  /** Keeps it until the clock shows `due`. */
  set(name: string, item: T, due: number): void;
  /** What was there. */
  delete(name: string): T | undefined;
}

/** Makes maps that share one timer. */
export interface Expiry {
  now(): number;
  /** The time `ttlMs` from now; never when it is left out. */
  after(ttlMs: number | undefined): number;
  /** `forget` is called with entries that have expired. */
  newMap<T>(forget?: (name: string, item: T) => void): ExpiringMap<T>;
  /** Gives back the memory of what was due a while ago, without waiting for the timer. */
  sweep(): void;
  /** Gives no more memory back. */
  stop(): void;
}

/** There are many of them: each knows its map instead of having a function of its own. */
interface Slot {
  readonly name: string;
  readonly due: number;
  readonly home: { drop(slot: Slot): void };
}

/** How long memory may stay taken after something was due. */
const SWEEP_MS = 10_000;
/** How much is dropped before others get a turn. */
const SWEEP_MAX = 10_000;

/**
 * Expiry without a timer for each name.
 *
 * What is due is dropped when it is asked for. One timer, that is armed only while something can expire, drops the rest:
 * what is due in the same span of time lies together, so that a sweep looks at nothing else.
 */
export function createExpiry(clock: Clock): Expiry {
  const spans = new Map<number, Set<Slot>>();
  let disarm: (() => void) | undefined;
  let swept = clock.now();

  /** Where a timer ends with its request, expired entries are removed on `set`. */
  const arm = (ms: number): void => {
    if (clock.requestBound !== true) disarm ??= clock.after(ms, sweep);
  };

  const sweep = (): void => {
    disarm?.();
    disarm = undefined;
    swept = clock.now();
    let left = SWEEP_MAX;
    for (const slot of dueSlots(spans, clock.now())) {
      unwatch(slot);
      slot.home.drop(slot);
      left--;
      if (left === 0) break;
    }
    if (spans.size > 0) arm(left === 0 ? 0 : SWEEP_MS);
  };

  const watch = (slot: Slot): void => {
    if (slot.due === Number.POSITIVE_INFINITY) return;
    const end = spanOf(slot);
    const slots = spans.get(end);
    if (slots === undefined) spans.set(end, new Set([slot]));
    else slots.add(slot);
    if (clock.requestBound === true && clock.now() - swept >= SWEEP_MS) sweep();
    arm(SWEEP_MS);
  };

  const unwatch = (slot: Slot): void => {
    const slots = spans.get(spanOf(slot));
    if (slots?.delete(slot) && slots.size === 0) spans.delete(spanOf(slot));
  };

  return {
    now: () => clock.now(),
    after: (ttlMs) => (ttlMs === undefined ? Number.POSITIVE_INFINITY : clock.now() + ttlMs),
    sweep,
    newMap: (forget) => createMap({ now: () => clock.now(), watch, unwatch, forget }),
    stop() {
      disarm?.();
      spans.clear();
    },
  };
}

/** What lies in a span that is over. */
function* dueSlots(spans: ReadonlyMap<number, ReadonlySet<Slot>>, now: number): Iterable<Slot> {
  for (const [end, slots] of spans) if (end <= now) yield* slots;
}

/** The end of the span of time that a slot is due in. */
function spanOf({ due }: Slot): number {
  return Math.ceil(due / SWEEP_MS) * SWEEP_MS;
}

interface MapParts<T> {
  now(): number;
  watch(slot: Slot): void;
  unwatch(slot: Slot): void;
  readonly forget: ((name: string, item: T) => void) | undefined;
}

function createMap<T>({ now, watch, unwatch, forget }: MapParts<T>): ExpiringMap<T> {
  const slots = new Map<string, Slot & { readonly item: T }>();

  const home = {
    drop({ name }: Slot): void {
      const slot = slots.get(name);
      slots.delete(name);
      if (slot !== undefined) forget?.(name, slot.item);
    },
  };

  const get = (name: string): T | undefined => {
    const slot = slots.get(name);
    if (slot === undefined) return undefined;
    if (slot.due > now()) return slot.item;
    unwatch(slot);
    home.drop(slot);
    return undefined;
  };

  const remove = (name: string): T | undefined => {
    const item = get(name);
    const slot = slots.get(name);
    if (slot !== undefined) unwatch(slot);
    slots.delete(name);
    return item;
  };

  return {
    slots,
    get,
    set(name, item, due) {
      remove(name);
      const slot = { name, item, due, home };
      slots.set(name, slot);
      watch(slot);
    },
    delete: remove,
  };
}
