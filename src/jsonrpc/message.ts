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
  /** Headers to send it with, where it is sent on its own. Not in the message itself. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The most that its response may have, where that is less than the channel allows. Not on the wire. */
  readonly maxBytes?: number;
}

export interface Notification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: JsonObject;
  /** The request it was sent for, where the channel can tell. Not on the wire. */
  readonly about?: Id;
  /** Like those of a request. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Success {
  readonly kind: "success";
  readonly id: Id;
  readonly result: JsonObject;
  /** How long its text was, where it was long. Not on the wire. */
  readonly size?: number;
}

export interface Failure {
  readonly kind: "failure";
  /** `null` when the id of the request could not be read. */
  readonly id: Id | null;
  readonly error: ErrorObject;
  /** What could be read of a result that breaks a limit, with stubs for the rest. Not on the wire. */
  readonly partial?: JsonObject;
  /** How long its text was, where it was long. Not on the wire. */
  readonly size?: number;
}

export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

export type Response = Success | Failure;
export type Message = Request | Notification | Response;

/** Something that arrived and is no message. */
export interface Malformed {
  readonly kind: "malformed";
  /** Of the request, where it could be read. */
  readonly id: Id | null;
  readonly error: ErrorObject;
  /** False for a broken response: an answer to an answer would never end. */
  readonly answerable: boolean;
}

/** Several messages in one array. Only revision 2025-03-26 allows it. */
export interface Batch {
  readonly kind: "batch";
  readonly items: readonly (Message | Malformed)[];
}

/** News that a request of ours will get no answer. Not on the wire: a channel that sends each on its own says it. */
export interface Undelivered {
  readonly kind: "undelivered";
  readonly id: Id;
  readonly cause: unknown;
}

/** Whatever one line or body held. */
export type Parsed = Message | Malformed | Batch;

/** Whatever a channel has to tell. */
export type Incoming = Parsed | Undelivered;

/** The codes of JSON-RPC itself, and the one that MCP implementations use for a connection that is gone. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  connectionClosed: -32000,
} as const;

/** Reads one text off the wire. Never throws. `shape` is that of a long text, where it is known already. */
export function parseText(text: string, limits?: JsonLimits, shape?: JsonShape): Parsed {
  const parsed = parseJson(text, limits, shape);
  if (parsed.ok) return parseMessage(parsed.value);
  if (parsed.value === undefined) return unreadable(parsed.reason, text.slice(0, HEAD), text.slice(-HEAD));
  const { id, method } = isObject(parsed.value) ? parsed.value : {};
  return unread(parsed.reason, isId(id) ? { id, isRequest: typeof method === "string" } : undefined);
}

/** What a text that cannot be read was, as far as that is known. */
interface Origin {
  readonly id: Id;
  readonly isRequest: boolean;
}

/** A text that holds no message. Where it was a response, only its waiter is told. */
function unread(reason: string, origin?: Origin): Malformed {
  const problem = malformed(rpcCodes.parseError, `parse error: ${reason}`, origin?.id);
  return origin?.isRequest === false ? { ...problem, answerable: false } : problem;
}

const HEAD = 256;
const beginning = /^\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}"),"(method|result|error)"/;
const ending = /,"id":(\d{1,15}|"[^"\\]{0,100}")(?:,"jsonrpc":"2\.0")?\}$/;

/** A text that was not read at all. How it begins, or ends, tells whose it was, if it was written in one of the usual ways. */
export function unreadable(reason: string, head = "", tail = ""): Malformed {
  const [, id, member = "method"] = beginning.exec(head) ?? ending.exec(tail) ?? [];
  return unread(reason, id === undefined ? undefined : { id: JSON.parse(id), isRequest: member === "method" });
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
    if (value.result === undefined && value.error === undefined) return parseCall(value, oneText(value.method));
    return malformed(rpcCodes.invalidRequest, twoKinds, isId(value.id) ? value.id : null);
  }
  if ("result" in value || "error" in value) return parseResponse(value);
  return malformed(rpcCodes.invalidRequest, '"method" must be a string', isId(value.id) ? value.id : null);
}

const methods = new Map<string, string>();

/** Names of methods come again and again: as one and the same text they are found sooner wherever they are looked up. */
function oneText(method: string): string {
  const known = methods.get(method);
  if (known !== undefined) return known;
  if (methods.size < 100 && method.length <= 64) methods.set(method, method);
  return method;
}

function parseCall(value: JsonObject, method: string): Message | Malformed {
  const { id, params = {} } = value;
  const known = isId(id) ? id : null;
  if (value.jsonrpc !== "2.0") return malformed(rpcCodes.invalidRequest, '"jsonrpc" must be "2.0"', known);
  if (id !== undefined && known === null) {
    return malformed(rpcCodes.invalidRequest, '"id" must be a string or an integer');
  }
  if (!isObject(params)) {
    const problem = malformed(rpcCodes.invalidParams, '"params" must be an object', known);
    return known === null ? { ...problem, answerable: false } : problem;
  }
  return known === null ? { kind: "notification", method, params } : { kind: "request", id: known, method, params };
}

function parseResponse({ jsonrpc, id, result, error }: JsonObject): Message | Malformed {
  const known = isId(id) ? id : null;
  if (jsonrpc === "2.0" && error === undefined && isObject(result) && known !== null) {
    return { kind: "success", id: known, result };
  }
  if (jsonrpc === "2.0" && result === undefined && isErrorObject(error)) return { kind: "failure", id: known, error };
  const problem = result !== undefined && error !== undefined ? bothMembers : "not a valid response";
  return { ...malformed(rpcCodes.invalidRequest, problem, known), answerable: false };
}

/** One reader would take it for a request, another for a response. */
const twoKinds = '"method" excludes "result" and "error"';
const bothMembers = '"result" and "error" exclude each other';

/** The text of a message, assembled so that what is remembered of it is not written again. */
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

/** Integers beyond 2^53 would come back as another number, so they are no ids. */
export function isId(value: unknown): value is Id {
  return typeof value === "string" || Number.isSafeInteger(value);
}

function isErrorObject(value: unknown): value is ErrorObject & JsonObject {
  return isObject(value) && Number.isInteger(value.code) && typeof value.message === "string";
}

function malformed(code: number, message: string, id: Id | null = null): Malformed {
  return { kind: "malformed", id, error: { code, message }, answerable: true };
}
