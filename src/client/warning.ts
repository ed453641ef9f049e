/** Something that went wrong without failing a call. */
export interface ClientWarning {
  readonly kind: "callback-failed" | "tool-left-out" | "output-unchecked" | "not-honoured";
  readonly message: string;
  readonly cause?: unknown;
}

export type Warn = (warning: ClientWarning) => void;

/** Runs user code on the side: whatever it throws becomes a warning. */
export function guarded<T>(name: string, callback: (value: T) => void, warn: Warn): (value: T) => void {
  return (value) => {
    try {
      callback(value);
    } catch (cause) {
      warn({ kind: "callback-failed", message: `${name} threw`, cause });
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
      // There is nobody left to tell.
    }
  };
}
