const waiting: (() => void)[] = [];

/** Runs what takes long in a turn of the event loop of its own, so that what is short never waits for several of them. */
export function inOwnTurn(work: () => void): void {
  if (waiting.push(work) === 1) setImmediate(runNext);
}

function runNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(runNext);
}
