/** Something that went wrong without failing a call. */
export interface ClientWarning {
  readonly kind:
    | "callback-failed"
    | "tool-left-out"
    | "entry-left-out"
    /** A text for users or models contains invisible characters. It is not changed. */
    | "hidden-characters"
    | "output-unchecked"
    | "not-honoured"
    | "store-failed";
  readonly message: string;
  readonly cause?: unknown;
}

export type Warn = (warning: ClientWarning) => void;

/** Runs user code on the side: whatever it throws, now or in a promise, becomes a warning. */
export function guarded<T>(name: string, callback: (value: T) => unknown, warn: Warn): (value: T) => void {
  const report = (cause: unknown): void => warn({ kind: "callback-failed", message: `${name} threw`, cause });
  return (value) => {
    try {
      const done = callback(value);
      if (done instanceof Promise) done.catch(report);
    } catch (cause) {
      report(cause);
    }
  };
}

/** The sink for the warnings of one client. A sink that throws is not listened to. */
export function toWarn(onWarning: Warn | undefined): Warn {
  if (onWarning === undefined) return () => {};
  return (warning) => {
    try {
      onWarning(warning);
    } catch {
      // The warning callback itself has thrown.
    }
  };
}
