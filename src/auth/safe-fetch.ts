import { isObject, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import { McpError } from "../protocol/errors.ts";
import { reachOfAddress, reachOfHost } from "../std/address-reach.ts";
import { type Clock, systemClock } from "../std/clock.ts";

/** One request of ours for something that others name: metadata, keys, tokens, an API. */
export interface SafeRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal | undefined;
}

/** Fetches from a URL that somebody else chose. The body is read, and within bounds, when it resolves. */
export type SafeFetch = (url: string | URL, request?: SafeRequest) => Promise<Response>;

/** Sends one request and follows no redirect: the platform's part. */
export type Hop = (request: HopRequest) => Promise<Response>;

export interface HopRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
  /** Whether an address that the host resolves to may be connected to. For platforms that resolve it themselves. */
  allows(address: string): boolean;
}

export interface SafeFetchOptions {
  /** Default: by `fetch`, which resolves names by itself, so that only what a URL tells is checked. */
  readonly hop?: Hop | undefined;
  /** Whether this machine may be asked, and by http too. Default true. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /** Whether private networks may be asked: all, or hosts by name. Default false. */
  readonly allowPrivateNetwork?: boolean | readonly string[] | undefined;
  /** Origins that the user named: they may be on any network, and are asked by http too. Default: none. */
  readonly trustedOrigins?: readonly string[] | undefined;
  /** What a body may be: JSON, or anything. Default `json`. */
  readonly accepts?: "json" | "any" | undefined;
  /** Of one body. Default 1 MiB. */
  readonly maxBytes?: number | undefined;
  /** Redirects that are followed, of a GET and within its origin. Default 3. */
  readonly maxRedirects?: number | undefined;
  /** For all of it, redirects included. Default 10 s. */
  readonly timeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * A `fetch` for URLs that come from the network.
 *
 * Speaks https only, except with this machine; asks no private network; follows
 * at most three redirects, of a GET and within its origin; reads JSON only,
 * unless told otherwise, of bounded length and in bounded time. Rejects with an `McpError`, whose message
 * names the origin and nothing else of the URL.
 */
export function createSafeFetch(options: SafeFetchOptions = {}): SafeFetch {
  const { hop = fetchHop, maxRedirects = 3, timeoutMs = 10_000, clock = systemClock } = options;

  const ask = async (first: URL, request: SafeRequest, signal: AbortSignal): Promise<Response> => {
    const { method = "GET", headers = {}, body } = request;
    for (let url = first, count = 0; ; count++) {
      const allows = checkTarget(url, options);
      const sent = { url, method, headers: { accept: "application/json", ...headers }, signal, allows };
      const response = await hop(body === undefined ? sent : { ...sent, body });
      const target = targetOf(response, url);
      if (target === undefined) return await readBounded(response, url, options);
      response.body?.cancel().catch(() => {});
      if (method !== "GET" || count === maxRedirects)
        throw refusal(url, "redirects too often, or redirects a request that is not GET");
      url = target;
    }
  };

  return async (url, request = {}) => {
    const target = readUrl(url);
    const ending = new AbortController();
    const stop = (): void => ending.abort(request.signal?.reason);
    const cancelTimer = clock.after(timeoutMs, () => ending.abort(timedOut(target, timeoutMs)));
    if (request.signal?.aborted) stop();
    request.signal?.addEventListener("abort", stop);
    try {
      return await ask(target, request, ending.signal);
    } catch (error) {
      throw toError(target, error, ending.signal);
    } finally {
      cancelTimer();
      request.signal?.removeEventListener("abort", stop);
    }
  };
}

/** By `fetch` as it is then: called as a function of nobody, which browsers insist on. */
const fetchHop: Hop = ({ url, method, headers, body, signal }) =>
  fetch(url, { method, headers, signal, redirect: "manual", ...(body !== undefined && { body }) });

function readUrl(url: string | URL): URL {
  if (typeof url === "string" && !URL.canParse(url))
    throw new McpError("invalid-response", "an address in the response is not a URL");
  return new URL(url);
}

/** Throws when a URL must not be asked. Returns how to judge the addresses of its host. */
function checkTarget(url: URL, options: SafeFetchOptions): (address: string) => boolean {
  const { allowInsecureLoopback: loopback = true, allowPrivateNetwork = false, trustedOrigins = [] } = options;
  if (url.username !== "" || url.password !== "") throw notAllowed(url, "is not asked: its URL has credentials");
  if (/^https?:$/.test(url.protocol) && trustedOrigins.includes(url.origin)) return () => true;
  const host = url.hostname.toLowerCase();
  const isPrivate = typeof allowPrivateNetwork === "boolean" ? allowPrivateNetwork : allowPrivateNetwork.includes(host);
  const reach = reachOfHost(host);
  const secure = url.protocol === "https:" || (url.protocol === "http:" && reach === "loopback");
  if (!secure) throw notAllowed(url, "is not asked: only https is");
  if (reach === "loopback" && !loopback) throw notAllowed(url, "is not asked: it is on this machine");
  if (reach === "private" && !isPrivate) throw notAllowed(url, "is not asked: it is on a private network");
  return (address) => {
    const actual = reachOfAddress(address);
    if (actual === "loopback") return reach === "loopback";
    return actual === "public" || isPrivate;
  };
}

/** Where a redirect leads. Undefined when the response is none. */
function targetOf(response: Response, url: URL): URL | undefined {
  if (response.type === "opaqueredirect") throw refusal(url, "redirects, which cannot be followed here");
  if (response.status < 300 || response.status >= 400) return undefined;
  const location = response.headers.get("location");
  if (location === null || !URL.canParse(location, url)) throw refusal(url, "redirects to nowhere");
  const target = new URL(location, url);
  if (target.origin !== url.origin) throw refusal(url, "redirects to another origin, which is not followed");
  return target;
}

function notAllowed({ origin, protocol }: URL, problem: string): McpError {
  const data = { reason: "address-not-allowed" };
  return new McpError("invalid-response", `${origin === "null" ? protocol : origin} ${problem}`, { data });
}

function refusal({ origin }: URL, problem: string): McpError {
  return new McpError("invalid-response", `${origin} ${problem}`);
}

function timedOut({ origin }: URL, timeoutMs: number): McpError {
  return new McpError("timeout", `no answer from ${origin} within ${timeoutMs} ms`);
}

/** What a platform says of a broken connection may have the whole URL in it, so only its code is kept. */
function toError(url: URL, error: unknown, signal: AbortSignal): McpError {
  if (signal.aborted && signal.reason instanceof McpError) return signal.reason;
  if (signal.aborted) return new McpError("cancelled", `asking ${url.origin} was cancelled`);
  if (error instanceof McpError) return error;
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  return new McpError("connection-closed", `no answer from ${url.origin}${code === undefined ? "" : `: ${code}`}`);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** The response with its body in memory. Rejects when that is too long, or is not what is accepted. */
async function readBounded(
  response: Response,
  { origin }: URL,
  { maxBytes = 1 << 20, accepts = "json" }: SafeFetchOptions,
): Promise<Response> {
  const { status, headers } = response;
  const bytes = await readBytes(response, origin, maxBytes);
  if (accepts === "json" && response.ok && bytes.length > 0 && !isJson(headers.get("content-type"))) {
    throw new McpError("invalid-response", `${origin} did not answer with JSON`);
  }
  const bodiless = [101, 204, 205, 304].includes(status);
  return new Response(bodiless ? null : bytes, { status, headers: withoutCoding(headers) });
}

/** The JSON object in a body that was read by {@link readBounded}. Undefined when it holds none. */
export async function objectOf(response: Response): Promise<JsonObject | undefined> {
  const parsed = parseJson(await response.text());
  return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
}

async function readBytes(response: Response, origin: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    size += next.value.length;
    if (size > maxBytes) {
      reader?.cancel().catch(() => {});
      throw new McpError("limit-reached", `the answer of ${origin} is longer than ${maxBytes} bytes`, {
        data: { limit: "maxBytes", max: maxBytes, scope: "call" },
      });
    }
    chunks.push(next.value);
  }
  return join(chunks, size);
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function isJson(contentType: string | null): boolean {
  const media = (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return media === "application/json" || /^application\/[\w.!#$&^-]+\+json$/.test(media);
}

/** What is in memory is neither coded nor as long as it was. */
function withoutCoding(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of ["content-encoding", "content-length", "transfer-encoding"]) kept.delete(name);
  return kept;
}
