import { isObject } from "../../json/json.ts";
import { type ErrorObject, encodeMessage, type Id, rpcCodes } from "../../jsonrpc/message.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import type { LazyAbort } from "../../std/lazy-abort.ts";
import type { HttpCaller } from "./fair-gate.ts";
import type { RequestHold } from "./request-hold.ts";

/** The head of one HTTP request: what handlers may know of it is all there is. */
export type HttpHead = HttpRequestInfo;

export type HttpHeaders = Readonly<Record<string, string>>;

/** A whole answer. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: string;
}

/** An answer that refuses a request. Its body is a JSON-RPC error without id: nothing of the request was read. */
export function refusal(
  status: number,
  message: string,
  headers: HttpHeaders = {},
  code: number = rpcCodes.invalidRequest,
): HttpAnswer {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", error: { code, message } }),
  };
}

/**
 * A response with a JSON-RPC error. It has no id where no request waits for it, so that it is not taken for another
 * response.
 */
export function errorAnswer(status: number, id: Id | null, error: ErrorObject): HttpAnswer {
  const body = id === null ? JSON.stringify({ jsonrpc: "2.0", error }) : encodeMessage({ kind: "failure", id, error });
  return { status, headers: jsonHeaders, body };
}

/** The answer to a request whose body something else has read. `remedy` says where it should have been unread, and what to do. */
export function consumedBody(remedy: string): HttpAnswer {
  return refusal(500, `the request body was read before it reached ${remedy}`, {}, rpcCodes.internal);
}

/** The path of a request, without its query. */
export function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

/** A listener for the end of the client, mostly an object that would otherwise create a function for each request. */
export interface GoneListener {
  gone(): void;
}

/** Where the answer to one HTTP request goes: all at once, or as a stream of events. */
export interface HttpReply {
  /** Whose shares the request is counted for. */
  readonly caller: HttpCaller;
  /** What is counted for the request. */
  readonly held: RequestHold;
  /** Answers whole, in one write. */
  send(status: number, headers: HttpHeaders, body: string): void;
  /** Answers with a stream. */
  open(headers: HttpHeaders): EventSink;
  /** Called once when the client has left before its response was complete. */
  onGone(listener: GoneListener): void;
  /**
   * Called when the platform has ended the request with all its work, after the listeners for the end of the client.
   * Absent where no platform does so.
   */
  onLost?(listener: () => void): void;
}

/** The writing end of a stream of events. What is written after the end, or to a client that is gone, is lost. */
export interface EventSink {
  /** A promise means that the client is slow: it resolves when the client has caught up, or is gone. */
  write(text: string): Promise<void> | undefined;
  /** Ends the stream after what was written. Idempotent. */
  end(text?: string): void;
  /** Cuts the connection. */
  destroy(): void;
  /** Bytes that the system has not taken yet. */
  readonly backlog: number;
  /** True when something is unread, and nothing was read since this was last called. Absent where a broken connection is noticed. */
  isStalled?(): boolean;
}

/** The head of every stream of events. Proxies must hand on what comes, when it comes. */
export const streamHeaders: HttpHeaders = Object.freeze({
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
});

export const jsonHeaders: HttpHeaders = Object.freeze({ "content-type": "application/json" });

/** Sends an answer that is known whole. */
export function sendAnswer(reply: HttpReply, { status, headers, body }: HttpAnswer): void {
  reply.send(status, headers, body);
}

/** One HTTP request of ours, as plain values. Header names are lower case. */
export interface OutgoingRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The response. Read it or release it, or its connection cannot be used again. */
export interface IncomingResponse {
  readonly status: number;
  /** Of a response that refuses a request: the URL that was asked, without what may be secret. */
  readonly url?: string | undefined;
  header(name: string): string | undefined;
  /** The whole body. Rejects when it is longer than `maxBytes` or breaks off. */
  text(maxBytes: number): Promise<string>;
  /**
   * The body as it arrives. `take` may return a promise to be given no more for
   * now. Resolves at the end, rejects when the connection breaks.
   */
  read(take: (chunk: Uint8Array) => Promise<void> | undefined): Promise<void>;
  /** Releases the body. Idempotent. */
  discard(): void;
}

/**
 * Sends one HTTP request: the platform's part of the client.
 *
 * Follows no redirect. Aborting ends the request, and the reading of its answer.
 * Rejects when there is no answer.
 */
export type HttpSend = (request: OutgoingRequest, abort: LazyAbort) => Promise<IncomingResponse>;

const token = String.raw`[!#$%&'*+.^_\x60|~\w-]+`;
const otherParameter = String.raw`(?!charset=)${token}=(?:${token}|"(?:[^"\\]|\\.)*")`;
const parameter = `(?:charset=(?:utf-8|"utf-8")|${otherParameter})`;

/** Has only one way to match any text, so its time is linear. */
const jsonType = new RegExp(`^application/json[ \\t]*(?:;[ \\t]*(?:${parameter}[ \\t]*)?)*$`, "i");

/**
 * Whether a Content-Type is `application/json`. Parameters may follow; a charset
 * has to be utf-8. A page of another origin cannot send this type unasked.
 */
export function isJsonType(contentType: string | undefined): boolean {
  return contentType === "application/json" || (contentType !== undefined && jsonType.test(contentType));
}

/** What the body of an answer can be. */
export type AnswerType = "application/json" | "text/event-stream";

/** What nearly every client sends. Each takes answers of any type. */
const common: ReadonlySet<string> = new Set([
  "application/json, text/event-stream",
  "application/json,text/event-stream",
  "text/event-stream, application/json",
  "text/event-stream,application/json",
  "*/*",
]);

/**
 * Whether an Accept header takes all of these types.
 *
 * As in RFC 9110, the most specific range decides, `q=0` excludes, and without
 * the header everything is taken. Other parameters of a range are ignored.
 */
export function accepts(accept: string | undefined, ...types: readonly AnswerType[]): boolean {
  if (accept === undefined || common.has(accept)) return true;
  const ranges = parseRanges(accept);
  return types.every((type) => {
    const wider = `${type.slice(0, type.indexOf("/"))}/*`;
    return ranges.get(type) ?? ranges.get(wider) ?? ranges.get("*/*") ?? false;
  });
}

/** Media ranges, and whether each is wanted. */
function parseRanges(accept: string): ReadonlyMap<string, boolean> {
  const ranges = new Map<string, boolean>();
  for (const item of accept.toLowerCase().split(",")) {
    const [range = "", ...parameters] = item.split(";").map((part) => part.trim());
    ranges.set(range, ranges.get(range) === true || weightOf(parameters) > 0);
  }
  return ranges;
}

/** NaN when it is no number. */
function weightOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return weight === undefined ? 1 : Number(weight.slice(2));
}

/** How HTTP says that a request was refused for now. */
export interface PutOff {
  readonly status: 429 | 503;
  readonly headers: HttpHeaders;
}

/**
 * The status and headers of an error that says when the request can be sent
 * again: 429 where a limit of the caller was reached, else 503. Undefined for any other error.
 */
export function putOffBy({ code, data }: ErrorObject): PutOff | undefined {
  if (code !== rpcCodes.internal || !isObject(data) || !Number.isFinite(data.retryAfterMs)) return undefined;
  const seconds = Math.max(1, Math.ceil(Number(data.retryAfterMs) / 1_000));
  const status = data.reason === "limit-reached" && data.scope !== "process" ? 429 : 503;
  return { status, headers: { "content-type": "application/json", "retry-after": String(seconds) } };
}
