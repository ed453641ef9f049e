import type { JsonObject } from "../json/json.ts";
import type { Deadline, DeadlineLimits, Deadlines } from "../std/deadlines.ts";
import { IdTable } from "../std/id-table.ts";
import type { Channel, Sender } from "./channel.ts";
import type { Id, Notification, Request, Response } from "./message.ts";

/**
 * Why no response came. `full` and `unsent` wrote nothing; the cause of `unsent`
 * says what cannot be written, that of `undelivered` what the channel knows, that
 * of `malformed` what is wrong with the response that came.
 */
export type LostReason = "cancelled" | "timeout" | "closed" | "full" | "unsent" | "undelivered" | "malformed";

/** A request that will never be answered. */
export interface Lost {
  readonly kind: "lost";
  readonly reason: LostReason;
  readonly cause?: unknown;
  /** True when the peer has not seen the request. */
  readonly isUnsent?: boolean;
  /** How long it took until the time was up. */
  readonly ms?: number;
}

/** How a request ended: expected failures are values. */
export type Reply = Response | Lost;

export interface RequestOptions {
  /** Hears the notifications that name this request, until it is settled. */
  onNotification?(notification: Notification): void;
  /** Subscribes to the caller's abort; returns how to unsubscribe. */
  onAbort?(listener: () => void): () => void;
  /** What to tell the peer on abort. */
  abortReason?(): string | undefined;
  readonly limits?: DeadlineLimits;
  /** False for requests the protocol forbids to cancel. */
  readonly cancellable?: boolean;
  /** Where to send it, when not over the channel at large. */
  readonly via?: Sender | undefined;
  /** Sent with it, and with its cancellation, by channels that send each message on its own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The most that the response may have, where that is less than the channel allows. */
  readonly maxBytes?: number | undefined;
}

/** The requests this side has sent. Each is settled exactly once. */
export interface Outbound {
  /** Sends a request. `params` gets the id, which serves as its progress token. Never rejects. */
  request(method: string, params: (id: Id) => JsonObject, options?: RequestOptions): Promise<Reply>;
  /** Settles a request that will get no response. False when there is none. */
  lose(id: Id, reason: "undelivered" | "malformed", cause: unknown): boolean;
  /** Settles the request a response names. False when there is none: the response came late, or from nowhere. */
  settle(response: Response): boolean;
  /**
   * Hands a notification to the request it names. One that comes too late is
   * dropped. False when there never was such a request.
   */
  notify(id: Id, notification: Notification): boolean;
  /** Settles every request as lost, and every later one at once. */
  close(cause?: unknown): void;
  /** The number of the next request. */
  nextId(): number;
  readonly size: number;
}

export interface OutboundOptions {
  readonly channel: Sender;
  readonly deadlines: Deadlines;
  /** More than this many unanswered requests fail at once. 0 is off. */
  readonly maxOpenRequests: number;
  /** The id of the first request. Default 1. */
  readonly firstId?: number | undefined;
  /** Begins every id, where numbers alone would not tell peers of the same client apart. */
  readonly idPrefix?: string | undefined;
  /** Hides secrets in the errors of the peer. */
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
  /** How requests end that were open when the channel was closed. */
  let closed: Lost | undefined;

  /** The first to take the entry wins; whoever comes later finds nothing. */
  const take = (id: Id): Pending | undefined => {
    const entry = pending.take(id);
    if (entry !== undefined) release(entry);
    return entry;
  };

  const lose = (id: Id, reason: "cancelled" | "timeout"): void => {
    const entry = take(id);
    if (entry === undefined) return;
    const ms = entry.options.limits?.idleMs;
    entry.resolve(reason === "timeout" && ms !== undefined ? { kind: "lost", reason, ms } : { kind: "lost", reason });
    if (entry.options.cancellable === false) return;
    const why = reason === "timeout" ? "timeout" : entry.options.abortReason?.();
    const params = why === undefined ? { requestId: id } : { requestId: id, reason: why };
    const { via = channel, headers } = entry.options;
    const notification: Notification = { kind: "notification", method: "notifications/cancelled", params };
    via.send(headers === undefined ? notification : { ...notification, headers });
  };

  const wasUsed = (id: Id): boolean => {
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
        return Promise.resolve({ kind: "lost", reason: "full" });
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
          take(id)?.resolve({ kind: "lost", reason: "unsent", cause });
        }
        if (pending.get(id) !== undefined) watch(id, entry);
      });
    },
    lose(id, reason, cause) {
      const entry = take(id);
      entry?.resolve({ kind: "lost", reason, cause });
      return entry !== undefined;
    },
    settle(response) {
      const entry = response.id === null ? undefined : take(response.id);
      if (response.kind === "failure" && mask !== undefined)
        entry?.resolve({ ...response, error: mask(response.error) });
      else entry?.resolve(response);
      return entry !== undefined;
    },
    notify(id, notification) {
      const entry = pending.get(id);
      if (entry === undefined) return wasUsed(id);
      entry.deadline?.touch();
      entry.options.onNotification?.(notification);
      return true;
    },
    close(cause) {
      closed ??= cause === undefined ? { kind: "lost", reason: "closed" } : { kind: "lost", reason: "closed", cause };
      for (const id of channel.unsent?.() ?? []) take(id)?.resolve({ ...closed, isUnsent: true });
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

/** Nobody has to watch a request that is settled. */
function release({ deadline, unsubscribe }: Pending): void {
  deadline?.stop();
  unsubscribe?.();
}
