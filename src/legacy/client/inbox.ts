import type { Incoming } from "../../jsonrpc/message.ts";
import { asyncQueue } from "../../std/async-queue.ts";

/** What has arrived over any number of HTTP answers, for one reader. */
export interface Inbox {
  readonly incoming: AsyncIterable<readonly Incoming[]>;
  /** A promise means that the reader is behind: read no more until it resolves. */
  put(messages: readonly Incoming[]): Promise<void> | undefined;
  end(): void;
  fail(error: unknown): void;
}

/** How many arrays may wait for the reader before the servers have to. */
const maxWaiting = 4;

export function createInbox(): Inbox {
  const queue = asyncQueue<readonly Incoming[]>();
  const reader = queue[Symbol.asyncIterator]();
  let room: Promise<void> | undefined;
  let release = (): void => {};

  const makeRoom = (): void => {
    if (room === undefined) return;
    room = undefined;
    release();
  };

  const next = (): ReturnType<typeof reader.next> => {
    const item = reader.next();
    if (queue.size < maxWaiting) makeRoom();
    return item;
  };

  return {
    incoming: { [Symbol.asyncIterator]: () => ({ next }) },
    put(messages) {
      queue.push(messages);
      if (queue.size <= maxWaiting) return undefined;
      room ??= new Promise((resolve) => {
        release = resolve;
      });
      return room;
    },
    end() {
      queue.end();
      makeRoom();
    },
    fail(error) {
      queue.fail(error);
      makeRoom();
    },
  };
}
