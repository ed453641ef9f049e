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
  /** Answers a request of the peer. A returned promise is backpressure: no more is read until it resolves. */
  onRequest(incoming: IncomingRequest): Promise<void> | undefined;
  /** Called with a notification that belongs to none of our requests. Messages that it causes are sent to `via`. */
  onNotification(notification: Notification, via: Sender): void;
  /** The id of our request that a notification belongs to, for example by its progress token. */
  findRequestId?(notification: Notification): Id | undefined;
  /** Whether batches are allowed at present. Absent means never. */
  acceptsBatches?(): boolean;
  /** Called when the peer sends no more, with the error of a broken channel. Open requests may still be answered. */
  onEnd?(error: unknown): void;
}

export interface PeerOptions {
  /** Maximum number of unanswered requests sent by this side. Default 1024; 0 disables the limit. */
  readonly maxOpenRequests?: number | undefined;
  /** Maximum number of unanswered requests of the peer. Default 1024; 0 disables the limit. */
  readonly maxOpen?: number | undefined;
  /** Called for each request of the peer that is refused because of `maxOpen`. */
  readonly onFull?: (() => void) | undefined;
  /** How long requests may stay open after the peer has closed its end, in milliseconds. Default 5000. */
  readonly drainMs?: number | undefined;
  /** Whether malformed messages without a readable id get an error response with the id `null`. Default true. */
  readonly answerUnreadable?: boolean;
  readonly clock?: Clock | undefined;
}

/** Parts that a peer shares with other peers, or continues from a previous one. */
export interface PeerParts {
  /** Default: a new instance on `clock`. */
  readonly deadlines?: Deadlines;
  /** Id of the first request sent by this side. Default 1. */
  readonly firstId?: number | undefined;
  /** Prefix of the ids of our requests, where several peers serve the same client and numbers alone would collide. */
  readonly idPrefix?: string | undefined;
}

/** Creates the outbound half of a peer. */
export type CreateOutbound = (options: OutboundOptions) => Outbound;

/** Counts of dropped messages. */
export interface PeerCounters {
  /** Responses without a pending request. */
  readonly strayReplies: number;
  readonly malformed: number;
}

/** One end of a JSON-RPC connection: matches requests and responses in both directions. */
export interface RpcPeer {
  readonly request: Outbound["request"];
  notify(method: string, params: JsonObject): Promise<void> | undefined;
  /**
   * Handles one message that did not arrive over the channel; its responses are sent to `via`. A returned promise is
   * backpressure: read no more until it resolves.
   */
  receive(message: Incoming, via: Sender): Promise<void> | undefined;
  /** Reads until the peer closes its end, finishes open requests, then closes. Resolves with the error of a broken channel. */
  run(): Promise<unknown>;
  /** Aborts open requests, answers the unanswered ones with an error, then closes. Idempotent; never rejects. */
  close(reason?: unknown): Promise<void>;
  /** Rejects new requests, waits for open ones for up to `drainMs`, then closes. */
  drain(): Promise<void>;
  /** Whether a request of either side is open. */
  isBusy(): boolean;
  /** Number of our next request: the `firstId` of a peer that continues this one. */
  nextId(): number;
  readonly counters: PeerCounters;
}

/** A peer without the code that sends requests, which many servers never need. `outbound` adds it. */
export interface AnsweringPeer extends Omit<RpcPeer, "request"> {
  /** The outbound half of this peer, made with `create` on the first call. */
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
  const outgoing = createLazyOutbound({ channel, deadlines, maxOpenRequests, firstId, idPrefix, mask: channel.mask });
  const inbound = createInbound(maxOpen, options.onFull);
  const counters = { strayReplies: 0, malformed: 0 };
  let draining = false;
  let closing: Promise<void> | undefined;

  const rejectMalformed = (malformed: Malformed, via: Sender): Promise<void> | undefined => {
    const { id, error, answerable } = malformed;
    counters.malformed++;
    if (!answerable) settleWithMalformed(malformed, outgoing.current);
    const silent = !answerable || (id === null && !answerUnreadable);
    return silent ? undefined : via.send({ kind: "failure", id, error });
  };

  const receiveNotification = (message: Notification, via: Sender): undefined => {
    if (message.method === "notifications/cancelled") {
      const { requestId, reason } = message.params;
      if (isId(requestId)) inbound.cancel(requestId, reason);
    }
    const id = message.relatedRequestId ?? handlers.findRequestId?.(message);
    if (id === undefined || outgoing.current?.notify(id, message) !== true) handlers.onNotification(message, via);
  };

