import type { AuthorizedRequest, Authorizer } from "../../../protocol/authorizer.ts";
import { McpError } from "../../../protocol/errors.ts";
import { reachOfHost } from "../../../std/address-reach.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import { isSecretName } from "../../../std/secret-names.ts";
import { createMask, type Mask, secretsInHeaders } from "../../../std/secrets.ts";
import type { HttpSend, IncomingResponse, OutgoingRequest } from "../http-message.ts";
import { networkError, openUrl, statusText } from "./http-errors.ts";

/** One URL of a server, and how to speak with it. */
export interface Endpoint {
  readonly url: URL;
  /** Sends one request with the headers of the user. Rejects with an `McpError` when there is no answer, or they cannot be sent. */
  send(request: EndpointRequest, abort: LazyAbort): Promise<IncomingResponse>;
  /** The same server, at another URL. */
  at(url: URL): Endpoint;
  /**
   * The current credentials for the server: equal texts belong to the same caller. Secret, so it is never sent. Absent
   * where they do not change.
   */
  readonly credentials: (() => Promise<string>) | undefined;
  /** Hides what was sent to the server of late, should it repeat that: headers of the user, tokens, parameters of the URL. */
  readonly mask: Mask;
}

interface EndpointRequest extends Omit<OutgoingRequest, "url"> {
  /** Headers of the user for this request alone. They replace those for every request, by name. */
  readonly own?: Headers | undefined;
}

interface EndpointOptions {
  readonly url: URL;
  readonly send: HttpSend;
  readonly headers?: HeaderSource | undefined;
  /** Adds the credentials to a request. Credentials in headers of the user take precedence. */
  readonly auth?: Authorizer | undefined;
  /** Sends credentials also by `http:` to another machine. Default false. */
  readonly allowInsecureHttp?: boolean | undefined;
  /** The server, when this is another URL of it. */
  readonly server?: URL | undefined;
}

/** Throws `invalid-params` when the headers cannot be sent, or would send credentials in the clear. */
export function createEndpoint(options: EndpointOptions): Endpoint {
  const { url, send, headers = {}, server = url } = options;
  const isOpen = options.allowInsecureHttp !== true && isInTheClear(url);
  const auth = isOpen && options.auth !== undefined ? withoutTokens(options.auth) : options.auth;
  const readOwn = isOpen ? (given: Headers) => withoutSecrets(readHeaders(given), url) : readHeaders;
  const fixed = typeof headers === "function" ? {} : readOwn(headers);
  const hasFixed = Object.keys(fixed).length > 0;

  const sent = createSentSecrets(url, fixed);

  const fail = (error: unknown): never => {
    throw networkError(url, error);
  };

  /** Only a refusal repeats what was sent, and is told of with its URL. */
  const shown = (response: IncomingResponse): IncomingResponse =>
    response.status < 400 ? response : maskResponse(response, sent.mask(openUrl(url)), sent.mask);

  const go = ({ method, headers: given, body }: EndpointRequest, own: Headers | undefined, abort: LazyAbort) => {
    const all = own === undefined ? given : { ...own, ...given };
    if (own !== undefined) sent.add(own);
    const request: OutgoingRequest =
      body === undefined ? { method, url, headers: all } : { method, url, headers: all, body };
    const follow = (response: IncomingResponse): IncomingResponse | Promise<IncomingResponse> =>
      isRedirect(response.status) ? followRedirects(send, request, response, abort).then(shown, fail) : shown(response);
    return send(request, abort).then(follow, fail);
  };

  const ask = (request: EndpointRequest, own: Headers | undefined, abort: LazyAbort) => {
    if (auth === undefined || own?.authorization !== undefined) return go(request, own, abort);
    const sendWith = (shown: Headers) => go(request, { ...own, ...shown }, abort);
    return sendAuthorized(auth, { method: request.method, url, server }, { send: sendWith, abort });
  };

  const ownHeaders = async ({ own = {} }: EndpointRequest): Promise<Headers> => {
    const few = readOwn(own);
    return { ...(typeof headers === "function" ? await askHeaders(headers, readOwn) : fixed), ...few };
  };

  const credentials = async (): Promise<string> => {
    const own = await ownHeaders({ method: "POST", headers: {} });
    const isOwn = auth === undefined || own.authorization !== undefined;
    const shown = isOwn ? {} : await auth.headers({ method: "POST", url, server });
    const all = Object.entries({ ...own, ...shown }).filter(([name]) => !ofRequest.has(name.toLowerCase()));
    return JSON.stringify(all.sort(([a], [b]) => (a < b ? -1 : 1)));
  };

  return {
    url,
    credentials: typeof headers === "function" || auth !== undefined ? credentials : undefined,
    send(request, abort) {
      if (abort.aborted) return Promise.reject(new McpError("cancelled", "the request was given up"));
      if (typeof headers !== "function" && request.own === undefined) {
        return ask(request, hasFixed ? fixed : undefined, abort);
      }
      return ownHeaders(request).then((own) => ask(request, own, abort));
    },
    at: (other) => createEndpoint({ ...options, url: other, server }),
    mask: (text) => sent.mask(text),
  };
}

