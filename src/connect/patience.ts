import type { Authorizer } from "../model/authorizer.ts";
import type { Clock } from "../std/clock.ts";

export interface Patience {
  /** Stands still after a request was refused: users take longer to sign in than servers may take to answer. */
  readonly clock: Clock;
  /** The authorizer, watched. */
  readonly auth: Authorizer;
}

interface Timer {
  readonly task: () => void;
  /** When it is due, by the clock that stands still. */
  readonly due: number;
  cancel(): void;
}

export function createPatience(clock: Clock, auth: Authorizer): Patience {
  const timers = new Set<Timer>();
  let busy = 0;
  /** How long the clock has stood still, and since when it does. */
  let stood = 0;
  let since = 0;

  const now = (): number => (busy > 0 ? since : clock.now()) - stood;

  const arm = (timer: Timer): void => {
    timer.cancel = clock.after(Math.max(0, timer.due - now()), () => {
      timers.delete(timer);
      timer.task();
    });
  };

  const stop = (): void => {
    if (busy++ > 0) return;
    since = clock.now();
    for (const { cancel } of timers) cancel();
  };

  const goOn = (): void => {
    if (--busy > 0) return;
    stood += clock.now() - since;
    for (const timer of timers) arm(timer);
  };

  const patiently = async <T>(work: Promise<T>): Promise<T> => {
    stop();
    try {
      return await work;
    } finally {
      goOn();
    }
  };

  return {
    clock: {
      now,
      after(ms, task) {
        const timer: Timer = { task, due: now() + ms, cancel() {} };
        timers.add(timer);
        if (busy === 0) arm(timer);
        return () => {
          timers.delete(timer);
          timer.cancel();
        };
      },
    },
    auth: {
      ...auth,
      headers: (request) => auth.headers(request),
      refused: (request, answer) => patiently(auth.refused(request, answer)),
      answered: (request, answer) => auth.answered?.(request, answer),
    },
  };
}
