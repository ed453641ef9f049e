import { isObject } from "../json/json.ts";
import { weightOf } from "../json/weight.ts";
import type { Channel, Sender } from "../jsonrpc/channel.ts";
import type { IncomingRequest } from "../jsonrpc/inbound.ts";
import type { Incoming, Notification, Request } from "../jsonrpc/message.ts";
import { type AnsweringPeer, createAnsweringPeer, type PeerCounters } from "../jsonrpc/peer.ts";
import type { ChannelBudgets } from "../protocol/budget.ts";
import { McpError } from "../protocol/errors.ts";
import type { Limits } from "../protocol/limits.ts";
import { metaKeys } from "../protocol/meta.ts";
import { type DiscoverResult, methodRow, runsHandler } from "../protocol/methods.ts";
import type { OptionNames } from "../protocol/option-names.ts";
import { newest } from "../protocol/revision.ts";
import type { CallOrigin, Service } from "../protocol/service.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { createGate } from "../std/gate.ts";
import { holding } from "../std/hold.ts";
import type { HttpRequestInfo } from "../std/http-request-info.ts";
import type { Caller, CallGate, Share, SharedKind } from "./caller.ts";
import { type ChannelBounds, defaultBounds } from "./channel-bounds.ts";
import { describeService } from "./describe-service.ts";
import { createLegacySession, type LegacySession } from "./legacy-server.ts";
import { createModernDispatcher } from "./modern-dispatcher.ts";

