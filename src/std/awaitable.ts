/** A value that is there now, or will be. */
export type Awaitable<T> = T | Promise<T>;

/** As a promise, also when the work throws at once. */
export async function promised<T>(work: () => Awaitable<T>): Promise<T> {
  return work();
}
