import type { JsonObject } from "../json/json.ts";
import type { Sender } from "../jsonrpc/channel.ts";
import type { IncomingRequest } from "../jsonrpc/inbound.ts";
import { IncomingNotification } from "../jsonrpc/incoming-notification.ts";
import type { Notification } from "../jsonrpc/message.ts";
import type { ServerCodec, WireCall } from "../protocol/codec/codec.ts";
import { dropInternal, readEnvelope } from "../protocol/codec/envelope.ts";
import { metaKeys, metaOf, withMeta } from "../protocol/meta.ts";
import { methodRow } from "../protocol/methods.ts";
import { isHandled } from "../protocol/notification.ts";
import type { Implementation } from "../protocol/peer.ts";
import { newest } from "../protocol/revision.ts";
import { type Ask, type Call, type CloseStream, createCall, type Notify, type Outcome } from "../protocol/service.ts";
import type { CallGate } from "./caller.ts";

/** How calls are answered. One may serve for all calls of a connection. */
export interface CallResponder {
  readonly codec: ServerCodec;
  /** Signs modern results. Waited for when there is a result, not before. */
  readonly server?: Signer | Promise<Signer>;
  /** Where the client can be asked while the call waits. */
  readonly ask?: Ask | undefined;
  /** Runs the call. */
  serve(call: Call): Promise<Outcome>;
  /** Continues a call whose outcome asks for input, where the client can be asked during the call. */
  resolveInputRequired?(call: Call, asked: Outcome): Promise<Outcome>;
  /** Called with the outcome of a call, right before it is written. */
  ending?(outcome: Outcome): void;
  /** Called when an open call has ended with a result, right after that is written. */
  ended?(incoming: IncomingRequest): void;
  /** Called when the call is over, with any outcome. */
  over?(): void;
}

type Signer = Implementation | undefined;

/** Converts a decoded request to a call, runs it and answers the request. Never rejects. */
export function answerCall(incoming: IncomingRequest, wire: WireCall, responder: CallResponder): Promise<void> {
  const answered = answer(incoming, wire, responder);
  incoming.via.http?.waitUntil?.(answered);
  return answered;
}

async function answer(incoming: IncomingRequest, wire: WireCall, responder: CallResponder): Promise<void> {
  const { codec } = responder;
  const { via } = incoming;
  via.hold?.();
  try {
    if (incoming.abort.aborted) return;
    const call = callOf(incoming, wire, responder);
    let outcome = await responder.serve(call);
    if (outcome.kind === "input-required" && responder.resolveInputRequired !== undefined)
      outcome = await responder.resolveInputRequired(call, outcome);
    responder.ending?.(outcome);
    const signer = responder.server;
    const server = signer instanceof Promise ? await signer : signer;
    const encoded = codec.encodeOutcome(wire.method, outcome, server, wire.params);
    if (!encoded.ok) return void incoming.fail(codec.encodeFailure(encoded.failure));
    if (wire.row.open !== true) return void incoming.succeed(encoded.value);
    incoming.succeed(withMeta(encoded.value, metaKeys.subscriptionId, incoming.request.id));
    responder.ended?.(incoming);
  } catch (error) {
    console.error(`plugbay: ${wire.method} threw:`, error);
    incoming.fail(codec.encodeFailure({ code: "internal", message: "internal error" }));
  } finally {
    responder.over?.();
    via.release?.();
  }
}

/** The call of a request, as its codec has read it. */
function callOf(incoming: IncomingRequest, wire: WireCall, { codec, ask }: CallResponder): Call {
  const { method, params, peer, meta, progressToken, logLevel, answers, state, tasks } = wire;
  return createCall({
    method,
    params,
    peer,
    meta,
    wantsProgress: progressToken !== undefined,
    logLevel,
    answers,
    state,
    notify: notifier(incoming, wire, codec),
    ask,
    http: incoming.via.http,
    closeStream: closeStreamOf(incoming),
    tasks,
    rpcId: incoming.request.id,
    abort: incoming.abort,
  }) as Call;
}

