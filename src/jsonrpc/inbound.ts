import type { JsonObject } from "../json/json.ts";
import { IdTable } from "../std/id-table.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Sender } from "./channel.ts";
import { type ErrorObject, type Failure, type Id, type Request, type Response, rpcCodes } from "./message.ts";

/** One request of the peer, from its arrival to its response. */
export interface IncomingRequest {
  readonly request: Request;
  /** Aborted when the peer cancels or the connection ends. */
  readonly abort: LazyAbort;
  /** Sends the result. Only the first response is written, and none after the peer cancelled the request. */
  succeed(result: JsonObject): Promise<void> | undefined;
  fail(error: ErrorObject): Promise<void> | undefined;
  /** Sends an error for a request that was rejected before it had any effect. */
  refuse(error: ErrorObject): Promise<void> | undefined;
  /** Sends a notification while the request is open. A no-op afterwards. */
  notify(method: string, params: JsonObject): Promise<void> | undefined;
  /** Ends the request without a response. */
  drop(): void;
  /** Where its response and its notifications are sent. */
  readonly via: Sender;
}

/** The requests of the peer that are not answered yet, by id. */
export interface Inbound {
  /** Adds a request, or returns the error response when its id is in use or too many requests are open. */
  open(request: Request, via: Sender): IncomingRequest | Failure;
  /** Aborts the request with this id, if it is open. The peer gets no response to it. */
  cancel(id: Id, reason: unknown): void;
  /** Aborts every open request, then answers with `error` those whose handlers did not respond synchronously. */
  endAll(error: ErrorObject): void;
  /** Resolves when no request is open. */
  drained(): Promise<void>;
  readonly size: number;
}

/**
 * Creates the table of open requests of a connection. It holds at most `maxOpen` requests; 0 disables the limit. `onFull`
 * is called for each request that is refused because of it.
 */
export function createInbound(maxOpen: number, onFull?: () => void): Inbound {
  return new OpenRequests(maxOpen, onFull);
}

class OpenRequests implements Inbound {
  readonly #maxOpen: number;
  readonly #onFull: (() => void) | undefined;
  readonly #open = new IdTable<OpenRequest>();
  #waiting: (() => void)[] | undefined;

  constructor(maxOpen: number, onFull: (() => void) | undefined) {
    this.#maxOpen = maxOpen;
    this.#onFull = onFull;
  }

  open(request: Request, via: Sender): IncomingRequest | Failure {
    const { id } = request;
    if (this.#open.get(id) !== undefined) return invalidRequest(id, `request id ${JSON.stringify(id)} is in use`);
    // `ping` is exempt: it is answered synchronously, and a peer at the limit must still be able to check the connection.
    if (this.#maxOpen > 0 && this.size >= this.#maxOpen && request.method !== "ping") {
      this.#onFull?.();
      return { kind: "failure", id, error: tooManyOpen(this.#maxOpen) };
    }
    const opened = new OpenRequest(request, via, this);
    this.#open.add(id, opened);
    return opened;
  }

  cancel(id: Id, reason: unknown): void {
    const request = this.#open.get(id);
    if (request === undefined) return;
    request.drop();
    request.abort.abort(reason);
  }

  endAll(error: ErrorObject): void {
    const requests = this.#open.values();
    for (const { abort } of requests) abort.abort(error.message);
    for (const request of requests) request.fail(error);
  }

  drained(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting ??= [];
      this.#waiting.push(resolve);
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Removes a request that has ended. */
  release(id: Id): void {
    this.#open.take(id);
    if (this.size > 0 || this.#waiting === undefined) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const resolve of waiting) resolve();
  }
}

function invalidRequest(id: Id, message: string): Failure {
  return { kind: "failure", id, error: { code: rpcCodes.invalidRequest, message } };
}

/** The error for a request beyond the limit of open requests. */
export function tooManyOpen(max: number): ErrorObject {
  const data = { reason: "limit-reached", limit: "maxOpenRequests", max, scope: "connection", retryAfterMs: 1_000 };
  return { code: rpcCodes.internal, message: `more than ${max} requests are open`, data };
}

class OpenRequest implements IncomingRequest {
  readonly request: Request;
  readonly abort = new LazyAbort();
  readonly via: Sender;
  readonly #table: OpenRequests;
  #open = true;
  #hasProgress = false;

  constructor(request: Request, via: Sender, table: OpenRequests) {
    this.request = request;
    this.via = via;
    this.#table = table;
  }

  succeed(result: JsonObject): Promise<void> | undefined {
    return this.#answer({ kind: "success", id: this.request.id, result });
  }

  fail(error: ErrorObject): Promise<void> | undefined {
    return this.#answer({ kind: "failure", id: this.request.id, error });
  }

  refuse(error: ErrorObject): Promise<void> | undefined {
    return this.fail(error);
  }

  notify(method: string, params: JsonObject): Promise<void> | undefined {
    if (!this.#open) return undefined;
    if (method === "notifications/progress") this.#hasProgress = true;
    return this.via.send({ kind: "notification", method, params });
  }

  drop(): void {
    if (this.#end()) this.via.drop?.(this.request.id);
  }

  #answer(response: Response): Promise<void> | undefined {
    if (!this.#end()) return undefined;
    if (!this.#hasProgress || this.via.sendAfterProgress === undefined) return this.#send(response);
    this.via.sendAfterProgress(() => void this.#send(response));
    return undefined;
  }

  #send(response: Response): Promise<void> | undefined {
    try {
      return this.via.send(response);
    } catch {
      return this.via.send({ kind: "failure", id: this.request.id, error: unencodableResult });
    }
  }

  #end(): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#table.release(this.request.id);
    return true;
  }
}

const unencodableResult: ErrorObject = { code: rpcCodes.internal, message: "the result cannot be encoded as JSON" };
