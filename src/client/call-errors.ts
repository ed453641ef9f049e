import { isObject, type JsonObject } from "../json/json.ts";
import { type ErrorCode, type Failure, McpError, toError } from "../protocol/errors.ts";
import type { DiscoverResult } from "../protocol/methods.ts";
import { quote } from "../std/text.ts";

/** The call and its server as error messages name them: `tools/call "buy" on server "shop"`. */
export function callText(method: string, params: object, { serverInfo }: DiscoverResult): string {
  const name = nameIn(method, params as JsonObject);
  return `${method}${name === undefined ? "" : ` ${quote(name)}`} on server ${quote(serverInfo.name)}`;
}

/** Ids of tasks are left out, for knowing one may be all it takes to read it; so is what follows the path of a URI. */
function nameIn(method: string, params: JsonObject): string | undefined {
  const { name, uri } = isObject(params) ? params : {};
  if (method === "tools/call" || method === "prompts/get") return typeof name === "string" ? name : undefined;
  return method === "resources/read" && typeof uri === "string" ? uri.replace(/[?#].*$/s, "") : undefined;
}

/** The error of a failed call. The message of the server is kept; the call is added to errors of this side. */
export function failed(what: string, failure: Failure): McpError {
  const isOurs = failure.code === "limit-reached" ? reasonIn(failure.data) === undefined : found.has(failure.code);
  return toError(isOurs ? { ...failure, message: `${what} failed: ${failure.message}` } : failure);
}

/** A limit that a server names has its reason beside it. */
function reasonIn(data: Failure["data"]): unknown {
  return isObject(data) ? data.reason : undefined;
}

const found: ReadonlySet<ErrorCode> = new Set([
  "invalid-response",
  "connection-closed",
  "http-error",
  "unauthorized",
] as const);

/** The error of a call that its caller cancelled. */
export function cancelled(what: string, signal: AbortSignal): McpError {
  return new McpError("cancelled", `${what} was cancelled`, { cause: signal.reason });
}

/** The error of a call without a message from the server for `timeoutMs`. */
export function idleTimeout(what: string, timeoutMs: number): McpError {
  const message = `${what} timed out: neither a result nor progress for ${timeoutMs} ms (timeoutMs); raise timeoutMs, or have the server report progress`;
  return new McpError("timeout", message, { data: { phase: "call", timeoutMs } });
}

/** The error of a call that took longer than it may in all. */
export function totalTimeout(what: string, totalMs: number): McpError {
  const message = `${what} timed out: it took longer than ${totalMs} ms in all (maxTotalMs); raise maxTotalMs`;
  return new McpError("timeout", message, { data: { phase: "call", timeoutMs: totalMs } });
}

/** The error of a call that ran out of time before it was its turn. */
export function notSent(what: string, timeoutMs: number, option: "timeoutMs" | "maxTotalMs"): McpError {
  const message = `${what} was not sent within ${timeoutMs} ms (${option}): it waited for other calls to be answered (maxOpenRequests); raise ${option} or maxOpenRequests`;
  return new McpError("timeout", message, { data: { phase: "call", timeoutMs } });
}

/** The error of one call too many. */
export function queueFull(what: string, maxOpenRequests: number, max: number): McpError {
  const message = `${what} was not sent: ${maxOpenRequests} calls are unanswered (maxOpenRequests) and ${max} wait (maxQueuedCalls); send fewer at once, or raise maxQueuedCalls`;
  return new McpError("limit-reached", message, { data: { limit: "maxQueuedCalls", max, scope: "connection" } });
}

/** The error of a call with headers to a server whose transport has no headers. */
export function headersUnsupported(what: string, method: string): McpError {
  const message = `${what} was not sent: only a server at a URL takes headers; leave out the option headers`;
  return new McpError("unsupported", message, { data: { method } });
}

/** A service answers with outcomes; one that throws anything but an `McpError` is broken itself. */
export function toCallError(what: string, error: unknown): McpError {
  if (error instanceof McpError) return error;
  const detail = error instanceof Error && error.message !== "" ? `: ${error.message}` : "";
  return new McpError("internal", `${what} failed${detail}`, { cause: error });
}
