import type { Clock } from "../../std/clock.ts";

/** Sessions whose clients have so long to say that they are ready. One timer for all: the time is the same for each. */
export interface Greetings<S> {
  add(session: S): void;
  delete(session: S): void;
  /** Nobody looks any more. */
  stop(): void;
}

/** `look` hears of each session once, when its time is over. */
export function createGreetings<S>(clock: Clock, timeoutMs: number, look: (session: S) => void): Greetings<S> {
  const dues = new Map<S, number>();
  let disarm: (() => void) | undefined;

  const stop = (): void => {
    disarm?.();
    disarm = undefined;
  };

  const tick = (): void => {
    disarm = undefined;
    for (const [session, due] of [...dues]) {
      if (due > clock.now()) break;
      dues.delete(session);
      look(session);
    }
    arm();
  };

  const arm = (): void => {
    const [first] = dues.values();
    if (first !== undefined) disarm ??= clock.after(Math.max(0, first - clock.now()), tick);
  };

  return {
    add(session) {
      dues.set(session, clock.now() + timeoutMs);
      arm();
    },
    delete(session) {
      dues.delete(session);
      if (dues.size === 0) stop();
    },
    stop,
  };
}