  const receiveOne = (message: Exclude<Incoming, Batch>, via: Sender): Promise<void> | undefined => {
    switch (message.kind) {
      case "request": {
        const opened = inbound.open(message, via);
        if ("kind" in opened) return via.send(opened);
        return draining ? opened.fail(closingError) : handlers.onRequest(opened);
      }
      case "notification":
        return receiveNotification(message, via);
      case "malformed":
        return rejectMalformed(message, via);
      case "undelivered":
        return void outgoing.current?.lose(message.id, "undelivered", message.cause);
      default:
        if (outgoing.current?.settle(message) !== true) counters.strayReplies++;
        return undefined;
    }
  };

  const receiveBatch = async (batch: Batch, via: Sender): Promise<void> => {
    const problem = findBatchProblem(batch, handlers, maxOpen);
    if (problem !== undefined) return rejectMalformed(problem, via);
    for (const item of batch.items) await receiveOne(item, via);
  };

  const receive = (message: Incoming, via: Sender): Promise<void> | undefined =>
    message.kind === "batch" ? receiveBatch(message, via) : receiveOne(message, via);

  const closeChannel = (reason?: unknown): Promise<void> => {
    outgoing.close(reason);
    closing ??= channel.close();
    return closing;
  };

  return {
    outbound: outgoing.get,
    notify: (method, params) => channel.send({ kind: "notification", method, params }),
    receive,
    async run() {
      const error = await readAll(channel, (message) => receive(message, channel));
      outgoing.close(error);
      handlers.onEnd?.(error);
      if (error === undefined) await drainInbound(inbound, clock, drainMs);
      else inbound.endAll(closingError);
      await closeChannel(error);
      return error;
    },
    close(reason) {
      draining = true;
      outgoing.close(reason);
      inbound.endAll(closingError);
      return closeChannel(reason);
    },
    async drain() {
      draining = true;
      await drainInbound(inbound, clock, drainMs);
      await closeChannel();
    },
    isBusy: () => inbound.size > 0 || (outgoing.current?.size ?? 0) > 0,
    nextId: () => outgoing.current?.nextId() ?? firstId,
    counters,
  };
}

/** The outbound half of a peer, created on demand. */
interface LazyOutbound extends Pick<Outbound, "close"> {
  readonly current: Outbound | undefined;
  get(create: CreateOutbound): Outbound;
}

function createLazyOutbound(options: OutboundOptions): LazyOutbound {
  let current: Outbound | undefined;
  let closed: { readonly cause: unknown } | undefined;

  const get = (create: CreateOutbound): Outbound => {
    if (current !== undefined) return current;
    current = create(options);
    if (closed !== undefined) current.close(closed.cause);
    return current;
  };

  return {
    get current() {
      return current;
    },
    get,
    close(cause) {
      closed ??= { cause };
      current?.close(cause);
    },
  };
}

/** Passes received messages to `receive`, one at a time while it is busy. Resolves with the error of a broken channel. */
async function readAll(channel: Channel, receive: (message: Incoming) => Promise<void> | undefined): Promise<unknown> {
  try {
    for await (const batch of channel.incoming) {
      for (const message of batch) {
        const busy = receive(message);
        if (busy !== undefined) await busy;
      }
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Settles the request whose response was malformed: no other response will come. */
function settleWithMalformed({ id, error }: Malformed, outbound: Outbound | undefined): void {
  if (id === null) return;
  if (error.code === rpcCodes.parseError) outbound?.settle({ kind: "failure", id, error });
  else outbound?.lose(id, "malformed", error.message);
}

/** Waits for open requests for up to `drainMs`, then ends them. */
async function drainInbound(inbound: Inbound, clock: Clock, drainMs: number): Promise<void> {
  const stop = clock.after(drainMs, () => inbound.endAll(closingError));
  await inbound.drained();
  stop();
}

const closingError: ErrorObject = { code: rpcCodes.internal, message: "the connection is closing" };

function isInitialize(item: Batch["items"][number]): boolean {
  return item.kind === "request" && item.method === "initialize";
}

/** Why a batch is rejected as a whole, before any of its messages is handled. */
function findBatchProblem({ items }: Batch, handlers: PeerHandlers, maxOpen: number): Malformed | undefined {
  if (handlers.acceptsBatches?.() !== true) return toRejectedBatch("batches are not supported");
  if (items.some(isInitialize)) return toRejectedBatch("initialize must not be part of a batch");
  return maxOpen > 0 && items.length > maxOpen ? toRejectedBatch(tooManyOpen(maxOpen)) : undefined;
}

function toRejectedBatch(error: string | ErrorObject): Malformed {
  const errorObject = typeof error === "string" ? { code: rpcCodes.invalidRequest, message: error } : error;
  return { kind: "malformed", id: null, error: errorObject, answerable: true };
}
