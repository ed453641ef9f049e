import type { JsonObject } from "../json/json.ts";
import type { Deadline, DeadlineLimits, Deadlines } from "../std/deadlines.ts";
import { IdTable } from "../std/id-table.ts";
import type { Channel, Sender } from "./channel.ts";
import type { Id, Notification, Request, Response } from "./message.ts";

/**
 * Why a request got no response. For `full` and `unsent` nothing was written. The `cause` of `unsent` is the encoding
 * error, the cause of `undelivered` is the error of the channel, and the cause of `malformed` is the parse error.
 */
export type LostReason = "cancelled" | "timeout" | "closed" | "full" | "unsent" | "undelivered" | "malformed";

/** The outcome of a request that gets no response. */
export interface Lost {
  readonly kind: "lost";
  readonly reason: LostReason;
  readonly cause?: unknown;
  /** True when the peer has not seen the request. */
  readonly isUnsent?: boolean;
  /** The idle timeout that passed, in milliseconds. */
  readonly ms?: number;
  /** How many requests may be unanswered, where one more was not sent. */
  readonly max?: number;
}

/** The outcome of a request. Expected failures are values, not exceptions. */
export type Reply = Response | Lost;

export interface RequestOptions {
  /** Called with each notification for this request until it is settled. */
  onNotification?(notification: Notification): void;
  /** Subscribes to the caller's abort; returns the function that unsubscribes. */
  onAbort?(listener: () => void): () => void;
  /** The `reason` of `notifications/cancelled` after an abort. */
  abortReason?(): string | undefined;
  readonly limits?: DeadlineLimits;
  /** False for requests the protocol forbids to cancel. */
  readonly cancellable?: boolean;
  /** Where to send it. Default: the channel. */
  readonly via?: Sender | undefined;
  /** HTTP headers for the request and its cancellation, on channels that send each message in a request of its own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Maximum size of the response in bytes, where that is less than the limit of the channel. */
  readonly maxBytes?: number | undefined;
}

/** The requests that this side has sent. Each is settled exactly once. */
export interface Outbound {
  /** Sends a request. `params` receives the id, which is also the progress token. Never rejects. */
  request(method: string, params: (id: Id) => JsonObject, options?: RequestOptions): Promise<Reply>;
  /** Settles a request that will get no response. False when no such request is pending. */
  lose(id: Id, reason: "undelivered" | "malformed", cause: unknown): boolean;
  /** Settles the request with the id of the response. False when no such request is pending. */
  settle(response: Response): boolean;
  /**
   * Passes a notification to the request with this id. A notification for a settled request is dropped. False when no
   * such request was ever sent.
   */
  notify(id: Id, notification: Notification): boolean;
  /** Settles all pending requests as lost, and each later request immediately. */
  close(cause?: unknown): void;
  /** The number of the next request. */
  nextId(): number;
  readonly size: number;
}

export interface OutboundOptions {
  readonly channel: Sender;
  readonly deadlines: Deadlines;
  /** Maximum number of pending requests. Further requests fail immediately. 0 disables the limit. */
  readonly maxOpenRequests: number;
  /** The id of the first request. Default 1. */
  readonly firstId?: number | undefined;
  /** Prefix of every id, where several peers serve the same client and numbers alone would collide. */
  readonly idPrefix?: string | undefined;
  /** See {@link Channel.mask}. */
  readonly mask?: Channel["mask"];
}

interface Pending {
  readonly resolve: (reply: Reply) => void;
  readonly options: RequestOptions;
  deadline: Deadline | undefined;
  unsubscribe: (() => void) | undefined;
}

