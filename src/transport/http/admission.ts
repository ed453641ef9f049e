import { McpError } from "../../protocol/errors.ts";
import { quote } from "../../std/text.ts";
import { createHostCheck, createOriginCheck } from "./allowed-hosts.ts";
import {
  accepts,
  type HttpAnswer,
  type HttpHead,
  type HttpHeaders,
  isJsonType,
  pathOf,
  refusal,
} from "./http-message.ts";

export interface AdmissionOptions {
  /**
   * The path of the endpoint, such as `/mcp`; a trailing slash is accepted. Absent where the caller has matched the
   * path.
   */
  readonly path?: string | undefined;
  /** Whether the paths one step below the endpoint are served, too: each is that of a view. */
  readonly below?: boolean | undefined;
  /** Names of the server. With `"any"` no origin is taken for the server's own: each has to be listed. */
  readonly hosts: readonly string[] | "any";
  /** Origins of pages that may use the server. */
  readonly origins: readonly string[];
  readonly maxMessageBytes: number;
  /** Whether GET and DELETE are served. */
  readonly get: boolean;
  /** Headers with credentials, which pages may send. */
  readonly credentials?: readonly string[] | undefined;
}

/** An admitted request, with the headers that every response to it needs; or the response that rejects it. */
export type Admitted =
  | { readonly ok: true; readonly cors: HttpHeaders }
  | { readonly ok: false; readonly answer: HttpAnswer };

interface Admission {
  /** Whether a URL leads to the endpoint. */
  isEndpoint(url: string): boolean;
  /** Admits or rejects a request by its head. A body without `content-length` has to be limited by its reader. */
  admit(head: HttpHead): Admitted;
}

/**
 * Decides which requests reach the endpoint.
 *
 * Host and Origin come first, whatever is asked for, so that a page that may not
 * use the server learns nothing of it. A page that may can read all other
 * refusals. Throws `invalid-definition` for a bad path, host or origin.
 */
export function createAdmission(options: AdmissionOptions): Admission {
  const checkHost = createHostCheck(options.hosts);
  const checkOrigin = createOriginCheck(options.origins);
  const isEndpoint = createPathCheck(options.path, options.below);
  const allow = options.get ? "GET, POST, DELETE, OPTIONS" : "POST, OPTIONS";
  const headers = allowedHeaders(options.credentials ?? []);
  const plain = Object.freeze({ ok: true as const, cors: plainHeaders });
  let page = { origin: "", admitted: plain };

  /** Most pages ask again and again, so the last one is remembered. */
  const admittedFrom = (origin: string): typeof plain => {
    if (page.origin !== origin) page = { origin, admitted: { ok: true, cors: corsHeaders(origin) } };
    return page.admitted;
  };

  const answerOptions = (head: HttpHead, origin: string | undefined): HttpAnswer =>
    origin === undefined
      ? { status: 204, headers: { ...plainHeaders, allow }, body: "" }
      : preflight(origin, head, headers);

  const checkMethod = (head: HttpHead, cors: HttpHeaders): HttpAnswer | undefined => {
    if (head.method === "POST") return checkType(head, cors) ?? checkLength(head, cors, options.maxMessageBytes);
    if (options.get && head.method === "GET") return checkStream(head, cors);
    if (options.get && head.method === "DELETE") return undefined;
    return refusal(405, `method ${quote(head.method)} is not served; use one of ${allow}`, { ...cors, allow });
  };

  /** The answer that ends a request, if any. The origin is that of a page that may use the server. */
  const check = (head: HttpHead, origin: string | undefined, cors: HttpHeaders): HttpAnswer | undefined => {
    if (!isEndpoint(head.url)) {
      return refusal(404, `nothing is served at ${quote(pathOf(head.url))}; use ${options.path}`, cors);
    }
    return head.method === "OPTIONS" ? answerOptions(head, origin) : checkMethod(head, cors);
  };

  return {
    isEndpoint,
    admit(head) {
      const host = head.header("host");
      const badHost = checkHost(host);
      if (badHost !== undefined) return { ok: false, answer: refusal(403, badHost) };

      const origin = head.header("origin");
      const verdict = checkOrigin(origin, options.hosts === "any" ? undefined : host);
      if (verdict === "refused") return { ok: false, answer: refuseOrigin(origin) };

      const listed = verdict === "listed" ? origin : undefined;
      const admitted = listed === undefined ? plain : admittedFrom(listed);
      const answer = check(head, listed, admitted.cors);
      return answer === undefined ? admitted : { ok: false, answer };
    },
  };
}

