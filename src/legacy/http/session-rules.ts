import type { Failure } from "../../model/errors.ts";
import type { Auth, ServerCapabilities } from "../../model/peer.ts";
import { honoured } from "../../model/subscription.ts";
import { isAway, type Store } from "../../store/store.ts";
import type { Pulse } from "../../transport/http/heartbeat.ts";
import { type HttpAnswer, refusal } from "../../transport/http/http-message.ts";
import { type Feed, listenFrom } from "../session/change-feed.ts";
import type { Node } from "./cluster.ts";
import type { CallRules } from "./in-memory-session.ts";
import { partName, type SessionShelf, type SessionWaits } from "./session-store.ts";
import type { StreamsOptions } from "./session-streams.ts";

/** What sessions that several processes serve have in common. */
export interface SharedRules extends CallRules, StreamsOptions {
  readonly store: Store;
  readonly shelf: SessionShelf;
  readonly waits: SessionWaits;
  readonly node: Node;
  /** For what has to be looked at every few seconds. */
  readonly looks: Pulse;
  readonly sessionTtlMs: number;
}

/** How often that is. */
export const LOOK_MS = 2_000;

/** The answer while the store is away: the session may well be there. */
export const unavailable: HttpAnswer = refusal(503, "sessions cannot be reached now", { "retry-after": "1" });

/** What the events of a session that belong to no POST are called. */
export const ASIDE = "aside";
/** What stands in a stream where it ends. */
export const END = "";

interface RecordFeedOptions {
  readonly session: string;
  /** What the client was told in the handshake. */
  readonly capabilities: ServerCapabilities;
  /** On whose behalf it subscribes. */
  auth(): Auth | undefined;
  readonly rules: SharedRules;
}

/**
 * Writes down what a session subscribes to and waits for, for the process that
 * tells it the news. That the service would tell of a resource is tried first.
 */
export function createRecordFeed({ session, capabilities, auth, rules }: RecordFeedOptions): Feed {
  const { service, shelf, waits, node } = rules;

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
    expect: (elicitationId) => void keep(waits.addPage(session, elicitationId)),
    follow: (task) => void keep(waits.addTask(session, task)),
  };
}

/** What a session is told that belongs to no call: kept for whoever reads that, in whichever process. */
export interface Asides {
  /** Resolves when it is kept. Never rejects: what the store does not take is lost, and that is said. */
  tell(text: string): Promise<void>;
}

export function createAsides({ store, node, replayEvents, sessionTtlMs }: SharedRules, session: string): Asides {
  const limits = sessionTtlMs > 0 ? { keep: replayEvents, ttl: sessionTtlMs } : { keep: replayEvents };
  let told: Promise<void> = Promise.resolve();

  const keep = async (text: string): Promise<void> => {
    try {
      await store.streams.append(partName(session, ASIDE), [text], limits);
      await node.tell({ kind: "aside", session });
    } catch (error) {
      const why = isAway(error) ? "the store is away" : error;
      console.error("plugbay: a message to a client was not kept:", why);
    }
  };

  return {
    tell(text) {
      told = told.then(() => keep(text));
      return told;
    },
  };
}
