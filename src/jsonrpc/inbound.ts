import type { JsonObject } from "../json/json.ts";
import { IdTable } from "../std/id-table.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Sender } from "./channel.ts";
import { type ErrorObject, type Failure, type Id, type Request, type Response, rpcCodes } from "./message.ts";

/** One request of the peer, from its arrival to its answer. */
export interface IncomingRequest {
  readonly request: Request;
  /** Aborted when the peer cancels or the connection ends. */
  readonly abort: LazyAbort;
  /** Answers. Only the first answer is written, and none after the peer cancelled. */
  succeed(result: JsonObject): Promise<void> | undefined;
  fail(error: ErrorObject): Promise<void> | undefined;
  /** Answers that the request is not understood: nothing was done about it. */
  refuse(error: ErrorObject): Promise<void> | undefined;
  /** Sends a notification while the request is open. A no-op after it. */
  notify(method: string, params: JsonObject): Promise<void> | undefined;
  /** Ends the exchange without an answer. */
  drop(): void;
  /** Where its answer goes, and what else concerns it. */
  readonly via: Sender;
}

/** The requests of the peer that are not answered yet. */
export interface Inbound {
  /** Takes a request in, or says what to answer because its id is in use or too many are open. */
  open(request: Request, via: Sender): IncomingRequest | Failure;
  /** Aborts the request with this id, if it is open. The peer gets no answer to it. */
  cancel(id: Id, reason: unknown): void;
  /** Aborts everything that is open, and answers with an error what did not answer to that at once. */
  endAll(error: ErrorObject): void;
  /** Resolves when no request is open. */
  drained(): Promise<void>;
  readonly size: number;
}

/** `maxOpen` of 0 is off. */
export function createInbound(maxOpen: number): Inbound {
  return new OpenRequests(maxOpen);
}

class OpenRequests implements Inbound {
  readonly #maxOpen: number;
  readonly #open = new IdTable<LiveExchange>();
  #waiting: (() => void)[] | undefined;

  constructor(maxOpen: number) {
    this.#maxOpen = maxOpen;
  }

  open(request: Request, via: Sender): IncomingRequest | Failure {
    const { id } = request;
    if (this.#open.get(id) !== undefined) return refuse(id, `request id ${JSON.stringify(id)} is in use`);
    // A ping is answered at once: it never adds to them, and who asks whether we are there should hear it.
    if (this.#maxOpen > 0 && this.size >= this.#maxOpen && request.method !== "ping")
      return { kind: "failure", id, error: tooManyOpen(this.#maxOpen) };
    const exchange = new LiveExchange(request, via, this);
    this.#open.add(id, exchange);
    return exchange;
  }

  cancel(id: Id, reason: unknown): void {
    const exchange = this.#open.get(id);
    if (exchange === undefined) return;
    exchange.drop();
    exchange.abort.abort(reason);
  }

  endAll(error: ErrorObject): void {
    const exchanges = this.#open.values();
    for (const { abort } of exchanges) abort.abort(error.message);
    for (const exchange of exchanges) exchange.fail(error);
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

  /** A request is over. */
  release(id: Id): void {
    this.#open.take(id);
    if (this.size > 0 || this.#waiting === undefined) return;
    const wake = this.#waiting;
    this.#waiting = undefined;
    for (const resolve of wake) resolve();
  }
}

function refuse(id: Id, message: string): Failure {
  return { kind: "failure", id, error: { code: rpcCodes.invalidRequest, message } };
}

/** The error of requests that are more than may be open. */
export function tooManyOpen(max: number): ErrorObject {
  const data = { reason: "limit-reached", limit: "maxOpenRequests", max, scope: "connection", retryAfterMs: 1_000 };
  return { code: rpcCodes.internal, message: `more than ${max} requests are open`, data };
}

class LiveExchange implements IncomingRequest {
  readonly request: Request;
  readonly abort = new LazyAbort();
  readonly via: Sender;
  readonly #among: OpenRequests;
  #open = true;
  #hasProgress = false;

  constructor(request: Request, via: Sender, among: OpenRequests) {
    this.request = request;
    this.via = via;
    this.#among = among;
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
    if (!this.#hasProgress || this.via.sendApart === undefined) return this.#send(response);
    this.via.sendApart(() => void this.#send(response));
    return undefined;
  }

  #send(response: Response): Promise<void> | undefined {
    try {
      return this.via.send(response);
    } catch {
      return this.via.send({ kind: "failure", id: this.request.id, error: noJson });
    }
  }

  #end(): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#among.release(this.request.id);
    return true;
  }
}

const noJson: ErrorObject = { code: rpcCodes.internal, message: "the result cannot be encoded as JSON" };