export function createOutbound(options: OutboundOptions): Outbound {
  const { channel, deadlines, maxOpenRequests, firstId = 1, idPrefix, mask } = options;
  const pending = new IdTable<Pending>();
  let nextId = firstId;
  /** Set when the channel is closed: the outcome of all pending and later requests. */
  let closed: Lost | undefined;

  /** Removes a pending request. Only the first call for an id returns it, so that it is settled exactly once. */
  const takePending = (id: Id): Pending | undefined => {
    const entry = pending.take(id);
    if (entry !== undefined) release(entry);
    return entry;
  };

  const lose = (id: Id, reason: "cancelled" | "timeout"): void => {
    const entry = takePending(id);
    if (entry === undefined) return;
    const ms = entry.options.limits?.idleMs;
    entry.resolve(reason === "timeout" && ms !== undefined ? { kind: "lost", reason, ms } : { kind: "lost", reason });
    if (entry.options.cancellable === false) return;
    const abortReason = reason === "timeout" ? "timeout" : entry.options.abortReason?.();
    const params = abortReason === undefined ? { requestId: id } : { requestId: id, reason: abortReason };
    const { via = channel, headers } = entry.options;
    const notification: Notification = { kind: "notification", method: "notifications/cancelled", params };
    via.send(headers === undefined ? notification : { ...notification, headers });
  };

  const wasIssued = (id: Id): boolean => {
    if (idPrefix !== undefined) return typeof id === "string" && id.startsWith(idPrefix);
    return typeof id === "number" && id > 0 && id < nextId;
  };

  const watch = (id: Id, entry: Pending): void => {
    const { options } = entry;
    if (options.limits !== undefined) entry.deadline = deadlines.start(options.limits, () => lose(id, "timeout"));
    entry.unsubscribe = options.onAbort?.(() => lose(id, "cancelled"));
  };

  return {
    request(method, params, options = {}) {
      if (closed !== undefined) return Promise.resolve({ ...closed, isUnsent: true });
      if (maxOpenRequests > 0 && pending.size >= maxOpenRequests)
        return Promise.resolve({ kind: "lost", reason: "full", max: maxOpenRequests });
      const id = idPrefix === undefined ? nextId++ : `${idPrefix}${nextId++}`;
      return new Promise((resolve) => {
        const entry: Pending = { resolve, options, deadline: undefined, unsubscribe: undefined };
        pending.add(id, entry);
        try {
          const { via = channel, headers, maxBytes } = options;
          const request: Request = { kind: "request", id, method, params: params(id) };
          const isPlain = headers === undefined && maxBytes === undefined;
          via.send(isPlain ? request : { ...request, ...(headers && { headers }), ...(maxBytes && { maxBytes }) });
        } catch (cause) {
          takePending(id)?.resolve({ kind: "lost", reason: "unsent", cause });
        }
        if (pending.get(id) !== undefined) watch(id, entry);
      });
    },
    lose(id, reason, cause) {
      const entry = takePending(id);
      entry?.resolve({ kind: "lost", reason, cause });
      return entry !== undefined;
    },
    settle(response) {
      const entry = response.id === null ? undefined : takePending(response.id);
      if (response.kind === "failure" && mask !== undefined)
        entry?.resolve({ ...response, error: mask(response.error) });
      else entry?.resolve(response);
      return entry !== undefined;
    },
    notify(id, notification) {
      const entry = pending.get(id);
      if (entry === undefined) return wasIssued(id);
      entry.deadline?.touch();
      entry.options.onNotification?.(notification);
      return true;
    },
    close(cause) {
      closed ??= cause === undefined ? { kind: "lost", reason: "closed" } : { kind: "lost", reason: "closed", cause };
      for (const id of channel.unsent?.() ?? []) takePending(id)?.resolve({ ...closed, isUnsent: true });
      for (const entry of pending.clear()) {
        release(entry);
        entry.resolve(closed);
      }
    },
    nextId: () => nextId,
    get size() {
      return pending.size;
    },
  };
}

/** Stops the deadline of a settled request, and its listening for aborts. */
function release({ deadline, unsubscribe }: Pending): void {
  deadline?.stop();
  unsubscribe?.();
}
