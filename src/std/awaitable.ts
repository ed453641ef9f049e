/** A value that is there now, or will be. */
export type Awaitable<T> = T | Promise<T>;

/** Continues with a value immediately, or when its promise resolves. */
export function chain<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** All values: now if all are there, else when they are. */
export function allOf<T extends readonly unknown[]>(values: T): Awaitable<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  type All = { -readonly [I in keyof T]: Awaited<T[I]> };
  return values.some((value) => value instanceof Promise)
    ? (Promise.all(values) as Promise<All>)
    : ([...values] as All);
}

/** As a promise, also when the work throws at once. */
export async function promised<T>(work: () => Awaitable<T>): Promise<T> {
  return work();
}
