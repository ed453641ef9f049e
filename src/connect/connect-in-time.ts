import type { Authorizer } from "../protocol/authorizer.ts";
import type { Connection } from "../protocol/connection.ts";
import type { McpError } from "../protocol/errors.ts";
import type { Clock } from "../std/clock.ts";

interface SignInPausedClock {
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

export function createSignInPausedClock(clock: Clock, auth: Authorizer): SignInPausedClock {
  const timers = new Set<Timer>();
  let busy = 0;
  /** How long the clock has stood still, and since when it does. */
  let pausedMs = 0;
  let pausedSince = 0;

  const now = (): number => (busy > 0 ? pausedSince : clock.now()) - pausedMs;

  const arm = (timer: Timer): void => {
    timer.cancel = clock.after(Math.max(0, timer.due - now()), () => {
      timers.delete(timer);
      timer.task();
    });
  };

  const stop = (): void => {
    if (busy++ > 0) return;
    pausedSince = clock.now();
    for (const { cancel } of timers) cancel();
  };

  const restart = (): void => {
    if (--busy > 0) return;
    pausedMs += clock.now() - pausedSince;
    for (const timer of timers) arm(timer);
  };

  const whilePaused = async <T>(work: Promise<T>): Promise<T> => {
    stop();
    try {
      return await work;
    } finally {
      restart();
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
      ...(clock.hold && { hold: () => clock.hold?.() ?? (() => {}) }),
    },
    auth: {
      ...auth,
      headers: (request) => auth.headers(request),
      refused: (request, answer, options) => whilePaused(auth.refused(request, answer, options)),
      answered: (request, answer) => auth.answered?.(request, answer),
    },
  };
}

interface TimeLimit {
  readonly clock: Clock;
  /** For all of connecting, however many steps it takes. 0 is off. */
  readonly timeoutMs: number;
  /** The error at the limit. */
  tooLate(): McpError;
  /** Ends the attempt. */
  readonly signal: AbortSignal | undefined;
  /** Is given the end of an attempt that took too long: it resolves when nothing of the attempt is left. */
  onAbandoned?(over: Promise<void>): void;
}

/**
 * Connects within a limit of time.
 *
 * Rejects with `timeout` at the limit, and does not wait until what was started is
 * ended: a program may take seconds to end.
 */
export async function connectInTime(
  open: (signal: AbortSignal | undefined) => Promise<Connection>,
  { clock, timeoutMs, tooLate, signal, onAbandoned }: TimeLimit,
): Promise<Connection> {
  if (timeoutMs === 0 || timeoutMs === Number.POSITIVE_INFINITY) return open(signal);
  const abort = new AbortController();
  const cancel = (): void => abort.abort(signal?.reason);
  signal?.addEventListener("abort", cancel, { once: true });
  const opened = open(abort.signal);
  let disarm = (): void => {};
  const late = new Promise<never>((_, reject) => {
    disarm = clock.after(timeoutMs, () => {
      const error = tooLate();
      reject(error);
      abort.abort(error);
      onAbandoned?.(discard(opened));
    });
  });
  try {
    return await Promise.race([opened, late]);
  } finally {
    disarm();
    signal?.removeEventListener("abort", cancel);
  }
}

/** An attempt may succeed at the very moment when it is given up. */
function discard(opened: Promise<Connection>): Promise<void> {
  return opened.then(
    (connection) => connection.close(),
    () => {},
  );
}
