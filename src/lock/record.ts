/**
 * An object of these members, sorted by name, that has no others: not even
 * `constructor`. For names that servers choose.
 */
export function toRecord<T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> {
  const record: Record<string, T> = Object.create(null);
  for (const [name, value] of [...entries].sort(byName)) record[name] = value;
  return record;
}

/** A member that an object has itself. */
export function memberOf<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
