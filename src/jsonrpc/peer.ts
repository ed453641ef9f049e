import type { JsonObject } from "../json/json.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { createDeadlines, type Deadlines } from "../std/deadlines.ts";
import type { Channel, Sender } from "./channel.ts";
import { createInbound, type Inbound, type IncomingRequest, tooManyOpen } from "./inbound.ts";
import {
  type Batch,
  type ErrorObject,
  type Id,
  type Incoming,
  isId,
  type Malformed,
  type Notification,
  rpcCodes,
} from "./message.ts";
import type { Outbound, OutboundOptions } from "./outbound.ts";

export interface PeerHandlers {
  /** Answers a request of the peer. A promise holds back the reading of more. */
  request(exchange: IncomingRequest): Promise<void> | undefined;
  /** Hears a notification that belongs to no open request of ours. What is said about it goes out by `via`. */
  notification(notification: Notification, via: Sender): void;
  /** The request a notification belongs to, by the id we gave it. */
  correlate?(notification: Notification): Id | undefined;
  /** True while arrays of messages are allowed. Absent means never. */
  acceptsBatches?(): boolean;
  /** The peer sends no more, for the error of a broken channel if there is one. What is open may still be answered. */
  hungUp?(error: unknown): void;
}

export interface PeerOptions {
  /** Requests of ours that may be unanswered. Default 1024; 0 is off. */
  readonly maxOpenRequests?: number | undefined;
  /** Requests of the peer that may be unanswered. Default 1024; 0 is off. */
  readonly maxOpen?: number | undefined;
  /** How long open requests may go on after the peer has hung up. Default 5 s. */
  readonly drainMs?: number | undefined;
  /** Whether what has no readable id is answered, with the id `null`. Default true. */
  readonly answerUnreadable?: boolean;
  readonly clock?: Clock | undefined;
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

/** Makes what sends the requests of this side. */
export type CreateOutbound = (options: OutboundOptions) => Outbound;

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

/** A peer that answers, and leaves it to others to load what sends requests: many peers of a server send none. */
export interface AnsweringPeer extends Omit<RpcPeer, "request"> {
  /** The requests of this side. Made when somebody first needs it. */
  outbound(create: CreateOutbound): Outbound;
}

export function createAnsweringPeer(
  channel: Channel,
  handlers: PeerHandlers,
  options: PeerOptions & PeerParts = {},
): AnsweringPeer {
  const {
    maxOpenRequests = 1024,
    maxOpen = 1024,
    drainMs = 5_000,
    answerUnreadable = true,
    clock = systemClock,
  } = options;
  const { deadlines = createDeadlines(clock), firstId = 1, idPrefix } = options;
  const ours = createOurs({ channel, deadlines, maxOpenRequests, firstId, idPrefix, mask: channel.mask });
  const inbound = createInbound(maxOpen);
  const counters = { strayReplies: 0, malformed: 0 };
  let draining = false;
  let closing: Promise<void> | undefined;

  const refuse = (malformed: Malformed, via: Sender): Promise<void> | undefined => {
    const { id, error, answerable } = malformed;
    counters.malformed++;
    if (!answerable) endWaiting(malformed, ours.made);
    const silent = !answerable || (id === null && !answerUnreadable);
    return silent ? undefined : via.send({ kind: "failure", id, error });
  };

  const hear = (notification: Notification, via: Sender): undefined => {
    if (notification.method === "notifications/cancelled") {
      const { requestId, reason } = notification.params;
      if (isId(requestId)) inbound.cancel(requestId, reason);
    }
    const id = notification.about ?? handlers.correlate?.(notification);
    if (id === undefined || ours.made?.notify(id, notification) !== true) handlers.notification(notification, via);
  };

  const takeOne = (message: Exclude<Incoming, Batch>, via: Sender): Promise<void> | undefined => {
    switch (message.kind) {
      case "request": {
        const opened = inbound.open(message, via);
        if ("kind" in opened) return via.send(opened);
        return draining ? opened.fail(closingError) : handlers.request(opened);
      }
      case "notification":
        return hear(message, via);
      case "malformed":
        return refuse(message, via);
      case "undelivered":
        return void ours.made?.lose(message.id, "undelivered", message.cause);
      default:
        if (ours.made?.settle(message) !== true) counters.strayReplies++;
        return undefined;
    }
  };

  const takeBatch = async (batch: Batch, via: Sender): Promise<void> => {
    const fault = faultOf(batch, handlers, maxOpen);
    if (fault !== undefined) return refuse(fault, via);
    for (const item of batch.items) await takeOne(item, via);
  };

  const take = (message: Incoming, via: Sender): Promise<void> | undefined =>
    message.kind === "batch" ? takeBatch(message, via) : takeOne(message, via);

  const shut = (reason?: unknown): Promise<void> => {
    ours.close(reason);
    closing ??= channel.close();
    return closing;
  };

  return {
    outbound: ours.get,
    notify: (method, params) => channel.send({ kind: "notification", method, params }),
    take,
    async run() {
      const error = await readAll(channel, (message) => take(message, channel));
      ours.close(error);
      handlers.hungUp?.(error);
      if (error === undefined) await settle(inbound, clock, drainMs);
      else inbound.endAll(closingError);
      await shut(error);
      return error;
    },
    close(reason) {
      draining = true;
      ours.close(reason);
      inbound.endAll(closingError);
      return shut(reason);
    },
    async drain() {
      draining = true;
      await settle(inbound, clock, drainMs);
      await shut();
    },
    isBusy: () => inbound.size > 0 || (ours.made?.size ?? 0) > 0,
    nextId: () => ours.made?.nextId() ?? firstId,
    counters,
  };
}

/** The requests of this side, where there are any. */
interface Ours extends Pick<Outbound, "close"> {
  readonly made: Outbound | undefined;
  get(create: CreateOutbound): Outbound;
}

function createOurs(options: OutboundOptions): Ours {
  let made: Outbound | undefined;
  let closed: { readonly cause: unknown } | undefined;

  const get = (create: CreateOutbound): Outbound => {
    if (made !== undefined) return made;
    made = create(options);
    if (closed !== undefined) made.close(closed.cause);
    return made;
  };

  return {
    get made() {
      return made;
    },
    get,
    close(cause) {
      closed ??= { cause };
      made?.close(cause);
    },
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

/** Whoever waits for a response that is malformed gets no other. */
function endWaiting({ id, error }: Malformed, outbound: Outbound | undefined): void {
  if (id === null) return;
  if (error.code === rpcCodes.parseError) outbound?.settle({ kind: "failure", id, error });
  else outbound?.lose(id, "malformed", error.message);
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

/** Why a batch is refused before anything is done about its messages. */
function faultOf({ items }: Batch, handlers: PeerHandlers, maxOpen: number): Malformed | undefined {
  if (handlers.acceptsBatches?.() !== true) return noBatch("batches are not supported");
  if (items.some(isGreeting)) return noBatch("initialize must not be part of a batch");
  return maxOpen > 0 && items.length > maxOpen ? noBatch(tooManyOpen(maxOpen)) : undefined;
}

function noBatch(error: string | ErrorObject): Malformed {
  const told = typeof error === "string" ? { code: rpcCodes.invalidRequest, message: error } : error;
  return { kind: "malformed", id: null, error: told, answerable: true };
}
