import type { JsonObject } from "../json/json.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { createDeadlines, type Deadlines } from "../std/deadlines.ts";
import type { Channel, Sender } from "./channel.ts";
import { createInbound, type Exchange, type Inbound } from "./inbound.ts";
import {
  type Batch,
  type ErrorObject,
  type Id,
  type Incoming,
  type Malformed,
  type Notification,
  rpcCodes,
} from "./message.ts";
import { createOutbound, type Outbound } from "./outbound.ts";

export interface PeerHandlers {
  /** Answers a request of the peer. A promise holds back the reading of more. */
  request(exchange: Exchange): Promise<void> | undefined;
  /** Hears a notification that belongs to no open request of ours. */
  notification(notification: Notification): void;
  /** The request a notification belongs to, by the id we gave it. */
  correlate?(notification: Notification): Id | undefined;
  /** True while arrays of messages are allowed. Absent means never. */
  acceptsBatches?(): boolean;
  /** The peer sends no more. What is open may still be answered. */
  hungUp?(): void;
}

export interface PeerOptions {
  /** Requests of ours that may be unanswered. Default 1024; 0 is off. */
  readonly maxInFlight?: number;
  /** Requests of the peer that may be unanswered. Default 1024; 0 is off. */
  readonly maxOpen?: number;
  /** How long open requests may go on after the peer has hung up. Default 5 s. */
  readonly drainMs?: number;
  /** Whether what has no readable id is answered, with the id `null`. Default true. */
  readonly answerUnreadable?: boolean;
  readonly clock?: Clock;
}

/** What a peer may share with others, or take over from one before it. */
export interface PeerParts {
  /** Default: its own, on the clock. */
  readonly deadlines?: Deadlines;
  /** The id of our first request. Default 1. */
  readonly firstId?: number | undefined;
  /** Begins the ids of our requests, where numbers alone would not tell peers of the same client apart. */
  readonly idPrefix?: string | undefined;
}

/** What was dropped, for whoever wants to know. */
export interface PeerCounters {
  /** Responses to requests that are over or never were. */
  readonly strayReplies: number;
  readonly malformed: number;
}

/** One end of a connection: requests in both directions, matched with their responses. */
export interface RpcPeer {
  readonly request: Outbound["request"];
  notify(method: string, params: JsonObject): Promise<void> | undefined;
  /**
   * Takes one message that did not come over the channel; what answers it goes
   * out by `via`. A promise means that no more should be read for now.
   */
  take(message: Incoming, via: Sender): Promise<void> | undefined;
  /** Reads until the peer hangs up; answers what is open; closes. Resolves with the error of a broken channel. */
  run(): Promise<unknown>;
  /** Aborts what is open, answers the rest with an error, then closes. Idempotent, never rejects. */
  close(reason?: unknown): Promise<void>;
  /** Stops taking requests, answers what is open, then closes. */
  drain(): Promise<void>;
  /** True while a request is open, whoever sent it. */
  isBusy(): boolean;
  /** The id of our next request, for a peer that takes over. */
  nextId(): number;
  readonly counters: PeerCounters;
}

