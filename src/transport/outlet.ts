import type { Channel } from "../jsonrpc/channel.ts";

/** A channel that knows whether its peer keeps up with what is sent to it. */
export interface Outlet extends Channel {
  /** Resolves when the peer has caught up. Undefined while it keeps up. */
  readonly caughtUp: Promise<void> | undefined;
}

/** Watches what is sent into a channel. Use the returned channel instead of the one given. */
export function createOutlet(channel: Channel): Outlet {
  let slow: Promise<void> | undefined;

  const watch = async (written: Promise<void>): Promise<void> => {
    slow = written;
    await written;
    if (slow === written) slow = undefined;
  };

  return {
    incoming: channel.incoming,
    http: channel.http,
    send(message) {
      const written = channel.send(message);
      if (written !== undefined && written !== slow) void watch(written);
      return written;
    },
    close: () => channel.close(),
    get caughtUp() {
      return slow;
    },
  };
}
