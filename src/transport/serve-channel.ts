import { isObject } from "../json/json.ts";
import { weightOf } from "../json/weight.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import type { IncomingRequest } from "../jsonrpc/inbound.ts";
import type { Incoming, Notification, Request } from "../jsonrpc/message.ts";
import { type AnsweringPeer, createAnsweringPeer, type PeerCounters, type PeerOptions } from "../jsonrpc/peer.ts";
import { McpError } from "../protocol/errors.ts";
import { metaKeys } from "../protocol/meta.ts";
import { type DiscoverResult, methodRow, runsHandler } from "../protocol/methods.ts";
import { newest } from "../protocol/revision.ts";
import type { CallOrigin, Service } from "../protocol/service.ts";
import { systemClock } from "../std/clock.ts";
import { createGate } from "../std/gate.ts";
import { holding } from "../std/hold.ts";
import type { HttpRequestInfo } from "../std/http-facts.ts";
import { describeService } from "./describe-service.ts";
import { createLegacySession, type LegacySession } from "./legacy-server.ts";
import { createModernDispatcher } from "./modern-dispatcher.ts";

export interface ServeChannelOptions extends Omit<PeerOptions, "answerUnreadable"> {
  /** Handlers of one client that run at once; more calls wait. Default 64; 0 is off. */
  readonly maxConcurrent?: number | undefined;
  /** Calls of one client that wait; one more is refused with `limit-reached`. Default 1024; 0 is off. */
  readonly maxQueued?: number | undefined;
  /** Memory for the calls of one client that wait, in bytes; one more is refused with `limit-reached`. Default 8 MiB; 0 is off. */
  readonly maxHeldBytes?: number | undefined;
  /** How long a legacy client may take to answer a question. Default 5 min. */
  readonly askTimeoutMs?: number | undefined;
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
  take(message: Incoming, http: HttpRequestInfo): Promise<void> | undefined;
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
export function serveChannel(channel: Channel, service: Service, options: ServeChannelOptions = {}): Serving {
  const { maxConcurrent = 64, askTimeoutMs = 300_000, clock = systemClock } = options;
  const output = createBackpressuredChannel(channel);
  const gate = createGate<IncomingRequest>({
    maxRunning: maxConcurrent,
    maxWaiting: (options.maxQueued ?? 1024) || Number.POSITIVE_INFINITY,
    maxWeight: (options.maxHeldBytes ?? 8_388_608) || Number.POSITIVE_INFINITY,
    weigh: ({ request }) => weightOf(request.params),
    // Answers that nobody reads take memory, too.
    heldUp: () => output.caughtUp,
  });
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

  const handle = (exchange: IncomingRequest): Promise<void> | undefined =>
    (isModern(exchange.request, session) ? dispatcher : session).request(exchange);

  /** What is answered at once is not while the client does not read; calls wait at the gate, and what follows them is read. */
  const handleInTime = async (exchange: IncomingRequest): Promise<void> => {
    while (output.caughtUp !== undefined) await output.caughtUp;
    await handle(exchange);
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
      request: (exchange) =>
        output.caughtUp === undefined || runsHandler(exchange.request.method)
          ? handle(exchange)
          : handleInTime(exchange),
      notification: (notification, via) =>
        (session.greeted && !isModern(notification, session) ? session : dispatcher).notification(notification, via),
      acceptsBatches: () => session.acceptsBatches(),
      hungUp: endListening,
    },
    options,
  );
  const dispatcher = createModernDispatcher({ service, peer: rpc, gate, discover });
  const session: LegacySession = createLegacySession({ service, peer: rpc, gate, clock, askTimeoutMs, discover });

  const ready = whenReady();
  // Who does not wait for it learns the same from `ended`.
  ready.catch(() => {});
  return {
    ready,
    ended: rpc.run().then((error) => flaw ?? error),
    take: (message, http) => rpc.take(message, { http, send: output.send }),
    drain,
    close() {
      endListening();
      return rpc.close();
    },
    counters: rpc.counters,
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
    sendApart: channel.sendApart,
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
  /** Resolves when it is not served any more, whoever ended that, and the last answers are written. Never rejects. */
  readonly closed: Promise<void>;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent, never rejects. */
  close(): Promise<void>;
}
