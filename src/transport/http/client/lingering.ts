import type { Deadline, Deadlines } from "../../../std/deadlines.ts";
import { type Linked, LinkedSet } from "../../../std/linked-set.ts";
import type { IncomingResponse } from "../http-send.ts";

/** Streams that have brought what they were for, and that their servers are about to end. */
export interface Lingering {
  /** Gives the server a moment to end the stream, so that its connection can be used again. */
  add(response: IncomingResponse): Linger;
  close(): void;
}

export interface Linger {
  /** The stream has ended. */
  over(): void;
}

const lingerMs = 2_000;

export function createLingering(deadlines: Deadlines): Lingering {
  const streams = new LinkedSet<LingeringStream>();
  return {
    add: (response) => new LingeringStream(response, streams, deadlines),
    close() {
      for (const stream of streams.toArray()) stream.giveUp();
    },
  };
}

class LingeringStream implements Linger, Linked<LingeringStream> {
  previous: LingeringStream | undefined;
  next: LingeringStream | undefined;
  readonly #response: IncomingResponse;
  readonly #among: LinkedSet<LingeringStream>;
  readonly #deadline: Deadline;

  constructor(response: IncomingResponse, among: LinkedSet<LingeringStream>, deadlines: Deadlines) {
    this.#response = response;
    this.#among = among;
    this.#deadline = deadlines.start({ idleMs: 0, totalMs: lingerMs }, () => this.giveUp());
    among.add(this);
  }

  over(): void {
    if (this.#among.delete(this)) this.#deadline.stop();
  }

  giveUp(): void {
    this.over();
    this.#response.discard();
  }
}
