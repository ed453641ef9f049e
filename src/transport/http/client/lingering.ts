import type { Deadlines } from "../../../std/deadlines.ts";
import type { IncomingResponse } from "../http-send.ts";

/** Streams that have brought what they were for, and that their servers are about to end. */
export interface Lingering {
  /** Gives the server a moment to end the stream, so that its connection can be used again. */
  add(response: IncomingResponse): void;
  /** The stream is over. */
  delete(response: IncomingResponse): void;
  close(): void;
}

const lingerMs = 2_000;

export function createLingering(deadlines: Deadlines): Lingering {
  const streams = new Map<IncomingResponse, () => void>();

  return {
    add(response) {
      const deadline = deadlines.start({ idleMs: 0, totalMs: lingerMs }, () => {
        streams.delete(response);
        response.discard();
      });
      streams.set(response, () => deadline.stop());
    },
    delete(response) {
      streams.get(response)?.();
      streams.delete(response);
    },
    close() {
      for (const [response, stop] of streams) {
        stop();
        response.discard();
      }
      streams.clear();
    },
  };
}
