import type { Server } from "node:net";
import type { Clock } from "../../std/clock.ts";
import { endOfTurn } from "./write-batch.ts";

/** Hears of those who still come to a server that closes. */
export interface LateRequests {
  /**
   * Resolves when nobody has come for a moment, or others do so all the time.
   *
   * A server that stops listening resets those whom the system has accepted and Node has not, and one that closes an idle
   * connection the request that is on its way there. A proxy that got 503 goes elsewhere by then.
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

/** How long those are waited for who come all the time. */
export const PATIENCE_MS = 2_000;