/** Open calls mark their notifications with the id of their request, and may send any number of them. */
function notifier(incoming: IncomingRequest, { row, progressToken }: WireCall, codec: ServerCodec): Notify {
  const isOpen = row.open === true;
  const subscriptionId = isOpen ? incoming.request.id : undefined;
  const notify: Notify = (name, content) => {
    const encoded = codec.encodeNotification(name, content, { progressToken, subscriptionId });
    return encoded === undefined ? undefined : incoming.notify(codec.notificationName(name), encoded);
  };
  return isOpen ? throttledNotify(notify) : notify;
}

function closeStreamOf({ via }: IncomingRequest): CloseStream | undefined {
  return via.closeStream === undefined ? undefined : (retryMs) => via.closeStream?.(retryMs);
}

/** The sender of a notification. */
export type NotificationSource = Pick<WireCall, "peer" | "logLevel">;

/** A notification of a client. */
export interface ReceivedNotification {
  readonly notification: Notification;
  readonly via: Sender;
  readonly source: NotificationSource;
  readonly gate: CallGate;
}

/** Notifications of clients for the service, each as a call without an answer. */
export interface NotificationQueue {
  /** Runs `answer` in turn. Dropped when the queue is full, or when the author has no handler for it. */
  add(heard: ReceivedNotification, answer: (incoming: IncomingRequest, wire: WireCall) => Promise<void>): void;
}

/** `maxOpen` bounds those whose handling is not over. */
export function createNotificationQueue(maxOpen: number): NotificationQueue {
  let open = 0;

  return {
    add({ gate, notification, via, source }, answer) {
      if (!isHandled(notification.method) || open >= maxOpen) return;
      const incoming = new IncomingNotification(notification, via);
      const work = async (): Promise<void> => {
        await answer(incoming, toCall(notification, source));
        open--;
      };
      open++;
      if (gate.run(work, incoming) !== undefined) open--;
    },
  };
}

/** Notifications of one client that may be under way or wait. */
export const maxNotifications = 64;

function toCall({ method, params: said }: Notification, { peer, logLevel }: NotificationSource): WireCall {
  const { _meta, ...params } = said;
  return {
    method: "notification",
    row: methodRow("notification"),
    params: { method, params },
    peer,
    meta: dropInternal(metaOf(said)),
    progressToken: undefined,
    logLevel,
    answers: undefined,
    state: undefined,
    tasks: undefined,
  };
}

/** The sender of a notification of 2026-07-28, where it is stated. */
export function statedSource({ params }: Notification): NotificationSource {
  const envelope = readEnvelope(newest, params._meta);
  return envelope.ok ? envelope.value : unknownSource;
}

const unknownSource: NotificationSource = { peer: { revision: newest, capabilities: {} }, logLevel: undefined };

/**
 * Sends notifications no faster than they are read.
 *
 * While the reader is slow, equal notifications are queued once: the memory for them depends on the number of things
 * that can change, not on how often they change.
 */
export function throttledNotify(notify: Notify): Notify {
  const waiting = new Map<string, () => Promise<void> | undefined>();
  let busy = false;

  const sendRest = async (slow: Promise<void>): Promise<void> => {
    busy = true;
    await slow;
    for (const [news, send] of waiting) {
      waiting.delete(news);
      await attempt(send);
    }
    busy = false;
  };

  return (method, params) => {
    if (busy) {
      waiting.set(newsOf(method, params), () => notify(method, params));
      return undefined;
    }
    const slow = notify(method, params);
    if (slow !== undefined) void sendRest(slow);
    return slow;
  };
}

/** The reader has left, so a failure to write is ignored. */
async function attempt(send: () => Promise<void> | undefined): Promise<void> {
  try {
    await send();
  } catch (error) {
    console.error("plugbay: a notification was not sent:", error);
  }
}

function newsOf(method: string, { uri, taskId, elicitationId }: JsonObject): string {
  const what = uri ?? taskId ?? elicitationId;
  return typeof what === "string" ? `${method} ${what}` : method;
}
