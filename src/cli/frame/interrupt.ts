/** What ends a command early. */
export interface Interrupt {
  /** Of what runs now. */
  readonly signal: AbortSignal;
  /** The first time the signal aborts; the second time the process ends at once. */
  interrupt(): void;
  /** From now on another thing runs, with a signal of its own, until what it returns is called. */
  begin(): () => void;
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Ends a command at the first Ctrl-C, SIGTERM or SIGHUP, and the process at the second. */
export function createInterrupt(exit: (code: 130) => void): Interrupt {
  let controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) exit(130);
    controller.abort(new Error("interrupted"));
  };
  for (const signal of signals) process.on(signal, interrupt);
  return {
    get signal() {
      return controller.signal;
    },
    interrupt,
    begin() {
      const before = controller;
      controller = new AbortController();
      return () => {
        controller = before;
      };
    },
  };
}
