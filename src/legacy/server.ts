import { withRequests } from "../jsonrpc/create-peer.ts";
import { type SessionEnd, startServerSession } from "../protocol/telemetry.ts";
import type { LegacySession, LegacySessionOptions } from "../transport/legacy-server.ts";
import { createServerSession, type ServerSession } from "./session/server-session.ts";

/**
 * Serves the sessions that `initialize` opens on a channel, one at a time. What sends their questions is loaded with this.
 *
 * A second `initialize` opens a new session, as a gateway does that leads several clients to one process. The old session
 * serves until the client says that the new one is initialized; calls that are open then go on.
 */
export function createChannelSession(options: LegacySessionOptions): LegacySession {
  const create = (): ServerSession => createServerSession({ ...options, peer: withRequests(options.peer) });
  let session = create();
  let successor: ServerSession | undefined;
  let end: SessionEnd | undefined;

  const begin = (): void => {
    const { revision } = session;
    if (revision !== undefined) end ??= startServerSession(options.service, { revision, transport: "pipe" });
  };

  const finish = (): void => {
    end?.();
    end = undefined;
  };

  /** A successor that could not agree with its client takes no place. */
  const replace = (): void => {
    if (successor?.revision === undefined) return;
    finish();
    session.close();
    session = successor;
    successor = undefined;
  };

  return {
    request(incoming) {
      if (!session.greeted || incoming.request.method !== "initialize") return session.request(incoming);
      successor = create();
      return successor.request(incoming);
    },
    notification(notification, via) {
      const isReady = notification.method.endsWith("initialized");
      if (isReady) replace();
      session.notification(notification, via);
      if (isReady) begin();
    },
    acceptsBatches: () => session.acceptsBatches(),
    get greeted() {
      return session.greeted;
    },
    // A successor tells its client nothing before it takes the place.
    close() {
      finish();
      session.close();
      successor?.close();
    },
  };
}