export interface ServeChannelOptions {
  /** Bounds on one message and one subscription, by name. What is left out has its default. */
  readonly limits?: Limits | undefined;
  /**
   * What may be held at a time. The client of a channel is its connection, its principal and all of the process at once: the
   * narrowest limit counts. What is left out has its default; 0 switches a limit off.
   */
  readonly budgets?: ChannelBudgets | undefined;
  /** How long open requests may continue after the client has disconnected. Default 5 s. */
  readonly drainMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

export const serveChannelOptionNames: OptionNames<ServeChannelOptions> = {
  limits: true,
  budgets: true,
  drainMs: true,
  clock: true,
};

/** The same with bounds that were found to be some. */
export interface ChannelOptions extends Omit<ServeChannelOptions, "limits" | "budgets"> {
  readonly bounds?: ChannelBounds | undefined;
  /** Whose shares calls and subscriptions are taken of. Default: those that the bounds make up. */
  readonly caller?: Caller | undefined;
}

/** A service being served to one client. */
export interface Serving {
  /** Resolves when the service has said what it is, or has failed to. Rejects when it is defined badly. */
  readonly ready: Promise<void>;
  /** Resolves when it is over, with the error that ended it if one did. Never rejects. */
  readonly ended: Promise<unknown>;
  /**
   * Takes one message that an HTTP request brought beside the channel, in the async context of the caller. A promise
   * means that no more should be read for now.
   */
  take(
    message: Incoming,
    http: HttpRequestInfo,
    held?: Pick<Required<Sender>, "hold" | "release">,
  ): Promise<void> | undefined;
  /** Takes no more, answers what is open, closes. */
  drain(): Promise<void>;
  /** Ends what is open with an error and closes. Idempotent. */
  close(): Promise<void>;
  readonly counters: PeerCounters;
}

/**
 * Serves one client on a channel, in whatever era it speaks.
 *
 * A request that says who sends it is served on its own; anything else belongs
 * to the session that `initialize` opens. Both may be used at the same time. A
 * client is read whatever its calls do, so that cancellations, answers and pings
 * arrive; calls that would take too much memory while they wait are refused. Only
 * a client that does not read its answers is not read any further. The service is
 * asked what it is at once; if it says `invalid-definition`, that is the end.
 */
export function serveChannel(channel: Channel, service: Service, options: ChannelOptions = {}): Serving {
  const { bounds = defaultBounds, clock = systemClock } = options;
  const output = createBackpressuredChannel(channel);
  const gate = createCallGate(channel, output, bounds);
  const { caller = { gate, share: createChannelShare(bounds) } } = options;
  const { max: maxOpen } = bounds.of("maxOpenRequests");
  let flaw: McpError | undefined;
  let described: Promise<unknown> | undefined;

  /** A server that turns out to be defined badly is not served. One that fails otherwise may be of use all the same. */
  const discover = (client?: CallOrigin): Promise<DiscoverResult> => {
    const result = describeService(service, client).catch((error: unknown) => {
      if (error instanceof McpError && error.code === "invalid-definition") {
        flaw = error;
        void drain();
      }
      throw error;
    });
    described ??= result;
    return result;
  };

  const handle = (incoming: IncomingRequest): Promise<void> | undefined =>
    isModern(incoming.request, session) ? dispatcher.request(incoming, caller) : session.request(incoming);

  /** What is answered at once is not while the client does not read; calls wait at the gate, and what follows them is read. */
  const handleInTime = async (incoming: IncomingRequest): Promise<void> => {
    while (output.caughtUp !== undefined) await output.caughtUp;
    await handle(incoming);
  };

  const endListening = (): void => {
    dispatcher.endListening();
    session.close();
  };

  const drain = (): Promise<void> => {
    endListening();
    return holding(clock, rpc.drain());
  };

  const whenReady = async (): Promise<void> => {
    await described?.catch(() => {});
    if (flaw !== undefined) throw flaw;
  };

  const rpc: AnsweringPeer = createAnsweringPeer(
    output,
    {
      onRequest: (incoming) =>
        output.caughtUp === undefined || runsHandler(incoming.request.method)
          ? handle(incoming)
          : handleInTime(incoming),
      onNotification: (notification, via) =>
        session.greeted && !isModern(notification, session)
          ? session.notification(notification, via)
          : dispatcher.notification(notification, via, caller.gate),
      acceptsBatches: () => session.acceptsBatches(),
      onEnd: endListening,
    },
    { ...options, maxOpen, maxOpenRequests: maxOpen, onFull: () => bounds.refuse("maxOpenRequests") },
  );
  const { maxUriLength } = bounds.limits;
  const dispatcher = createModernDispatcher({ service, peer: rpc, maxUriLength, discover });
  const parts = { service, peer: rpc, caller, maxUriLength, clock, discover };
  const session: LegacySession = createLegacySession(parts);

  const ready = whenReady();
  // The error is also available from `ended`.
  ready.catch(() => {});
  return {
    ready,
    ended: rpc.run().then((error) => flaw ?? error),
    take: (message, http, held) =>
      rpc.receive(message, { http, send: output.send, hold: () => held?.hold(), release: () => held?.release() }),
    drain,
    close() {
      endListening();
      return rpc.close();
    },
    counters: rpc.counters,
  };
}

/** Lets calls of one channel run, or wait for their turn. Gives the bound that leaves no room for one. */
function createCallGate({ nextTurn }: Channel, output: BackpressuredChannel, bounds: ChannelBounds): CallGate {
  const queue = createGate<IncomingRequest>({
    maxRunning: bounds.of("maxRunningCalls").max,
    maxWaiting: bounds.of("maxQueuedCalls").max,
    maxWeight: bounds.of("maxHeldBytes").max,
    weigh: ({ request }) => weightOf(request.params),
    heldUp: () => output.caughtUp, // Answers that nobody reads take memory, too.
    nextTurn,
  });
  return {
    run: (work, incoming) =>
      queue.run(work, incoming) ? undefined : bounds.refuse(queue.full ? "maxQueuedCalls" : "maxHeldBytes"),
    leave: (wait) => queue.leave(wait),
  };
}

/** Says who sends it, or is of a kind that only modern clients send. */
function isModern({ method, params }: Request | Notification, session: LegacySession): boolean {
  const { _meta: meta } = params;
  if (isObject(meta) && (metaKeys.protocolVersion in meta || metaKeys.clientCapabilities in meta)) return true;
  return !session.greeted && methodRow(method).since === newest;
}

/** A channel that knows whether its peer keeps up with what is sent to it. */
interface BackpressuredChannel extends Channel {
  /** Resolves when the peer has caught up. Undefined while it keeps up. */
  readonly caughtUp: Promise<void> | undefined;
}

/** Watches what is sent into a channel. Use the returned channel instead of the one given. */
export function createBackpressuredChannel(channel: Channel): BackpressuredChannel {
  let slow: Promise<void> | undefined;

  const watch = async (written: Promise<void>): Promise<void> => {
    slow = written;
    await written;
    if (slow === written) slow = undefined;
  };

  return {
    incoming: channel.incoming,
    http: channel.http,
    sendAfterProgress: channel.sendAfterProgress,
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

/** A service that is being served. */
export interface ServeHandle extends AsyncDisposable {
  /** Resolves when serving has ended, by either side, and the last answers are written. Never rejects. */
  readonly closed: Promise<void>;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent, never rejects. */
  close(): Promise<void>;
}

/** What the client of a channel may subscribe to. Nothing else is taken of it here. */
function createChannelShare(bounds: ChannelBounds): Share {
  const held: Partial<Record<SharedKind, number>> = {};
  return {
    take(kind, amount = 1) {
      const limit = kind === "streams" ? "maxStreams" : "maxSubscriptions";
      const sum = (held[kind] ?? 0) + amount;
      if (sum > bounds.of(limit).max) return bounds.refuse(limit);
      held[kind] = sum;
      return undefined;
    },
    give(kind, amount = 1) {
      held[kind] = (held[kind] ?? 0) - amount;
    },
  };
}
