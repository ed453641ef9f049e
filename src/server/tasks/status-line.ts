import type { Clock } from "../../std/clock.ts";

/** Passes on the newest of many texts, at most once in `everyMs`. */
export interface StatusLine {
  say(text: string): void;
  stop(): void;
}

export function createStatusLine(clock: Clock, everyMs: number, write: (text: string) => void): StatusLine {
  let next = Number.NEGATIVE_INFINITY;
  let newest = "";
  let disarm: (() => void) | undefined;

  const pass = (): void => {
    disarm = undefined;
    next = clock.now() + everyMs;
    write(newest);
  };

  return {
    say(text) {
      newest = text;
      if (disarm !== undefined) return;
      const wait = next - clock.now();
      if (wait > 0) disarm = clock.after(wait, pass);
      else pass();
    },
    stop: () => disarm?.(),
  };
}
