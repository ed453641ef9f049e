import type { Channel } from "../jsonrpc/channel.ts";
import type { Message } from "../jsonrpc/message.ts";

export interface MemoryOptions {
  /** More unread messages than this make `send` return a promise. Default 1024; 0 is off. */
  readonly maxUnread?: number | undefined;
}

/**
 * Two channels that are each other's peer.
 *
 * A message is passed by reference and never becomes text, so neither side may
 * change one. What is sent before the reader comes back for more arrives as one
 * array. The promise of a `send` resolves when the reader has taken what waits,
 * or when either side closes.
 *
 * Closing a side drops what it has not read; the other side reads what was sent
 * to it, then its reading ends.
 */
export function createMemoryChannels({ maxUnread = 1024 }: MemoryOptions = {}): readonly [Channel, Channel] {
  const left = createInbox(maxUnread);
  const right = createInbox(maxUnread);
  return [toChannel(left, right), toChannel(right, left)];
}

function toChannel(own: Inbox, other: Inbox): Channel {
  return {
    incoming: own,
    send: other.put,
    async close() {
      own.end();
      own.takeAll();
      other.end();
    },
  };
}

/** The messages on their way to one side. */
interface Inbox extends AsyncIterable<readonly Message[]> {
  put(message: Message): Promise<void> | undefined;
  takeAll(): readonly Message[];
  /** Takes nothing more in. What is unread can still be read. */
  end(): void;
}

function createInbox(maxUnread: number): Inbox {
  let unread: Message[] = [];
  let open = true;
  let wakeReader = (): void => {};
  let caughtUp: Promise<void> | undefined;
  let releaseWriter = (): void => {};

  const takeAll = (): readonly Message[] => {
    const taken = unread;
    unread = [];
    caughtUp = undefined;
    releaseWriter();
    return taken;
  };

  const arrival = (): Promise<void> =>
    new Promise((resolve) => {
      wakeReader = resolve;
    });

  return {
    put(message) {
      if (!open) return undefined;
      unread.push(message);
      wakeReader();
      if (maxUnread === 0 || unread.length <= maxUnread) return undefined;
      caughtUp ??= new Promise((resolve) => {
        releaseWriter = resolve;
      });
      return caughtUp;
    },
    takeAll,
    end() {
      open = false;
      wakeReader();
      releaseWriter();
    },
    async *[Symbol.asyncIterator]() {
      while (open || unread.length > 0) {
        if (unread.length > 0) yield takeAll();
        else await arrival();
      }
    },
  };
}
