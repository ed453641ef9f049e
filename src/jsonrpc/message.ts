import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import type { JsonLimits, JsonShape } from "../json/shape.ts";
import { toText, toTextWithMeta } from "../json/text.ts";

/** Correlates a response with its request. `1` and `"1"` are different ids. */
export type Id = string | number;

export interface Request {
  readonly kind: "request";
  readonly id: Id;
  readonly method: string;
  readonly params: JsonObject;
  /** HTTP headers to send it with, on channels that send each message in a request of its own. Not part of the message. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum size of the response in bytes, where that is less than the limit of the channel. Not on the wire. */
  readonly maxBytes?: number;
  /** The request of this side whose response stream brought it, where a channel has such streams. Not part of the message. */
  readonly relatedRequestId?: Id;
}

export interface Notification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: JsonObject;
  /** Id of the request on whose response stream it arrived, where the channel knows it. Not on the wire. */
  readonly relatedRequestId?: Id;
  /** See {@link Request.headers}. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Success {
  readonly kind: "success";
  readonly id: Id;
  readonly result: JsonObject;
  /** Length of its text in characters, set for long texts only. Not on the wire. */
  readonly size?: number;
}

export interface Failure {
  readonly kind: "failure";
  /** `null` when the id of the request could not be read. */
  readonly id: Id | null;
  readonly error: ErrorObject;
  /** A result that exceeds a limit, with a stub for each oversized list element. Not on the wire. */
  readonly partial?: JsonObject;
  /** Length of its text in characters, set for long texts only. Not on the wire. */
  readonly size?: number;
}

export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

export type Response = Success | Failure;
export type Message = Request | Notification | Response;

/** Received data that is not a valid message. */
export interface Malformed {
  readonly kind: "malformed";
  /** Id of the message, or `null` where it could not be read. */
  readonly id: Id | null;
  readonly error: ErrorObject;
  /** False for an invalid response: answering a response with an error could loop forever. */
  readonly answerable: boolean;
}

/** A JSON-RPC batch. Only revision 2025-03-26 allows it. */
export interface Batch {
  readonly kind: "batch";
  readonly items: readonly (Message | Malformed)[];
}

/**
 * Reports that a request sent by this side will get no response. Not on the wire: created by channels that send each
 * message in an HTTP request of its own.
 */
export interface Undelivered {
  readonly kind: "undelivered";
  readonly id: Id;
  readonly cause: unknown;
}

/** The contents of one line or HTTP body. */
export type Parsed = Message | Malformed | Batch;

/** An item of {@link Channel.incoming}. */
export type Incoming = Parsed | Undelivered;

/** The error codes of JSON-RPC, and the code that MCP implementations use for a closed connection. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  connectionClosed: -32000,
} as const;

/** Parses one text received from the wire. Never throws. `shape` is as for {@link parseJson}. */
export function parseText(text: string, limits?: JsonLimits, shape?: JsonShape): Parsed {
  const parsed = parseJson(text, limits, shape);
  if (parsed.ok) return parseMessage(parsed.value);
  if (parsed.value === undefined)
    return unreadableText(parsed.reason, text.slice(0, PROBE_CHARS), text.slice(-PROBE_CHARS));
  const { id, method } = isObject(parsed.value) ? parsed.value : {};
  return parseError(parsed.reason, isId(id) ? { id, isRequest: typeof method === "string" } : undefined);
}

/** The message that an unparsable text was, as far as its id and kind are known. */
interface Origin {
  readonly id: Id;
  readonly isRequest: boolean;
}

/** A parse error. For a response it is not answerable: it is reported to the pending request only. */
function parseError(reason: string, origin?: Origin): Malformed {
  const problem = malformed(rpcCodes.parseError, `parse error: ${reason}`, origin?.id);
  return origin?.isRequest === false ? { ...problem, answerable: false } : problem;
}

const PROBE_CHARS = 256;
const beginning = /^\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}"),"(method|result|error)"/;
const ending = /,"id":(\d{1,15}|"[^"\\]{0,100}")(?:,"jsonrpc":"2\.0")?\}$/;

/**
 * A parse error for a text that was not parsed. The id and kind are taken from its first or last characters, which suffices
 * for the member orders that implementations commonly write.
 */
