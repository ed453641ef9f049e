/**
 * Waits for work, and no longer than until the signal aborts: then it rejects with what `toError` makes of the reason. The
 * work goes on.
 */
export async function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  toError: (reason: unknown) => Error,
): Promise<T> {
  if (signal === undefined) return work;
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    const cancel = (): void => reject(toError(signal.reason));
    if (signal.aborted) return cancel();
    signal.addEventListener("abort", cancel, { once: true });
    stop = () => signal.removeEventListener("abort", cancel);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stop();
  }
}
