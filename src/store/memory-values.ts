import { checkAmount, checkList, checkName, checkPut, checkTtl } from "./check.ts";
import type { ExpiringMap } from "./expiring-map.ts";
import type { MemoryParts } from "./memory-streams.ts";
import type { NamedValue, StoreValues, WriteConditions } from "./store.ts";
import { createTextPool, type PooledText, type TextPool } from "./text-pool.ts";

/** Called before a value is added. Drops some, or throws, where there are too many. */
export type MakeRoom = (values: ExpiringMap<unknown>, drop: (name: string) => void) => void;

interface Stored {
  readonly text: PooledText;
  readonly version: string;
  readonly group: string | undefined;
}

const LIST_MAX = 100;

export function memoryValues({ expiry, leases, ensureOpen }: MemoryParts, makeRoom?: MakeRoom): StoreValues {
  const groups = memoryGroups();
  const texts = createTextPool();
  const values = expiry.newMap<Stored>((name, { group, text }) => {
    groups.leave(group, name);
    texts.release(text);
  });
  let lastVersion = 0;

  const isMet = (name: string, { version, fence }: WriteConditions): boolean =>
    (version === undefined || version === (values.get(name)?.version ?? null)) && leases.allows(name, fence);

  const remove = (name: string): boolean => {
    const value = values.delete(name);
    if (value === undefined) return false;
    groups.leave(value.group, name);
    texts.release(value.text);
    return true;
  };

  return {
    get(name) {
      ensureOpen();
      checkName(name);
      const value = values.get(name);
      return value && { text: texts.read(value.text), version: value.version };
    },
    put(name, text, options = {}) {
      ensureOpen();
      checkPut(name, options);
      if (!isMet(name, options)) return undefined;
      const before = values.get(name);
      if (before === undefined) makeRoom?.(values, remove);
      if (before?.group !== options.group) groups.leave(before?.group, name);
      lastVersion++;
      const version = String(lastVersion);
      values.set(name, { text: texts.keep(text), version, group: options.group }, expiry.after(options.ttlMs));
      if (before !== undefined) texts.release(before.text);
      groups.join(options.group, name);
      return version;
    },
    touch(name, ttlMs) {
      ensureOpen();
      checkName(name);
      checkTtl(ttlMs);
      const value = values.get(name);
      if (value === undefined) return false;
      values.set(name, value, expiry.after(ttlMs));
      return true;
    },
    delete(name, options = {}) {
      ensureOpen();
      checkName(name);
      return isMet(name, options) && remove(name);
    },
    list(group, options = {}) {
      ensureOpen();
      checkList(group, options);
      return listed(groups.names(group, options.after), { values, texts }, options.limit ?? LIST_MAX);
    },
    add: memoryNumbers({ expiry, leases, ensureOpen }),
  };
}

function memoryNumbers({ expiry, ensureOpen }: MemoryParts): StoreValues["add"] {
  const numbers = expiry.newMap<{ sum: number }>();
  return (name, amount, ttlMs) => {
    ensureOpen();
    checkName(name);
    checkAmount(amount);
    checkTtl(ttlMs);
    const number = numbers.get(name);
    if (number === undefined) numbers.set(name, { sum: amount }, expiry.after(ttlMs));
    else number.sum += amount;
    return number?.sum ?? amount;
  };
}

/** Which names are listed where. */
interface Groups {
  join(group: string | undefined, name: string): void;
  leave(group: string | undefined, name: string): void;
  names(group: string, after: string | undefined): readonly string[];
}

function memoryGroups(): Groups {
  const groups = new Map<string, SortedNames>();
  return {
    join(group, name) {
      if (group === undefined) return;
      const names = groups.get(group) ?? sortedNames();
      names.add(name);
      groups.set(group, names);
    },
    leave(group, name) {
      const names = group === undefined ? undefined : groups.get(group);
      if (group === undefined || names === undefined) return;
      names.delete(name);
      if (names.size === 0) groups.delete(group);
    },
    names: (group, after) => groups.get(group)?.from(after) ?? [],
  };
}

interface Kept {
  readonly values: ExpiringMap<Stored>;
  readonly texts: TextPool;
}

function listed(names: readonly string[], { values, texts }: Kept, limit: number): readonly NamedValue[] {
  const found: NamedValue[] = [];
  for (const name of names) {
    if (found.length === limit) break;
    const value = values.get(name);
    if (value !== undefined) found.push({ name, text: texts.read(value.text), version: value.version });
  }
  return found;
}

/** Names in the order of their UTF-16 units. */
interface SortedNames {
  readonly size: number;
  add(name: string): void;
  delete(name: string): void;
  /** Those that come after `after` now, or all. */
  from(after: string | undefined): readonly string[];
}

export function sortedNames(): SortedNames {
  const names: string[] = [];

  /** Where the first name is that is not smaller. */
  const indexOf = (name: string): number => {
    let [low, high] = [0, names.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((names[middle] as string) < name) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    get size() {
      return names.length;
    },
    add(name) {
      const index = indexOf(name);
      if (names[index] !== name) names.splice(index, 0, name);
    },
    delete(name) {
      const index = indexOf(name);
      if (names[index] === name) names.splice(index, 1);
    },
    from(after) {
      if (after === undefined) return [...names];
      const index = indexOf(after);
      return names.slice(names[index] === after ? index + 1 : index);
    },
  };
}
