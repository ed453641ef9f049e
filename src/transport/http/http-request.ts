import type { JsonObject } from "../../json/json.ts";
import type { Sender } from "../../jsonrpc/channel.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import { type ErrorObject, encodeMessage, type Message, type Request, rpcCodes } from "../../jsonrpc/message.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { Linked } from "../../std/linked-set.ts";
import { sseEvent } from "../../std/sse.ts";
import { openLiveSink, type SinkRules } from "./event-sink.ts";
import {
  type EventSink,
  type HttpHeaders,
  type HttpReply,
  jsonHeaders,
  putOffBy,
  streamHeaders,
} from "./http-message.ts";

export interface RequestRules extends SinkRules {
  /** Answers are streams, also those that could be plain. */
  readonly alwaysStream: boolean;
  /** Errors have the status of any other answer, unless they say when to retry: older clients look no further than a bad one. */
  readonly plainErrors?: boolean;
  /** Called once when a request is over. */
  ended?(incoming: HttpIncomingRequest): void;
}

/**
 * One request that is answered by the HTTP response it came with.
 *
 * The answer is plain JSON, unless something was said before it: then it is the
 * last event of a stream. Nothing is written before it is known which.
 */
export class HttpIncomingRequest implements IncomingRequest, Sender, Linked<HttpIncomingRequest> {
  previous: HttpIncomingRequest | undefined = undefined;
  next: HttpIncomingRequest | undefined = undefined;
  readonly request: Request;
  readonly abort: LazyAbort = new LazyAbort();
  readonly http: HttpRequestInfo;
  readonly #reply: HttpReply;
  readonly #rules: RequestRules;
  #stream: EventSink | undefined;
  #open = true;

  constructor(request: Request, http: HttpRequestInfo, reply: HttpReply, rules: RequestRules) {
    this.request = request;
    this.http = http;
    this.#reply = reply;
    this.#rules = rules;
  }

  get via(): Sender {
    return this;
  }

  succeed(result: JsonObject): undefined {
    this.#answer({ kind: "success", id: this.request.id, result }, 200);
  }

  fail(error: ErrorObject): undefined {
    const message: Message = { kind: "failure", id: this.request.id, error };
    const putOff = putOffBy(error);
    if (putOff !== undefined) return this.#answer(message, putOff.status, putOff.headers);
    this.#answer(message, this.#rules.plainErrors ? 200 : statusOf(error));
  }

  refuse(error: ErrorObject): undefined {
    const status = statusOf(error);
    this.#answer({ kind: "failure", id: this.request.id, error }, status === 200 ? 400 : status);
  }

  notify(method: string, params: JsonObject): Promise<void> | undefined {
    return this.send({ kind: "notification", method, params });
  }

  send(message: Message): Promise<void> | undefined {
    if (!this.#open) return undefined;
    const text = encodeMessage(message);
    this.#stream ??= openLiveSink(this.#reply, this.#rules);
    return this.#stream.write(sseEvent({ data: text }));
  }

  /** Answers with a stream, which can be kept alive. */
  openStream(): void {
    if (this.#open) this.#stream ??= openLiveSink(this.#reply, this.#rules);
  }

  hold(): void {
    this.#reply.held.hold();
  }

  release(): void {
    this.#reply.held.release();
  }

  drop(): void {
    if (!this.#end()) return;
    if (this.#stream !== undefined) this.#stream.end();
    else this.#reply.send(200, jsonHeaders, "");
  }

  /** The client is gone: whatever it wanted, it no longer does. */
  gone(): void {
    if (this.#end()) this.abort.abort("the client is gone");
  }

  #end(): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#rules.ended?.(this);
    return true;
  }

  #answer(message: Message, status: number, headers: HttpHeaders = jsonHeaders): undefined {
    if (!this.#end()) return;
    const text = encode(message);
    if (this.#stream !== undefined) this.#stream.end(sseEvent({ data: text }));
    else if (this.#rules.alwaysStream && status === 200) this.#reply.send(200, streamHeaders, sseEvent({ data: text }));
    else this.#reply.send(status, headers, text);
  }
}

function encode(message: Message): string {
  try {
    return encodeMessage(message);
  } catch {
    const id = "id" in message ? message.id : null;
    return encodeMessage({
      kind: "failure",
      id,
      error: { code: rpcCodes.internal, message: "the result cannot be encoded as JSON" },
    });
  }
}

/** The errors that the protocol gives a status of its own. The others are answers like any other. */
function statusOf({ code }: ErrorObject): number {
  if (code === rpcCodes.methodNotFound) return 404;
  return badRequests.has(code) ? 400 : 200;
}

const badRequests: ReadonlySet<number> = new Set([
  rpcCodes.parseError,
  rpcCodes.invalidRequest,
  -32020,
  -32021,
  -32022,
]);
