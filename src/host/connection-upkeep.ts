import type { ClientConnection } from "../connect/create-connect.ts";
import { isObject } from "../json/json.ts";
import { type Failure, McpError, toFailure } from "../protocol/errors.ts";
import type { Clock } from "../std/clock.ts";

/** True when a server, or what stands for it, has not answered. What it refuses is an answer. */
function isSilence({ code, data }: McpError): boolean {
  if (code === "connection-closed" || code === "timeout") return true;
  return code === "http-error" && isObject(data) && typeof data.status === "number" && data.status >= 502;
}

interface UpkeepOptions {
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
  readonly pingIntervalMs: number;
  readonly isRemote: boolean;
}

interface UpkeepEvents {
  /** Nobody has used the server for `idleTimeoutMs`. */
  unused(): void;
  /** The server does not answer any more. */
  lost(reason: Failure): void;
}

/** What those who use a connection say of it. */
export interface ConnectionUpkeep {
  /** Counts work as use: a server in use is not let go. */
  use<T>(work: Promise<T>): Promise<T>;
  /** Resolves when nothing uses the server. */
  unused(): Promise<void>;
  /** A call has failed in a way that a server which is gone would explain: it is asked whether it is there. */
  doubt(): void;
}

/** Looks after the connection to a server: is it there, and does anybody need it? */
interface Upkeep {
  start(line: ClientConnection): void;
  stop(): void;
  readonly shared: ConnectionUpkeep;
}

/** How long a server has to answer that is asked because a call to it failed. */
const DOUBT_MS = 5_000;

export function createUpkeep(options: UpkeepOptions, { unused, lost }: UpkeepEvents): Upkeep {
  const { clock, idleTimeoutMs, pingIntervalMs, isRemote } = options;
  let line: ClientConnection | undefined;
  let inUse = 0;
  let usedAt = 0;
  let wake: (() => void)[] = [];
  let stopIdle = (): void => {};
  let stopHealth = (): void => {};
  let doubted: ClientConnection | undefined;

  const watchIdle = (): void => {
    stopIdle();
    if (idleTimeoutMs === 0 || line === undefined) return;
    stopIdle = clock.after(Math.max(0, usedAt + idleTimeoutMs - clock.now()), () => {
      if (inUse === 0 && clock.now() - usedAt >= idleTimeoutMs) unused();
      else if (inUse === 0) watchIdle();
    });
  };

  const watchHealth = (): void => {
    const watched = line;
    // Modern servers have no ping: every request stands for itself.
    if (pingIntervalMs === 0 || watched?.connection.ping === undefined) return;
    stopHealth = clock.after(pingIntervalMs, () => {
      const gone = (): void => {
        if (line === watched) lost({ code: "timeout", message: `no answer to ping within ${pingIntervalMs} ms` });
      };
      // A call that the server refuses is an answer too.
      const fine = (): void => {
        if (line === watched) watchHealth();
      };
      watched.client
        .ping({ timeoutMs: pingIntervalMs })
        .then(fine, (error: { readonly code?: string }) => (error.code === "timeout" ? gone() : fine()));
    });
  };

  const done = (): void => {
    inUse--;
    usedAt = clock.now();
    if (inUse > 0) return;
    watchIdle();
    const woken = wake;
    wake = [];
    for (const one of woken) one();
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
    shared: {
      use(work) {
        inUse++;
        work.then(done, done);
        return work;
      },
      doubt() {
        const asked = line;
        if (!isRemote || asked === undefined || doubted === asked) return;
        doubted = asked;
        const over = (reason?: Failure): void => {
          if (doubted === asked) doubted = undefined;
          if (line === asked && reason !== undefined) lost(reason);
        };
        asked.client.ping({ timeoutMs: DOUBT_MS }).then(
          () => over(),
          (error: unknown) => over(error instanceof McpError && isSilence(error) ? toFailure(error) : undefined),
        );
      },
      async unused() {
        while (inUse > 0) await new Promise<void>((resolve) => wake.push(resolve));
      },
    },
  };
}
