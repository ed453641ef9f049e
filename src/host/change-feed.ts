import type { Change } from "../model/subscription.ts";
import type { Broadcast } from "../std/broadcast.ts";
import type { HostEvent } from "./host-event.ts";
import type { Seat } from "./seat.ts";

/** A change on one of the servers. */
export type HostChange = Change & { readonly server: string };

/** A resource of a server. */
export interface ResourceRef {
  readonly server: string;
  readonly uri: string;
}

export interface ChangesOptions {
  /** Resources whose updates are wanted, beside changes of lists. */
  readonly resources?: readonly ResourceRef[];
  readonly signal?: AbortSignal;
}

/** Changes, until the reader leaves the loop, the signal aborts or the host is closed. */
export interface HostChanges extends AsyncIterable<HostChange> {
  /** Resolves when all servers that are connected listen: no later change is missed. Never rejects. */
  readonly ready: Promise<void>;
}

export type ChangeFeed = (options?: ChangesOptions) => HostChanges;

export interface ChangeFeedOptions {
  readonly events: Broadcast<HostEvent>;
  readonly seats: ReadonlyMap<string, Seat>;
  /** Throws when there is no such server. */
  seat(server: string): Seat;
}

/** The changes of all servers as one stream. Listening starts with the call, and ends with the loop. */
export function createChangeFeed({ events, seats, seat }: ChangeFeedOptions): ChangeFeed {
  return ({ resources = [], signal } = {}) => {
    const wanted = new Set(resources.map(({ server, uri }) => `${server} ${uri}`));
    const watched = resources.map(({ server, uri }) => seat(server).follower.watch(uri));
    const stop = (): void => {
      for (const one of watched) one.stop();
    };
    signal?.addEventListener("abort", stop, { once: true });
    const isWanted = (server: string, change: Change): boolean =>
      change.kind !== "resource" || wanted.has(`${server} ${change.uri}`);
    const items = read(events.listen(signal), isWanted, stop);
    const lists = [...seats.values()].map(({ follower }) => follower.listening);
    return {
      ready: Promise.all([...lists, ...watched.map(({ ready }) => ready)]).then(() => {}),
      [Symbol.asyncIterator]: () => items,
    };
  };
}

async function* read(
  source: AsyncIterable<HostEvent>,
  isWanted: (server: string, change: Change) => boolean,
  stop: () => void,
): AsyncGenerator<HostChange, void, undefined> {
  try {
    for await (const event of source) {
      if (event.kind === "changed" && isWanted(event.server, event.change))
        yield { ...event.change, server: event.server };
    }
  } finally {
    stop();
  }
}
