import type { Feed } from "../../../../legacy/feed.ts";
import { listenFrom } from "../../../../legacy/listen-from.ts";
import type { Failure } from "../../../../model/errors.ts";
import type { Auth, ServerCapabilities } from "../../../../model/peer.ts";
import { honoured } from "../../../../model/subscription.ts";
import type { SharedRules } from "./shared-rules.ts";

export interface RecordFeedOptions {
  readonly session: string;
  /** What the client was told in the handshake. */
  readonly capabilities: ServerCapabilities;
  /** On whose behalf it subscribes. */
  auth(): Auth | undefined;
  readonly rules: SharedRules;
}

/**
 * Writes down what a session subscribes to, for the process that tells it the
 * news. That the service would tell of it is tried first.
 */
export function createRecordFeed({ session, capabilities, auth, rules }: RecordFeedOptions): Feed {
  const { service, shelf, node } = rules;

  const attempt = async (uri: string): Promise<Failure | undefined> => {
    const filter = honoured({ resourceSubscriptions: [uri] }, capabilities);
    if (Object.keys(filter).length === 0) return undefined;
    const listening = listenFrom({ service, filter, auth: auth(), tell() {} });
    const failure = await listening.begun;
    listening.stop();
    return failure;
  };

  const keep = async (write: Promise<void>): Promise<Failure | undefined> => {
    try {
      await write;
      await node.tell({ kind: "changed", session });
      return undefined;
    } catch {
      return { code: "internal", message: "subscriptions cannot be kept now" };
    }
  };

  return {
    start: async () => undefined,
    stop() {},
    subscribe: async (uri) => (await attempt(uri)) ?? keep(shelf.subscribe(session, uri)),
    unsubscribe: (uri) => keep(shelf.unsubscribe(session, uri)),
    subscriptions: () => [],
  };
}
