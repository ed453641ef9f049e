/**
 * The end of one piece of work, announced early.
 *
 * An `AbortController` costs more than a small call, so it is made when
 * somebody first reads `signal`; listeners that only this package needs do
 * without it.
 */
export class LazyAbort {
  #controller: AbortController | undefined;
  #listeners: Set<() => void> | undefined;
  #reason: unknown;
  aborted = false;

  get reason(): unknown {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** The first abort wins; later ones have no effect. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = undefined;
    this.#controller?.abort(reason);
  }

  /** Runs `listener` on abort, at once if that was before. Returns how to stop listening. */
  onAbort(listener: () => void): () => void {
    if (this.aborted) {
      listener();
      return () => {};
    }
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return () => {
      this.#listeners?.delete(listener);
    };
  }
}
