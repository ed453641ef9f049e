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
export interface Answering {
  readonly codec: ServerCodec;
  /** Signs modern results. Waited for when there is a result, not before. */
  readonly server?: Signer | Promise<Signer>;
  /** Where the client can be asked while the call waits. */
  readonly ask?: Ask | undefined;
  /** Runs the call. */
  serve(call: Call): Promise<Outcome>;
  /** Goes on with a call that ended by asking, where the client can be asked while it waits. */
  goOn?(call: Call, asked: Outcome): Promise<Outcome>;
  /** Hears how a call ends, right before that is written. */
  ending?(outcome: Outcome): void;
  /** Hears that an open call has ended with a result, right after that is written. */
  ended?(exchange: IncomingRequest): void;
  /** Hears that nothing more happens about a call, however it ended. */
  over?(): void;
}

type Signer = Implementation | undefined;

/** Turns a decoded request into a call, runs it and answers the exchange. Never rejects. */
export function answerCall(exchange: IncomingRequest, wire: WireCall, answering: Answering): Promise<void> {
  const answered = answer(exchange, wire, answering);
  exchange.via.http?.waitUntil?.(answered);
  return answered;
}

async function answer(exchange: IncomingRequest, wire: WireCall, answering: Answering): Promise<void> {
  const { codec } = answering;
  const { via } = exchange;
  via.hold?.();
  try {
    if (exchange.abort.aborted) return;
    const call = callOf(exchange, wire, answering);
    let outcome = await answering.serve(call);
    if (outcome.kind === "input-required" && answering.goOn !== undefined)
      outcome = await answering.goOn(call, outcome);
    answering.ending?.(outcome);
    const signer = answering.server;
    const server = signer instanceof Promise ? await signer : signer;
    const encoded = codec.encodeOutcome(wire.method, outcome, server, wire.params);
    if (!encoded.ok) return void exchange.fail(codec.encodeFailure(encoded.failure));
    if (wire.row.open !== true) return void exchange.succeed(encoded.value);
    exchange.succeed(withMeta(encoded.value, metaKeys.subscriptionId, exchange.request.id));
    answering.ended?.(exchange);
  } catch (error) {
    console.error(`plugbay: ${wire.method} threw:`, error);
    exchange.fail(codec.encodeFailure({ code: "internal", message: "internal error" }));
  } finally {
    answering.over?.();
    via.release?.();
  }
}

/** The call of a request, as its codec has read it. */
function callOf(exchange: IncomingRequest, wire: WireCall, { codec, ask }: Answering): Call {
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
    notify: notifier(exchange, wire, codec),
    ask,
    http: exchange.via.http,
    closeStream: hangUpOf(exchange),
    tasks,
    rpcId: exchange.request.id,
    abort: exchange.abort,
  }) as Call;
}

/** Open calls mark everything they send with the id of their request, and may have news for ever. */
function notifier(exchange: IncomingRequest, { row, progressToken }: WireCall, codec: ServerCodec): Notify {
  const isOpen = row.open === true;
  const subscriptionId = isOpen ? exchange.request.id : undefined;
  const notify: Notify = (name, content) => {
    const encoded = codec.encodeNotification(name, content, { progressToken, subscriptionId });
    return encoded === undefined ? undefined : exchange.notify(codec.notificationName(name), encoded);
  };
  return isOpen ? patientNotify(notify) : notify;
}

function hangUpOf({ via }: IncomingRequest): CloseStream | undefined {
  return via.closeStream === undefined ? undefined : (retryMs) => via.closeStream?.(retryMs);
}

/** Who sent a notification. */
export type NotificationSource = Pick<WireCall, "peer" | "logLevel">;

/** A notification of a client. */
export interface HeardNotification {
  readonly notification: Notification;
  readonly via: Sender;
  readonly source: NotificationSource;
  readonly gate: CallGate;
}

/** Notifications of clients on their way to the service, each as a call that nobody waits for. */
export interface NotificationQueue {
  /** Runs `answer` when it has its turn. One too many is dropped, as are those that no author hears. */
  add(heard: HeardNotification, answer: (exchange: IncomingRequest, wire: WireCall) => Promise<void>): void;
}

/** `maxOpen` bounds those whose handling is not over. */
export function createNotificationQueue(maxOpen: number): NotificationQueue {
  let open = 0;

  return {
    add({ gate, notification, via, source }, answer) {
      if (!isHandled(notification.method) || open >= maxOpen) return;
      const exchange = new IncomingNotification(notification, via);
      const work = async (): Promise<void> => {
        await answer(exchange, toCall(notification, source));
        open--;
      };
      open++;
      if (gate.run(work, exchange) !== undefined) open--;
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

/** Who sent a notification of 2026-07-28, as far as it says so. */
export function statedSource({ params }: Notification): NotificationSource {
  const envelope = readEnvelope(newest, params._meta);
  return envelope.ok ? envelope.value : unknownSource;
}

const unknownSource: NotificationSource = { peer: { revision: newest, capabilities: {} }, logLevel: undefined };

/**
 * Tells of changes no faster than they are read.
 *
 * While the reader is slow, the same news about the same thing waits only once:
 * memory grows with what can change, not with how often it does.
 */
export function patientNotify(notify: Notify): Notify {
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

/** Who had the news is gone by now, and need not hear that it cannot be written. */
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
