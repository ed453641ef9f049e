/** A value that is there now, or will be. */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with a value: at once when it is there, else when it will be. */
export function chain<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** As a promise, also when the work throws at once. */
export async function promised<T>(work: () => Awaitable<T>): Promise<T> {
  return work();
}
