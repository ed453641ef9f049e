import type { Server } from "node:net";
import type { Clock } from "../../std/clock.ts";
import { endOfTurn } from "./write-batch.ts";

/** Tracks connections that arrive while the server is closing. */
export interface LateRequests {
  /**
   * Resolves when no request has arrived for a moment, or after a limit.
   *
   * A server that stops listening resets connections that the system has accepted and Node has not, and one that closes
   * an idle connection loses the request that is in transit. After a 503, a proxy uses another server.
   */
  quiet(): Promise<void>;
}

/** Listens from when a server begins to close. */
export function watchArrivals(server: Server, clock: Clock): LateRequests {
  let count = 0;
  const arrived = (): void => void count++;
  server.on("connection", arrived);
  server.on("request", arrived);

  return {
    async quiet() {
      let isEnough = false;
      const stop = clock.after(PATIENCE_MS, () => {
        isEnough = true;
      });
      // By the second turn those that wait by now are known.
      await endOfTurn();
      await endOfTurn();
      for (let before = 0; count !== before && !isEnough; ) {
        before = count;
        await new Promise((resolve) => setTimeout(resolve, MOMENT_MS));
        await endOfTurn();
      }
      stop();
    },
  };
}

/** Longer than it takes a proxy to try elsewhere. */
const MOMENT_MS = 100;

/** Maximum wait while requests keep arriving. */
export const PATIENCE_MS = 2_000;
