import { isObject } from "../json/json.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { Request } from "../jsonrpc/message.ts";
import { createPeer, type PeerCounters, type PeerOptions, type RpcPeer } from "../jsonrpc/peer.ts";
import type { ServerSession } from "../legacy/server-session.ts";
import { McpError } from "../model/errors.ts";
import { metaKeys } from "../model/meta.ts";
import { type DiscoverResult, methodRow } from "../model/methods.ts";
import { newest } from "../model/revision.ts";
import type { Service } from "../model/service.ts";
import { systemClock } from "../std/clock.ts";
import { createGate } from "../std/gate.ts";
import type { HttpFacts } from "../std/http-facts.ts";
import { describeService } from "./describe-service.ts";
import { createLegacyDesk } from "./legacy-desk.ts";
import { createModernDesk } from "./modern-desk.ts";
import { createOutlet } from "./outlet.ts";

export interface ServeOptions extends Omit<PeerOptions, "answerUnreadable"> {
  /** Handlers of one client that run at once; more calls wait. Default 64; 0 is off. */
  readonly maxConcurrent?: number;
  /** Calls of one client that wait. When there are so many, the client is not read. Default 64; 0 is off. */
  readonly maxQueued?: number;
  /** How long a legacy client may take to answer a question. Default 5 min. */
  readonly askTimeoutMs?: number;
}

/** A service being served to one client. */
export interface Serving {
  /** Resolves when it is over, with the error that ended it if one did. Never rejects. */
  readonly ended: Promise<unknown>;
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
 * client that does not read its answers is not read any further. The service is
 * asked what it is at once; if it says `invalid-definition`, that is the end.
 */
export function serveChannel(channel: Channel, service: Service, options: ServeOptions = {}): Serving {
  const { maxConcurrent = 64, maxQueued = 64, askTimeoutMs = 300_000, clock = systemClock } = options;
  const outlet = createOutlet(channel);
  const gate = createGate({ maxRunning: maxConcurrent, maxWaiting: maxQueued || Number.POSITIVE_INFINITY });
  let flaw: McpError | undefined;

  /** A server that turns out to be defined badly is not served. One that fails otherwise may be of use all the same. */
  const discover = (http?: HttpFacts): Promise<DiscoverResult> =>
    describeService(service, http).catch((error: unknown) => {
      if (error instanceof McpError && error.code === "invalid-definition") {
        flaw = error;
        void drain();
      }
      throw error;
    });

  const handle = (exchange: Exchange): Promise<void> | undefined =>
    (isModern(exchange.request, session) ? desk : session).request(exchange);

  const handleInTime = async (exchange: Exchange): Promise<void> => {
    while (outlet.caughtUp !== undefined) await outlet.caughtUp;
    await handle(exchange);
  };

  const endListening = (): void => {
    desk.endListening();
    session.close();
  };

  const drain = (): Promise<void> => {
    endListening();
    return rpc.drain();
  };

  const rpc: RpcPeer = createPeer(
    outlet,
    {
      request: (exchange) => (outlet.caughtUp === undefined ? handle(exchange) : handleInTime(exchange)),
      notification: (notification) => session.notification(notification),
      acceptsBatches: () => session.acceptsBatches(),
      hungUp: endListening,
    },
    options,
  );
  const desk = createModernDesk({ service, peer: rpc, gate, discover });
  const session: ServerSession = createLegacyDesk({ service, peer: rpc, gate, clock, askTimeoutMs, discover });

  return {
    ended: rpc.run().then((error) => flaw ?? error),
    drain,
    close() {
      endListening();
      return rpc.close();
    },
    counters: rpc.counters,
  };
}

/** Says who sends it, or is of a kind that only modern clients send. */
function isModern({ method, params }: Request, session: ServerSession): boolean {
  const { _meta: meta } = params;
  if (isObject(meta) && (metaKeys.protocolVersion in meta || metaKeys.clientCapabilities in meta)) return true;
  return !session.greeted && methodRow(method).since === newest;
}