/** How one request is sent, again and again. */
interface Attempts {
  send(shown: Headers): Promise<IncomingResponse>;
  readonly abort: LazyAbort;
}

/** The authorizer decides whether to retry, within a limit. */
const maxAttempts = 6;

/**
 * Sends a request with the credentials of the authorizer, and again while it has new ones. The end of a session is sent
 * only once, without asking the user.
 */
async function sendAuthorized(
  auth: Authorizer,
  request: AuthorizedRequest,
  { send, abort }: Attempts,
): Promise<IncomingResponse> {
  for (let attempt = 1; ; attempt++) {
    const shown = await unlessAborted(auth.headers(request), abort);
    const response = await send(shown);
    auth.answered?.(request, response);
    const isRefused = response.status === 401 || response.status === 403;
    if (!isRefused || request.method === "DELETE" || attempt === maxAttempts) return response;
    const refused = unlessAborted(auth.refused(request, response), abort);
    const isWorthwhile = await refused.catch((error: unknown) => {
      response.discard();
      throw error;
    });
    if (!isWorthwhile) return response;
    response.discard();
  }
}

/** A caller that cancels a request does not wait for a user to sign in. */
function unlessAborted<T>(waiting: Promise<T>, abort: LazyAbort): Promise<T> {
  return new Promise((resolve, reject) => {
    const unlisten = abort.onAbort(() => reject(new McpError("cancelled", "the request was given up")));
    waiting.then(resolve, reject).finally(unlisten);
  });
}

const maxRedirects = 5;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function isRedirect(status: number): boolean {
  return redirects.has(status);
}

/**
 * Follows redirects within the origin of the request, from the first answer on.
 *
 * Another origin is never contacted: what we send is meant for one server. A
 * POST goes only where it stays a POST. Rejects when it leads nowhere.
 */
async function followRedirects(
  send: HttpSend,
  request: OutgoingRequest,
  response: IncomingResponse,
  abort: LazyAbort,
): Promise<IncomingResponse> {
  const asked = openUrl(request.url);
  let [current, answer] = [request, response];
  for (let count = 0; isRedirect(answer.status); count++) {
    answer.discard();
    if (count === maxRedirects) throw refusal(asked, answer, `more than ${maxRedirects} times`);
    current = { ...current, url: targetOf(current, answer, asked) };
    answer = await send(current, abort);
  }
  return answer;
}

/** `asked` is the URL of the first request: those that servers lead to may repeat what was sent. */
function targetOf({ method, url }: OutgoingRequest, response: IncomingResponse, asked: string): URL {
  const location = response.header("location");
  if (location === undefined || !URL.canParse(location, url)) throw refusal(asked, response, "to nowhere");
  const target = new URL(location, url);
  if (target.origin !== url.origin) throw refusal(asked, response, `to another origin, ${target.origin}`);
  const losesBody = method === "POST" && response.status < 307;
  if (losesBody) throw refusal(asked, response, "in a way that would lose the message");
  return target;
}

function refusal(url: string, { status }: IncomingResponse, how: string): McpError {
  const message = `the server redirects ${how} (${statusText(status)}), which is not followed`;
  return new McpError("http-error", message, { data: { status, url } });
}

export type Headers = Readonly<Record<string, string>>;

/** Headers to send with every request: what they are, or how to find out. */
export type HeaderSource = Headers | (() => Headers | Promise<Headers>);

/** What a POST must say it takes. */
export const postHeaders = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
} as const;

/** What the protocol, or the platform, decides. */
const reserved: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-length",
  "content-type",
  "host",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "transfer-encoding",
]);