export function createPeer(channel: Channel, handlers: PeerHandlers, options: PeerOptions & PeerParts = {}): RpcPeer {
  const { maxInFlight = 1024, maxOpen = 1024, drainMs = 5_000, answerUnreadable = true, clock = systemClock } = options;
  const { deadlines = createDeadlines(clock), firstId = 1, idPrefix } = options;
  /** Many peers of a server ask nothing. */
  let outbound: Outbound | undefined;
  const inbound = createInbound(maxOpen);
  const counters = { strayReplies: 0, malformed: 0 };
  let draining = false;
  let closing: Promise<void> | undefined;

  const ours = (): Outbound => {
    outbound ??= createOutbound({ channel, deadlines, maxInFlight, firstId, idPrefix });
    return outbound;
  };

  const refuse = ({ id, error, answerable }: Malformed, via: Sender): Promise<void> | undefined => {
    counters.malformed++;
    if (!answerable && id !== null && error.code === rpcCodes.parseError)
      outbound?.settle({ kind: "failure", id, error });
    const silent = !answerable || (id === null && !answerUnreadable);
    return silent ? undefined : via.send({ kind: "failure", id, error });
  };

  const hear = (notification: Notification): undefined => {
    if (notification.method === "notifications/cancelled") {
      const { requestId, reason } = notification.params;
      if (typeof requestId === "string" || typeof requestId === "number") inbound.cancel(requestId, reason);
    }
    const id = notification.about ?? handlers.correlate?.(notification);
    if (id === undefined || !ours().notify(id, notification)) handlers.notification(notification);
  };

  const takeOne = (message: Exclude<Incoming, Batch>, via: Sender): Promise<void> | undefined => {
    switch (message.kind) {
      case "request": {
        const opened = inbound.open(message, via);
        if ("kind" in opened) return via.send(opened);
        return draining ? opened.fail(closingError) : handlers.request(opened);
      }
      case "notification":
        return hear(message);
      case "malformed":
        return refuse(message, via);
      case "undelivered":
        return void outbound?.lose(message.id, message.cause);
      default:
        if (outbound?.settle(message) !== true) counters.strayReplies++;
        return undefined;
    }
  };

  const takeBatch = async ({ items }: Batch, via: Sender): Promise<void> => {
    if (handlers.acceptsBatches?.() !== true) return refuse(noBatch("batches are not supported"), via);
    if (items.some(isGreeting)) return refuse(noBatch("initialize must not be part of a batch"), via);
    for (const item of items) await takeOne(item, via);
  };

  const take = (message: Incoming, via: Sender): Promise<void> | undefined =>
    message.kind === "batch" ? takeBatch(message, via) : takeOne(message, via);

  const shut = (reason?: unknown): Promise<void> => {
    ours().close(reason);
    closing ??= channel.close();
    return closing;
  };

  return {
    request: (method, params, how) => ours().request(method, params, how),
    notify: (method, params) => channel.send({ kind: "notification", method, params }),
    take,
    async run() {
      const error = await readAll(channel, (message) => take(message, channel));
      ours().close(error);
      handlers.hungUp?.();
      if (error === undefined) await settle(inbound, clock, drainMs);
      else inbound.endAll(closingError);
      await shut(error);
      return error;
    },
    close(reason) {
      draining = true;
      ours().close(reason);
      inbound.endAll(closingError);
      return shut(reason);
    },
    async drain() {
      draining = true;
      await settle(inbound, clock, drainMs);
      await shut();
    },
    isBusy: () => inbound.size > 0 || (outbound !== undefined && outbound.size > 0),
    nextId: () => outbound?.nextId() ?? firstId,
    counters,
  };
}

/** Hands on what arrives, waiting whenever the taker is busy. Resolves with the error that ended it, if one did. */
async function readAll(channel: Channel, take: (message: Incoming) => Promise<void> | undefined): Promise<unknown> {
  try {
    for await (const batch of channel.incoming) {
      for (const message of batch) {
        const busy = take(message);
        if (busy !== undefined) await busy;
      }
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Lets open requests finish for a while, then ends them. */
async function settle(inbound: Inbound, clock: Clock, drainMs: number): Promise<void> {
  const stop = clock.after(drainMs, () => inbound.endAll(closingError));
  await inbound.drained();
  stop();
}

const closingError: ErrorObject = { code: rpcCodes.internal, message: "the connection is closing" };

function isGreeting(item: Batch["items"][number]): boolean {
  return item.kind === "request" && item.method === "initialize";
}

function noBatch(message: string): Malformed {
  return { kind: "malformed", id: null, error: { code: rpcCodes.invalidRequest, message }, answerable: true };
}