export function unreadableText(reason: string, head = "", tail = ""): Malformed {
  const [, id, member = "method"] = beginning.exec(head) ?? ending.exec(tail) ?? [];
  return parseError(reason, id === undefined ? undefined : { id: JSON.parse(id), isRequest: member === "method" });
}

/** Classifies one JSON value. Never throws. */
export function parseMessage(value: Json): Parsed {
  if (!Array.isArray(value)) return parseOne(value);
  if (value.length === 0) return malformed(rpcCodes.invalidRequest, "empty batch");
  return { kind: "batch", items: value.map(parseOne) };
}

function parseOne(value: Json): Message | Malformed {
  if (!isObject(value)) return malformed(rpcCodes.invalidRequest, "a message must be an object");
  if (typeof value.method === "string") {
    if (value.result === undefined && value.error === undefined) return parseCall(value, internMethod(value.method));
    return malformed(rpcCodes.invalidRequest, methodAndResult, isId(value.id) ? value.id : null);
  }
  if ("result" in value || "error" in value) return parseResponse(value);
  return malformed(rpcCodes.invalidRequest, '"method" must be a string', isId(value.id) ? value.id : null);
}

const methods = new Map<string, string>();

/** Returns the same string object for equal method names, which makes lookups by method faster. */
function internMethod(method: string): string {
  const validId = methods.get(method);
  if (validId !== undefined) return validId;
  if (methods.size < 100 && method.length <= 64) methods.set(method, method);
  return method;
}

function parseCall(value: JsonObject, method: string): Message | Malformed {
  const { id, params = {} } = value;
  const validId = isId(id) ? id : null;
  if (value.jsonrpc !== "2.0") return malformed(rpcCodes.invalidRequest, '"jsonrpc" must be "2.0"', validId);
  if (id !== undefined && validId === null) {
    return malformed(rpcCodes.invalidRequest, '"id" must be a string or an integer');
  }
  if (!isObject(params)) {
    const problem = malformed(rpcCodes.invalidParams, '"params" must be an object', validId);
    return validId === null ? { ...problem, answerable: false } : problem;
  }
  return validId === null ? { kind: "notification", method, params } : { kind: "request", id: validId, method, params };
}

function parseResponse({ jsonrpc, id, result, error }: JsonObject): Message | Malformed {
  const validId = isId(id) ? id : null;
  if (jsonrpc === "2.0" && error === undefined && isObject(result) && validId !== null) {
    return { kind: "success", id: validId, result };
  }
  if (jsonrpc === "2.0" && result === undefined && isErrorObject(error)) return { kind: "failure", id: validId, error };
  const problem = result !== undefined && error !== undefined ? resultAndError : "not a valid response";
  return { ...malformed(rpcCodes.invalidRequest, problem, validId), answerable: false };
}

/** Rejected, since one parser would read such a message as a request and another as a response. */
const methodAndResult = '"method" excludes "result" and "error"';
const resultAndError = '"result" and "error" exclude each other';

/** The JSON text of a message. Cached texts of its result or `_meta` are reused. */
export function encodeMessage(message: Message): string {
  switch (message.kind) {
    case "success":
      return `{"jsonrpc":"2.0","id":${encodeId(message.id)},"result":${toText(message.result)}}`;
    case "failure":
      return `{"jsonrpc":"2.0","id":${encodeId(message.id)},"error":${JSON.stringify(message.error)}}`;
    case "request":
      return `{"jsonrpc":"2.0","id":${encodeId(message.id)},"method":${JSON.stringify(message.method)},"params":${toTextWithMeta(message.params)}}`;
    case "notification":
      return `{"jsonrpc":"2.0","method":${JSON.stringify(message.method)},"params":${toText(message.params)}}`;
  }
}

function encodeId(id: Id | null): string {
  return typeof id === "number" ? String(id) : JSON.stringify(id);
}

/** Whether a value is a request id. Integers beyond 2^53 are rejected, because parsing would round them. */
export function isId(value: unknown): value is Id {
  return typeof value === "string" || Number.isSafeInteger(value);
}

function isErrorObject(value: unknown): value is ErrorObject & JsonObject {
  return isObject(value) && Number.isInteger(value.code) && typeof value.message === "string";
}

function malformed(code: number, message: string, id: Id | null = null): Malformed {
  return { kind: "malformed", id, error: { code, message }, answerable: true };
}
