import type { Clock } from "../../std/clock.ts";

/** Does `task` every `ms`, counted from its end. Keeps no process alive. Returns how to stop. */
export function every(clock: Clock, ms: number, task: () => Promise<void>): () => void {
  let isStopped = false;
  let disarm = clock.after(ms, run);

  async function run(): Promise<void> {
    await task();
    if (!isStopped) disarm = clock.after(ms, run);
  }

  return () => {
    isStopped = true;
    disarm();
  };
}
