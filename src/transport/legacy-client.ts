import type { Channel } from "../jsonrpc/channel.ts";
import type { PeerHandlers, RpcPeer } from "../jsonrpc/peer.ts";
import type { Ending, OpenConnection, Opening } from "../protocol/connection.ts";
import type { MessageLimits } from "../protocol/limits.ts";
import type { LegacyRevision } from "../protocol/revision.ts";
import type { Clock } from "../std/clock.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { Endpoint } from "./http/client/http-endpoint.ts";
import type { HttpWarn } from "./http/client/tool-headers.ts";

/** What speaks with servers that open with `initialize`. */
export interface LegacyClient {
  /** Opens the handshake on a channel. Rejects when the server refuses, or speaks what this client does not. */
  initialize(client: ChannelClient, revision: LegacyRevision, hooks?: SessionHooks): Promise<Initialized>;
  /** A channel to a server behind a URL: POSTs, and the streams of a session. */
  createHttpChannel(options: HttpChannelOptions): HttpChannel;
  /** A channel over HTTP+SSE, the transport of 2024-11-05. */
  createSseChannel(options: HttpChannelOptions): Channel;
}

/** A server of an older revision that has answered `initialize`. */
export interface Initialized {
  /** Completes the handshake. */
  connect(): OpenConnection;
}

/** A client's end of a channel. */
export interface ChannelClient {
  readonly rpc: RpcPeer;
  readonly opening: Opening;
  /** Resolves when the channel is over. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Replaces what takes the messages of the server. */
  use(handlers: ServerMessageHandlers): void;
}

/** What takes the messages that a server sends by itself. */
export type ServerMessageHandlers = Required<
  Pick<PeerHandlers, "onRequest" | "onNotification" | "findRequestId" | "acceptsBatches">
>;

/** What a channel does about sessions, where it does more than carry them. */
export interface SessionHooks {
  /** Resolves when what the server says by itself can arrive. */
  readonly listening?: Promise<void> | undefined;
  /** Called with the function that repeats the state of this client to a server that has lost it. */
  readonly onSession?: ((restore: () => Promise<void>) => void) | undefined;
}

export interface HttpChannelOptions {
  readonly endpoint: Endpoint;
  readonly clock: Clock;
  readonly warn: HttpWarn;
  /** For messages without a response: a notification, the end of a session. */
  readonly timeoutMs: number;
  readonly limits: MessageLimits;
  /** Between 0 and 1. */
  readonly random?: (() => number) | undefined;
}

/** A {@link Channel} to a server behind a URL. */
export interface HttpChannel extends Channel {
  /** The status that `initialize` was answered with. */
  readonly lastStatus: number | undefined;
  /** True once the server has given the session an id. */
  readonly hasSession: boolean;
  /** What to do when the server has lost the session and a new one was opened. */
  onRenewal(restore: () => void): void;
  /** Resolves when what a legacy server says by itself can arrive. */
  readonly listening: Promise<void>;
}

/** The seam to `src/legacy`: loaded when the first server turns out to speak an older revision. */
export const legacyClient: Lazy<LegacyClient> = lazy(() => import("#legacy/client"));