/**
 * Headers of the user, by their names in lower case, without those that are not
 * up to the user. Throws `invalid-params` for what no header can be; the message
 * never has the value, which may be secret.
 */
function readHeaders(given: Headers): Headers {
  const entries = Object.entries(given).map(([name, value]) => [name.toLowerCase(), checked(name, value)] as const);
  return Object.fromEntries(entries.filter(([name]) => !reserved.has(name) && !name.startsWith("mcp-param-")));
}

/** Reads headers that are asked for anew. A source that fails, fails the request. */
async function askHeaders(
  source: () => Headers | Promise<Headers>,
  readOwn: (given: Headers) => Headers,
): Promise<Headers> {
  try {
    return readOwn(await source());
  } catch (cause) {
    if (cause instanceof McpError) throw cause;
    throw new McpError("internal", "the function given as headers threw, so nothing was sent", { cause });
  }
}

/** Headers that differ between requests. */
const ofRequest: ReadonlySet<string> = new Set([
  ...["dpop", "traceparent", "tracestate", "baggage", "idempotency-key"],
  ...["x-request-id", "x-correlation-id", "request-id"],
]);

/** True where requests to another machine can be read in transit. */
function isInTheClear({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && reachOfHost(hostname) !== "loopback";
}

/** The same headers. Throws `invalid-params` when one of them is a credential. */
function withoutSecrets(headers: Headers, url: URL): Headers {
  const secret = Object.keys(headers).find(isSecretName);
  if (secret !== undefined) throw inTheClear(`the header ${secret}`, url);
  return headers;
}

/** An authorizer that fails a request when it has a token to send, or would have to get one. */
function withoutTokens(auth: Authorizer): Authorizer {
  const refuse = (url: URL): McpError => inTheClear("the access token of auth", url);
  return {
    async headers(request) {
      const shown = await auth.headers(request);
      if (Object.keys(shown).length > 0) throw refuse(request.url);
      return shown;
    },
    refused: async (request, { status }) => {
      if (status === 401) throw refuse(request.url);
      return false;
    },
  };
}

function inTheClear(what: string, { origin }: URL): McpError {
  const remedy = "use https:, or set allowInsecureHttp: true if you trust the network between";
  return bad(`${what} is not sent to ${origin}: with http: everybody on the way can read it; ${remedy}`);
}

function checked(name: string, value: unknown): string {
  if (!isName.test(name)) throw bad(`${JSON.stringify(name)} cannot be the name of a header`);
  if (typeof value !== "string" || !isValue.test(value)) throw bad(`header ${name} has a value that cannot be sent`);
  return value;
}

const isName = /^[!#$%&'*+.^_`|~\w-]+$/;
/** One line of characters that fit in a byte. */
const isValue = /^[\t\x20-\x7e\x80-\xff]*$/;

function bad(problem: string): McpError {
  return new McpError("invalid-params", problem);
}

/** What a server was sent that it must not repeat in errors. */
interface SentSecrets {
  /** Headers that go out now: those of the user, and what the authorizer shows. */
  add(headers: Headers): void;
  readonly mask: Mask;
}

/** Of headers that differ from request to request, so many are remembered. */
const maxRemembered = 8;

function createSentSecrets({ searchParams }: URL, fixed: Headers): SentSecrets {
  const always = [...secretsInHeaders(Object.values(fixed)), ...searchParams.values()];
  let recent: readonly Headers[] = [];

  return {
    add(headers) {
      const [last] = recent;
      if (headers === fixed || (last !== undefined && isSame(headers, last))) return;
      recent = [headers, ...recent.slice(0, maxRemembered - 1)];
    },
    // Made when there is something to hide: errors are rare, requests are not.
    mask: (text) =>
      createMask([...always, ...recent.flatMap((headers) => secretsInHeaders(Object.values(headers)))])(text),
  };
}

function isSame(a: Headers, b: Headers): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** A response that repeats no secret, neither in a header nor in its text. `url` is where it comes from. */
function maskResponse(response: IncomingResponse, url: string, mask: Mask): IncomingResponse {
  return {
    status: response.status,
    url,
    header(name) {
      const value = response.header(name);
      return value === undefined || harmless.has(name) ? value : mask(value);
    },
    text: async (maxBytes) => mask(await response.text(maxBytes)),
    read: (take) => response.read(take),
    discard: () => response.discard(),
  };
}

/** Headers that the transport itself goes by. */
const harmless: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "retry-after",
  "mcp-session-id",
  "location",
]);
