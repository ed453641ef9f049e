import { McpError } from "../../../protocol/errors.ts";
import { defined } from "../../../std/defined.ts";
import { quote } from "../../../std/text.ts";
import type { IncomingResponse } from "../http-message.ts";

/** The error of a server that does not answer. Names its origin only: the rest of a URL may be secret. */
export function networkError({ origin }: URL, cause: unknown): McpError {
  if (cause instanceof McpError) return cause;
  return new McpError("connection-closed", `no answer from ${origin}: ${reasonOf(cause)}`, { cause });
}

/** Platforms say it in the code of the error, or of what caused it; most of their messages say nothing. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "the connection failed";
  const code = codeOf(error) ?? codeOf(error.cause);
  if (code !== undefined) return reasons[code] ?? code;
  return error.message === "" ? "the connection failed" : error.message;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused; is the server running?",
  ECONNRESET: "the connection broke off",
  EPIPE: "the connection broke off",
  UND_ERR_SOCKET: "the connection broke off",
  EPROTO: "it does not speak TLS; is it an http: URL?",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the name of the host cannot be resolved now",
  ETIMEDOUT: "the connection timed out",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  CERT_HAS_EXPIRED: "its certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is signed by an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is signed by an unknown authority",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
};

/** A URL without what may be secret: user, password, query and fragment. */
export function openUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/** The error of a response whose status says that the request failed: `unauthorized` for a 401. `detail` is what its body says. */
export function httpError(response: IncomingResponse, detail?: string): McpError {
  const { status, url } = response;
  const message = answered(response, detail);
  const challenge = response.header("www-authenticate");
  if (status === 401) {
    return new McpError("unauthorized", `${message}${signInHint}`, { data: defined({ status, url, challenge }) });
  }
  const contentType = response.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  const seconds = secondsOf(response.header("retry-after"));
  const retryAfterMs = seconds === undefined ? undefined : seconds * 1_000;
  return new McpError("http-error", message, { data: defined({ status, url, contentType, retryAfterMs, challenge }) });
}

/** The same for a request that the server did not take: one too many is `limit-reached`, and says when to retry. */
export function refusedError(response: IncomingResponse, detail?: string): McpError {
  const { status } = response;
  if (status !== 429) return httpError(response, detail);
  const seconds = secondsOf(response.header("retry-after"));
  const retry = seconds === undefined ? "retry later" : `retry in ${seconds} s`;
  const data = { status, ...(seconds !== undefined && { retryAfterMs: seconds * 1_000 }) };
  return new McpError("limit-reached", `${answered(response, detail)}; ${retry}`, { data });
}

function answered({ status }: IncomingResponse, detail: string | undefined): string {
  const told = detail === undefined || detail === "" ? "" : `: ${quote(detail)}`;
  return `the server answered ${statusText(status)}${told}`;
}

/** What to do about a 401 that no authorizer has seen to. */
const signInHint =
  "; sign in with connect(url, { auth: oauth() }), or send a token that the server accepts in headers.authorization";

/** Retry-After is a number of seconds, or a date. */
function secondsOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

/** The status with its name, like `503 Service Unavailable`. */
export function statusText(status: number): string {
  const name = names[status];
  return name === undefined ? String(status) : `${status} ${name}`;
}

const names: Readonly<Record<number, string>> = {
  200: "OK",
  202: "Accepted",
  204: "No Content",
  301: "Moved Permanently",
  302: "Found",
  303: "See Other",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** The error of an answer or an event that is longer than is allowed. */
export function tooLarge(what: string, maxBytes: number): McpError {
  const message = `${what} is longer than ${maxBytes} bytes (maxMessageBytes); raise limits.maxMessageBytes of connect`;
  return new McpError("limit-reached", message, {
    data: { limit: "maxMessageBytes", max: maxBytes, scope: "connection" },
  });
}

/** The error of a stream that has ended before the response. */
export function brokenOff(method: string, cause?: unknown): McpError {
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  return new McpError(
    "connection-closed",
    `the stream ended before the response to ${method}${detail}; the server may have done what was asked`,
    { cause },
  );
}
