import { isRequestBound } from "./clock.ts";

/**
 * The end of one piece of work, announced early.
 *
 * An `AbortController` costs more than a small call, so it is made when
 * somebody first reads `signal`; listeners that only this package needs do
 * without it.
 */
export class LazyAbort {
  #controller: AbortController | undefined;
  /** Most have one listener, or none: only a second one is worth a set. */
  #first: (() => void) | undefined;
  #others: Set<() => void> | undefined;
  #reason: unknown;
  aborted = false;

  get reason(): unknown {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      const tell = (): void => controller.abort(this.#reason);
      this.#controller = controller;
      if (this.aborted) tell();
      // Another request may abort, but the controller belongs to the one that waits here.
      else if (isRequestBound) void new Promise<void>((resolve) => this.onAbort(resolve)).then(tell);
    }
    return this.#controller.signal;
  }

  /** The first abort wins; later ones have no effect. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.#reason = reason;
    this.#first?.();
    for (const listener of this.#others ?? []) listener();
    this.#first = undefined;
    this.#others = undefined;
    if (!isRequestBound) this.#controller?.abort(reason);
  }

  /** Runs `listener` on abort, at once if that was before. Returns how to stop listening. */
  onAbort(listener: () => void): () => void {
    if (this.aborted) {
      listener();
      return () => {};
    }
    if (this.#first === undefined && this.#others === undefined) this.#first = listener;
    else this.#another(listener);
    return () => this.#forget(listener);
  }

  #another(listener: () => void): void {
    this.#others ??= new Set();
    this.#others.add(listener);
  }

  #forget(listener: () => void): void {
    if (this.#first === listener) this.#first = undefined;
    else this.#others?.delete(listener);
  }
}

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
    stop = onAbortOf(signal, cancel);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stop();
  }
}

/** What waits for each signal. The platform warns of many listeners on one signal, so that this is one of them. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls a function when the signal aborts. Returns what ends that. */
function onAbortOf(signal: AbortSignal, call: () => void): () => void {
  const calls = waiting.get(signal) ?? listenTo(signal);
  calls.add(call);
  return () => {
    if (!calls.delete(call) || calls.size > 0) return;
    signal.removeEventListener("abort", callAll);
    waiting.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const calls = new Set<() => void>();
  waiting.set(signal, calls);
  signal.addEventListener("abort", callAll, { once: true });
  return calls;
}

function callAll(this: AbortSignal): void {
  for (const call of waiting.get(this) ?? []) call();
}
