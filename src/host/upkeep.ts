import type { Line } from "../connect/create-connect.ts";
import type { Failure } from "../model/errors.ts";
import type { Clock } from "../std/clock.ts";

export interface UpkeepOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly healthMs: number;
}

export interface UpkeepEvents {
  /** Nobody has used the server for `idleMs`. */
  unused(): void;
  /** The server does not answer any more. */
  lost(reason: Failure): void;
}

/** Looks after the connection to a server: is it there, and does anybody need it? */
export interface Upkeep {
  start(line: Line): void;
  stop(): void;
  /** Counts work as use. */
  use<T>(work: Promise<T>): Promise<T>;
}

export function createUpkeep({ clock, idleMs, healthMs }: UpkeepOptions, { unused, lost }: UpkeepEvents): Upkeep {
  let line: Line | undefined;
  let inUse = 0;
  let usedAt = 0;
  let stopIdle = (): void => {};
  let stopHealth = (): void => {};

  const watchIdle = (): void => {
    stopIdle();
    if (idleMs === 0 || line === undefined) return;
    stopIdle = clock.after(Math.max(0, usedAt + idleMs - clock.now()), () => {
      if (inUse === 0 && clock.now() - usedAt >= idleMs) unused();
      else if (inUse === 0) watchIdle();
    });
  };

  const watchHealth = (): void => {
    const watched = line;
    // Modern servers have no ping: every request stands for itself.
    if (healthMs === 0 || watched?.connection.ping === undefined) return;
    stopHealth = clock.after(healthMs, () => {
      const gone = (): void => {
        if (line === watched) lost({ code: "timeout", message: `no answer to ping within ${healthMs} ms` });
      };
      // A call that the server refuses is an answer too.
      const fine = (): void => {
        if (line === watched) watchHealth();
      };
      watched.client
        .ping({ timeoutMs: healthMs })
        .then(fine, (error: { readonly code?: string }) => (error.code === "timeout" ? gone() : fine()));
    });
  };

  const done = (): void => {
    inUse--;
    usedAt = clock.now();
    if (inUse === 0) watchIdle();
  };

  return {
    start(opened) {
      line = opened;
      usedAt = clock.now();
      if (inUse === 0) watchIdle();
      watchHealth();
    },
    stop() {
      line = undefined;
      stopIdle();
      stopHealth();
    },
    use(work) {
      if (idleMs === 0) return work;
      inUse++;
      work.then(done, done);
      return work;
    },
  };
}
