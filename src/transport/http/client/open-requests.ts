import type { Malformed, Message, Notification } from "../../../jsonrpc/message.ts";
import type { Lost, Reply } from "../../../jsonrpc/outbound.ts";
import type { ClientCodec } from "../../../protocol/codec/codec.ts";
import type { Opening } from "../../../protocol/connection.ts";
import { methodRow } from "../../../protocol/methods.ts";
import { type CallOf, onAbort } from "../../../protocol/service.ts";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import { type Linked, LinkedSet } from "../../../std/linked-set.ts";
import { warnOfRequest } from "../../modern-connection.ts";
import { tellCall } from "../../send-call.ts";
import type { PostSender } from "./http-post.ts";

/** The calls of one connection that have no outcome yet. */
export class OpenRequests {
  /** The number of the last request. */
  lastId = 0;
  /** True once it is known that the server speaks the newest revision. */
  isModern = false;
  readonly #open = new LinkedSet<OpenRequest>();
  readonly #codec: ClientCodec;
  readonly #opening: Opening;

  constructor(codec: ClientCodec, opening: Opening) {
    this.#codec = codec;
    this.#opening = opening;
  }

  /** `resolve` is called with the end of the request. Aborting the call ends it as well. */
  add(call: CallOf, resolve: (reply: Reply) => void): OpenRequest {
    return new OpenRequest({ id: ++this.lastId, call, codec: this.#codec, requests: this, resolve }, this.#open);
  }

  /** Takes what a response stream brings before the response. Notifications belong to the call, but for progress. */
  onMessage(message: Message | Malformed, from?: OpenRequest): void {
    if (message.kind === "request" && this.isModern) warnOfRequest(message.method, this.#opening);
    if (message.kind !== "notification") return;
    const isProgress = message.method === "notifications/progress";
    if (isProgress && this.#isOurs(message.params.progressToken)) this.#byToken(message)?.notified(message);
    else if (isProgress || from === undefined) this.#opening.notified(message.method, message.params);
    else from.notified(message);
  }

  #isOurs(token: unknown): boolean {
    return typeof token === "number" && token > 0 && token <= this.lastId;
  }

  /** Progress belongs to the call of its token, whichever stream it comes on. */
  #byToken({ params }: Notification): OpenRequest | undefined {
    let request = this.#open.first;
    while (request !== undefined && request.id !== params.progressToken) request = request.next;
    return request;
  }

  /** Ends all of them. */
  lose(lost: Lost): void {
    for (const request of this.#open.toArray()) request.lose(lost);
  }
}

interface OpenRequestParts {
  readonly id: number;
  readonly call: CallOf;
  readonly codec: ClientCodec;
  readonly requests: OpenRequests;
  resolve(reply: Reply): void;
}

/** A call that has no outcome yet. */
export class OpenRequest implements Linked<OpenRequest>, PostSender {
  previous: OpenRequest | undefined;
  next: OpenRequest | undefined;
  /** Of its POSTs. */
  readonly abort: LazyAbort = new LazyAbort();
  readonly #parts: OpenRequestParts;
  readonly #open: LinkedSet<OpenRequest>;
  readonly #unlisten: (() => void) | undefined;

  constructor(parts: OpenRequestParts, open: LinkedSet<OpenRequest>) {
    this.#parts = parts;
    this.#open = open;
    open.add(this);
    this.#unlisten = onAbort(parts.call, () => this.lose({ kind: "lost", reason: "cancelled" }));
  }

  get id(): number {
    return this.#parts.id;
  }

  get maxBytes(): number | undefined {
    return this.#parts.call.maxBytes;
  }

  onMessage(message: Message | Malformed): void {
    this.#parts.requests.onMessage(message, this);
  }

  /** A server ends a call that stays open, such as a subscription, by answering or by cancelling it. */
  notified(notification: Notification): void {
    if (!this.#open.has(this)) return;
    const { id, call, codec } = this.#parts;
    const isEnd = notification.method === "notifications/cancelled" && methodRow(call.method).open === true;
    if (isEnd) this.settle({ kind: "success", id, result: {} });
    else tellCall(codec, call, notification);
  }

  /** Without effect when it is over. */
  settle(reply: Reply): void {
    if (!this.#open.delete(this)) return;
    this.#unlisten?.();
    this.#parts.resolve(reply);
  }

  /** The call is not awaited any more: aborts its POST. */
  lose(lost: Lost): void {
    this.settle(lost);
    this.abort.abort(lost.reason);
  }
}
