import { asJson, isObject, type Json, type JsonObject } from "../json/json.ts";
import type { ErrorObject, Id, Notification } from "../jsonrpc/message.ts";
import type { Lost, Reply, RequestOptions } from "../jsonrpc/outbound.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import type { ClientCodec } from "../protocol/codec/codec.ts";
import { type Failure, McpError, toFailure } from "../protocol/errors.ts";
import { metaKeys, metaOf } from "../protocol/meta.ts";
import type { Method } from "../protocol/methods.ts";
import { markUnsent } from "../protocol/safe-to-retry.ts";
import { abortReason, type CallOf, type OutcomeOf, onAbort } from "../protocol/service.ts";
import { type Mask, maskJson } from "../std/secrets.ts";

/** Sends a call over a connection and brings back its outcome. Never rejects. */
export function sendCall<M extends Method>(
  peer: Pick<RpcPeer, "request">,
  codec: ClientCodec,
  call: CallOf<M>,
): Promise<OutcomeOf<M>> {
  const reply = peer.request(call.method, paramsOf(codec, call), new CallLink(codec, call));
  return reply.then((given) => outcomeOf(given, codec, call));
}

/** What ties a request to its call. A class, for every call has one and most need nothing of it. */
class CallLink implements RequestOptions {
  readonly #codec: ClientCodec;
  readonly #call: CallOf;

  constructor(codec: ClientCodec, call: CallOf) {
    this.#codec = codec;
    this.#call = call;
  }

  get headers(): CallOf["headers"] {
    return this.#call.headers;
  }

  get maxBytes(): number | undefined {
    return this.#call.maxBytes;
  }

  onNotification(notification: Notification): void {
    tellCall(this.#codec, this.#call, notification);
  }

  onAbort(listener: () => void): () => void {
    return onAbort(this.#call, listener);
  }

  abortReason(): string | undefined {
    return describeAbort(abortReason(this.#call));
  }
}

/**
 * Sends a call that stays open, such as a subscription. A server ends it by
 * answering or, on a channel that calls share, by cancelling it.
 */
export async function sendOpenCall<M extends Method>(
  peer: Pick<RpcPeer, "request">,
  codec: ClientCodec,
  call: CallOf<M>,
): Promise<OutcomeOf<M>> {
  let ended = false;
  let end = (): void => {};
  const reply = await peer.request(call.method, paramsOf(codec, call), {
    onNotification(notification) {
      if (notification.method !== CANCELLED) return tellCall(codec, call, notification);
      ended = true;
      end();
    },
    onAbort(listener) {
      end = listener;
      return onAbort(call, listener);
    },
    abortReason: () => describeAbort(abortReason(call)),
    headers: call.headers,
    /** What the server has ended need not be cancelled. */
    get cancellable() {
      return !ended;
    },
  });
  return ended ? codec.decodeResult(call.method, {}) : outcomeOf(reply, codec, call);
}

const CANCELLED = "notifications/cancelled";

/** Requests progress with the id of the request as its token, when the caller wants progress. */
function paramsOf(codec: ClientCodec, call: CallOf): (id: Id) => JsonObject {
  return (id) => {
    call.onSent?.(id);
    return codec.encodeCall(call, call.wantsProgress ? id : undefined);
  };
}

/** Passes a notification that belongs to a call to its caller. */
export function tellCall(codec: ClientCodec, call: CallOf, { method, params }: Notification): void {
  const told = codec.decodeNotification(method, params);
  if (told !== undefined) call.notify(told.method, told.params);
}

/** What the answer to a call means. */
export function outcomeOf<M extends Method>(reply: Reply, codec: ClientCodec, { method }: CallOf<M>): OutcomeOf<M> {
  if (reply.kind === "success") {
    const outcome = codec.decodeResult(method, reply.result);
    const { size } = reply;
    return size === undefined || outcome.kind !== "complete" ? outcome : { ...outcome, size };
  }
  const failure = failureOf(reply, codec, method);
  if (reply.kind === "lost" || reply.partial === undefined) return { kind: "failed", failure };
  const { size } = reply;
  const told = codec.decodeResult(method, reply.partial);
  const partial = told.kind === "complete" ? { partial: asJson(told.result) } : {};
  return { kind: "failed", failure, ...partial, ...(size !== undefined && { size }) };
}

/** Why a request did not succeed. */
export function failureOf(
  reply: Exclude<Reply, { kind: "success" }>,
  codec: Pick<ClientCodec, "decodeFailure">,
  method: string,
): Failure {
  return reply.kind === "failure" ? codec.decodeFailure(reply.error, method) : lostFailure(reply, method);
}

function lostFailure({ reason, cause, ms, max, isUnsent = false }: Lost, method: string): Failure {
  switch (reason) {
    case "cancelled":
      return { code: "cancelled", message: `${method} was cancelled` };
    case "timeout":
      return {
        code: "timeout",
        message: `no response to ${method} ${ms === undefined ? "in time" : `within ${ms} ms`}`,
      };
    case "full":
      return {
        code: "limit-reached",
        message: `${method} was not sent: too many requests are unanswered (maxOpenRequests)`,
        data: { limit: "maxOpenRequests", max, scope: "connection" },
      };
    case "unsent":
      return {
        code: "invalid-params",
        message: `${method} was not sent: ${cause instanceof Error ? cause.message : cause}`,
      };
    case "malformed":
      return { code: "invalid-response", message: `the response to ${method} is malformed: ${cause}` };
    case "undelivered":
      return cause instanceof McpError ? toFailure(cause) : closedFailure(cause);
    case "closed":
      return isUnsent ? markUnsent(closedFailure(cause)) : closedFailure(cause);
  }
}

/** What a broken connection says of itself, or that it is closed. */
export function closedFailure(cause: unknown): Failure {
  if (cause instanceof McpError) {
    return { code: "connection-closed", message: cause.message, ...(cause.data !== undefined && { data: cause.data }) };
  }
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  return { code: "connection-closed", message: `the connection is closed${detail}` };
}

/** The request of a client that a notification belongs to: by its progress token, or by its subscription. */
export function findRequestId({ method, params }: Notification): Id | undefined {
  if (method === "notifications/progress") return asId(params.progressToken);
  return isObject(params._meta) ? asId(metaOf(params)[metaKeys.subscriptionId]) : undefined;
}

/** Like {@link findRequestId}, on a connection where the server has no requests of its own to cancel. */
export function findRequestIdModern(notification: Notification): Id | undefined {
  if (notification.method === CANCELLED) return asId(notification.params.requestId);
  return findRequestId(notification);
}

function asId(value: unknown): Id | undefined {
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

function describeAbort(reason: unknown): string | undefined {
  if (typeof reason === "string") return reason;
  if (reason instanceof McpError) return reason.code === "cancelled" ? undefined : reason.code;
  return undefined;
}

/** An error of a peer without the secrets that it repeats. */
export function maskError({ code, message, data }: ErrorObject, mask: Mask): ErrorObject {
  return { code, message: mask(message), ...(data !== undefined && { data: maskJson(data, mask) as Json }) };
}