function refuseOrigin(origin: string | undefined): HttpAnswer {
  return refusal(403, `origin ${quote(origin)} is not allowed; list it in allowedOrigins`, plainHeaders);
}

function createPathCheck(path: string | undefined, below = false): (url: string) => boolean {
  if (path === undefined) return () => true;
  if (!/^\/[^?#\s]*$/.test(path)) {
    throw new McpError("invalid-definition", `path ${quote(path)} must start with / and have no query`);
  }
  const slashed = path.endsWith("/") ? path : `${path}/`;
  return (url) => {
    if (url === path) return true;
    const asked = pathOf(url);
    return asked === path || asked === slashed || (below && stepBelow(asked, slashed) !== undefined);
  };
}

/** The one step that a path goes below another one, which ends with a slash; one slash may follow it. */
export function stepBelow(path: string, base: string): string | undefined {
  if (!path.startsWith(base)) return undefined;
  const end = path.endsWith("/") ? path.length - 1 : path.length;
  const step = path.slice(base.length, end);
  return step === "" || step.includes("/") ? undefined : step;
}

/** What is posted has to be plain JSON, and its sender ready for either kind of answer. */
function checkType(head: HttpHead, cors: HttpHeaders): HttpAnswer | undefined {
  const encoding = head.header("content-encoding");
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    const headers = { ...cors, "accept-encoding": "identity" };
    return refusal(415, `content-encoding ${quote(encoding)} is not supported; send the body as it is`, headers);
  }
  const type = head.header("content-type");
  if (!isJsonType(type)) {
    return refusal(415, `content-type ${quote(type)} is not supported; send application/json in utf-8`, cors);
  }
  const accept = head.header("accept");
  if (accepts(accept, "application/json", "text/event-stream")) return undefined;
  return refusal(406, `accept ${quote(accept)} must list application/json and text/event-stream`, cors);
}

function checkLength(head: HttpHead, cors: HttpHeaders, maxBytes: number): HttpAnswer | undefined {
  const length = head.header("content-length");
  if (length === undefined) return undefined;
  const isNumber = /^\d+$/.test(length);
  if (isNumber && Number(length) <= maxBytes) return undefined;
  if (!isNumber) return refusal(400, `content-length ${quote(length)} must be a number of bytes`, cors);
  return refusal(413, `content-length ${quote(length)} is too large; send at most ${maxBytes} bytes`, cors);
}

function checkStream(head: HttpHead, cors: HttpHeaders): HttpAnswer | undefined {
  const accept = head.header("accept");
  if (accepts(accept, "text/event-stream")) return undefined;
  return refusal(406, `accept ${quote(accept)} must list text/event-stream`, cors);
}

/** Headers of every answer to a request that is not from a listed origin. Caches must not mix it with answers to one that is. */
export const plainHeaders: HttpHeaders = Object.freeze({ vary: "origin" });

const exposed = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after, dpop-nonce";

/** Headers of every answer to a request from an origin that is listed. */
export function corsHeaders(origin: string): HttpHeaders {
  return Object.freeze({
    ...plainHeaders,
    "access-control-allow-origin": origin,
    "access-control-expose-headers": exposed,
  });
}

/** Headers of the protocol and of its clients. */
const protocolHeaders = [
  "content-type",
  "accept",
  "authorization",
  "last-event-id",
  "mcp-session-id",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "traceparent",
  "tracestate",
  "baggage",
  "dpop",
];

/** Tools may name headers of this form for their arguments. */
const paramHeader = /^mcp-param-[!#$%&'*+.^_`|~\w-]+$/;

/** The headers that pages may send: those of the protocol, and those in which the authenticator looks for credentials. */
export function allowedHeaders(credentials: readonly string[]): readonly string[] {
  return [...new Set([...protocolHeaders, ...credentials.map((name) => name.toLowerCase())])];
}

/**
 * The answer to a browser that asks what a page of a listed origin may send.
 *
 * Methods are those of the protocol, served or not: a page can read a 405, but
 * not why its browser sent nothing. No cookies, never `*`.
 */
export function preflight(origin: string, head: HttpHead, allowed: readonly string[]): HttpAnswer {
  const wanted = (head.header("access-control-request-headers") ?? "").toLowerCase().split(",");
  const params = wanted.map((name) => name.trim()).filter((name) => paramHeader.test(name));
  return {
    status: 204,
    headers: {
      ...plainHeaders,
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
      "access-control-allow-headers": [...allowed, ...params].join(", "),
      "access-control-max-age": "600",
      ...(head.header("access-control-request-private-network") === "true" && {
        "access-control-allow-private-network": "true",
      }),
    },
    body: "",
  };
}
