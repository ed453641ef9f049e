import { McpError } from "../../model/errors.ts";
import { createHostCheck } from "./allowed-hosts.ts";
import { createOriginCheck } from "./allowed-origins.ts";
import { corsHeaders, plainHeaders, preflight } from "./cors.ts";
import { type HttpAnswer, type HttpHead, type HttpHeaders, pathOf, quote, refusal } from "./http-message.ts";
import { accepts, isJsonType } from "./media-type.ts";

export interface AdmissionOptions {
  /** The endpoint, such as `/mcp`; one slash may follow it. Absent where paths are somebody else's business. */
  readonly path?: string | undefined;
  /** Names of the server. With `"any"` no origin is taken for the server's own: each has to be listed. */
  readonly hosts: readonly string[] | "any";
  /** Origins of pages that may use the server. */
  readonly origins: readonly string[];
  readonly maxBodyBytes: number;
  /** Whether GET and DELETE are served. */
  readonly get: boolean;
}

/** A request that may go on, with the headers that every answer to it needs; or the answer that ends it. */
export type Admitted =
  | { readonly ok: true; readonly cors: HttpHeaders }
  | { readonly ok: false; readonly answer: HttpAnswer };

export interface Admission {
  /** Judges a request by its head. A body of a length that is not announced has to be limited by who reads it. */
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
  const isEndpoint = createPathCheck(options.path);
  const allow = options.get ? "GET, POST, DELETE, OPTIONS" : "POST, OPTIONS";
  const plain = Object.freeze({ ok: true as const, cors: plainHeaders });
  let page = { origin: "", admitted: plain };

  /** Most pages ask again and again, so the last one is remembered. */
  const admittedFrom = (origin: string): typeof plain => {
    if (page.origin !== origin) page = { origin, admitted: { ok: true, cors: corsHeaders(origin) } };
    return page.admitted;
  };

  const answerOptions = (head: HttpHead, origin: string | undefined): HttpAnswer =>
    origin === undefined ? { status: 204, headers: { ...plainHeaders, allow }, body: "" } : preflight(origin, head);

  const checkMethod = (head: HttpHead, cors: HttpHeaders): HttpAnswer | undefined => {
    if (head.method === "POST") return checkType(head, cors) ?? checkLength(head, cors, options.maxBodyBytes);
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

function createPathCheck(path: string | undefined): (url: string) => boolean {
  if (path === undefined) return () => true;
  if (!/^\/[^?#\s]*$/.test(path)) {
    throw new McpError("invalid-definition", `path ${quote(path)} must start with / and have no query`);
  }
  const slashed = path.endsWith("/") ? path : `${path}/`;
  return (url) => {
    if (url === path) return true;
    const asked = pathOf(url);
    return asked === path || asked === slashed;
  };
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
