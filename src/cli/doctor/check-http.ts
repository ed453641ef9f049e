import { isObject, type Json } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { newest } from "../../protocol/revision.ts";
import { oneLine } from "../terminal/printable.ts";
import { formatSkew, skewIn } from "./check-network.ts";
import { codeOf, type Probe, type ProbeOptions, probe } from "./http-probe.ts";
import type { Ladder } from "./step.ts";

export interface HttpOptions extends Pick<ProbeOptions, "timeoutMs" | "signal"> {
  /** What the user sends with every request, tokens included. */
  readonly headers: Readonly<Record<string, string>>;
  /** The origin of a page that is to use the server. */
  readonly origin: string | undefined;
  /** What to type to sign in. */
  readonly loginLine: string;
}

/** Checks what a URL answers to a request of MCP, before a client tries it. */
export async function checkHttp(url: URL, ladder: Ladder, options: HttpOptions): Promise<undefined> {
  let answer: Probe;
  try {
    answer = await probe(url, {
      ...asked(options),
      ...options,
      headers: { ...asked(options).headers, ...options.headers },
    });
  } catch (error) {
    if (codeOf(error) === "ERR_PROXY_TUNNEL") return judgeTunnel(error, ladder);
    return ladder.fail(
      "http",
      `the server gave no answer to a request (${codeOf(error)})`,
      "look into the log of the server",
    );
  }
  const skew = skewIn(answer.headers.date) ?? 0;
  await judge(url, answer, ladder, options);
  const isSkewed = Math.abs(skew) > 300_000;
  if (isSkewed && !ladder.steps.some(({ name, status }) => name === "clock" && status !== "ok"))
    ladder.warn("clock", `your clock is ${formatSkew(skew)} that of the server`, "set the clock: tokens depend on it");
  if (!ladder.hasFailed && options.origin !== undefined)
    await checkCors(url, ladder, { ...options, origin: options.origin });
}

/** A proxy that makes no tunnel to a server of https says why in a status. */
function judgeTunnel(error: unknown, ladder: Ladder): undefined {
  const said = error instanceof Error ? oneLine(error.message) : "";
  if (/\b407\b/.test(said)) return failByPassword(ladder);
  ladder.fail("proxy", `the proxy makes no connection to the server: ${said}`, "ask whoever runs the proxy");
}

function failByPassword(ladder: Ladder): undefined {
  ladder.fail(
    "proxy",
    "the proxy wants a password (407)",
    "put user and password into its URL: http://user:password@host",
  );
}

const body = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "server/discover",
  params: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": newest,
      "io.modelcontextprotocol/clientInfo": { name: "plugbay-doctor", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
});

function asked({
  timeoutMs,
  signal,
}: HttpOptions): ProbeOptions & { readonly headers: Readonly<Record<string, string>> } {
  const headers = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": newest,
    "mcp-method": "server/discover",
  };
  return { method: "POST", body, headers, timeoutMs, signal };
}

/** What an answer means by its status, where that is enough to know. */
const byStatus: Readonly<
  Record<number, (url: URL, answer: Probe, ladder: Ladder, options: HttpOptions) => Promise<undefined> | undefined>
> = {
  401: (_, answer, ladder, options) => judgeUnauthorized(answer, ladder, options),
  403: judgeForbidden,
  404: judgeWrongPath,
  405: judgeWrongPath,
  407: (_url, _answer, ladder) => failByPassword(ladder),
  421: judgeForbidden,
  429: (_url, _answer, ladder) => ladder.fail("http", "the server is busy (429)", "retry later", 1),
  503: (_url, _answer, ladder) => ladder.fail("http", "the server is busy (503)", "retry later", 1),
};

async function judge(url: URL, answer: Probe, ladder: Ladder, options: HttpOptions): Promise<undefined> {
  const { status } = answer;
  // A server says in JSON-RPC, too, that nothing is at a path; of a method that it does not know it says -32601.
  const isElsewhere = status === 404 && !/-32601\b/.test(answer.body);
  if (isRpc(answer) && !isElsewhere) return ladder.ok("http", `${url.pathname} answers JSON-RPC (${status})`);
  const known = byStatus[status];
  if (known !== undefined) return known(url, answer, ladder, options);
  if (status >= 300 && status < 400) return judgeRedirect(url, answer.headers.location, ladder);
  if (isHtml(answer)) return judgeWrongPath(url, answer, ladder, options);
  return judgeOther(url, answer, ladder);
}

function judgeOther(url: URL, answer: Probe, ladder: Ladder): undefined {
  const { status, headers } = answer;
  if (status >= 500) return ladder.fail("http", `the server has failed (${status})`, "look into the log of the server");
  if (/HTTP request .*HTTPS/i.test(answer.body))
    return ladder.fail("tls", "the port speaks TLS, and the URL says http:", `use https://${url.host}${url.pathname}`);
  if (/^text\/event-stream/i.test(headers["content-type"] ?? "")) return ladder.ok("http", "it answers with a stream");
  if (status === 200 || status === 202)
    return ladder.fail("http", `the answer is not MCP: ${typeOf(answer)}`, "check the path of the URL");
  return ladder.warn("http", `it answers ${status} to the newest revision; older ones are tried next`);
}

function typeOf({ headers, body: text }: Probe): string {
  return `${headers["content-type"] ?? "no content type"}, ${JSON.stringify(oneLine(text, 60))}`;
}

function isHtml({ headers, body: text }: Probe): boolean {
  return /^text\/html/i.test(headers["content-type"] ?? "") || /^\s*<(?:!doctype|html)/i.test(text);
}

function isRpc({ body: text }: Probe): boolean {
  const parsed = parseJson(text.replace(/^(?:.*\n)*?data: ?(?=\{)/, "").trim());
  return parsed.ok && isObject(parsed.value) && parsed.value.jsonrpc === "2.0";
}

function judgeRedirect(url: URL, location: string | undefined, ladder: Ladder): undefined {
  const to = location !== undefined && URL.canParse(location, url.href) ? new URL(location, url) : undefined;
  if (to === undefined) return ladder.fail("http", "the server redirects to nowhere", "check the URL");
  const where = `${to.origin}${to.pathname}`;
  if (to.origin === url.origin) return ladder.warn("http", `the server redirects to ${where}`, `use ${where}`);
  ladder.fail("http", `the server redirects to another origin, which is not followed: ${where}`, `use ${where}`);
}

/** Why a token is not accepted, as far as it tells. */
function judgeUnauthorized({ headers }: Probe, ladder: Ladder, { headers: own, loginLine }: HttpOptions): undefined {
  const authorization = Object.entries(own).find(([name]) => name.toLowerCase() === "authorization")?.[1];
  if (authorization === undefined)
    return ladder.fail("auth", "the server wants a sign-in (401)", `sign in with: ${loginLine}`, 4);
  judgeTimes(claimsOf(authorization), skewIn(headers.date) ?? 0, ladder, loginLine);
  if (ladder.hasFailed) return undefined;
  const said = /error_description="([^"]{1,200})"/.exec(headers["www-authenticate"] ?? "")?.[1];
  const told = said === undefined ? "" : `: ${oneLine(said)}`;
  const message = /expired/i.test(told)
    ? `the token has expired, the server says${told}`
    : `the server does not accept the token (401)${told}`;
  return ladder.fail("auth", message, renew(loginLine), 4);
}

/** What the times in a token say, by the clock of the server. */
function judgeTimes(
  { exp, nbf, iat }: { readonly [name: string]: Json | undefined },
  skew: number,
  ladder: Ladder,
  loginLine: string,
): undefined {
  const now = Date.now() + skew;
  const begins = typeof nbf === "number" ? nbf : iat;
  if (typeof begins === "number" && begins * 1000 > now + 30_000) {
    const message = `the token is not valid before ${new Date(begins * 1000).toISOString()}, which is later than the server's clock`;
    return ladder.fail("clock", message, "set the clocks of the server and of the issuer of the token", 4);
  }
  if (typeof exp !== "number" || exp * 1000 >= now) return undefined;
  const message = `the token has expired at ${new Date(exp * 1000).toISOString()}`;
  if (exp * 1000 < Date.now() || Math.abs(skew) < 60_000) return ladder.fail("auth", message, renew(loginLine), 4);
  const byClock = `${message} by the server's clock; your clock is ${formatSkew(skew)} it`;
  return ladder.fail("clock", byClock, "set the clock of this machine", 4);
}

function renew(loginLine: string): string {
  return `send a new token, or sign in with: ${loginLine}`;
}

/** What a JWT says of itself. Nothing of it is trusted or shown but its times. */
function claimsOf(authorization: string): { readonly [name: string]: Json | undefined } {
  const part = /^bearer\s+[\w-]+\.([\w-]+)\.[\w-]*$/i.exec(authorization)?.[1];
  const parsed = part === undefined ? undefined : parseJson(Buffer.from(part, "base64url").toString("utf8"));
  return parsed?.ok === true && isObject(parsed.value) ? parsed.value : {};
}

/** A server that refuses a request by the name it was asked by answers another name otherwise. */
async function judgeForbidden(url: URL, answer: Probe, ladder: Ladder, options: HttpOptions): Promise<undefined> {
  const { status, body: text, headers } = answer;
  const hint = `allow ${url.host} in the server: allowedHosts of serveHttp, or the setting of its framework`;
  const refused = `the server refuses the Host header ${JSON.stringify(url.host)} (${status})`;
  if (status === 421 || /\bhost\b/i.test(text)) return ladder.fail("host", refused, hint);
  for (const host of [`localhost:${url.port || 80}`, "localhost", `127.0.0.1:${url.port || 80}`]) {
    if (host === url.host) continue;
    const other = await probe(url, { ...asked(options), headers: { ...asked(options).headers, host } }).catch(
      () => undefined,
    );
    if (other !== undefined && other.status !== 403 && other.status !== 421) return ladder.fail("host", refused, hint);
  }
  const scope = /scope="([^"]{1,200})"/.exec(headers["www-authenticate"] ?? "")?.[1];
  const what = scope === undefined ? "" : `: the token lacks the scope ${oneLine(scope)}`;
  ladder.fail(
    "auth",
    `the server forbids it (403)${what}`,
    `sign in with another account or scope: ${options.loginLine}`,
    4,
  );
}

const otherPaths = ["/mcp", "/", "/sse", "/api/mcp", "/v1/mcp", "/mcp/"];

/** Finds out where the server is, if not here, or that it speaks the oldest transport only. */
async function judgeWrongPath(url: URL, answer: Probe, ladder: Ladder, options: HttpOptions): Promise<undefined> {
  if (await isSse(url, options)) {
    const message = "the server speaks only HTTP+SSE, the deprecated transport";
    return ladder.warn("http", message, "update the server to Streamable HTTP");
  }
  const found = await findOther(url, options);
  const what = isHtml(answer)
    ? `${url.pathname} is a web page (text/html), not MCP`
    : `there is no MCP at ${url.pathname}`;
  const hint = found === undefined ? "check the path: it often is /mcp" : `use ${found.origin}${found.pathname}`;
  ladder.fail("path", `${what} (${answer.status})`, hint);
}

async function isSse(url: URL, { timeoutMs, signal, headers }: HttpOptions): Promise<boolean> {
  const accept = { accept: "text/event-stream", ...headers };
  const answer = await probe(url, { method: "GET", headers: accept, timeoutMs, signal }).catch(() => undefined);
  return answer?.status === 200 && /^event: ?endpoint/m.test(answer.body);
}

async function findOther(url: URL, options: HttpOptions): Promise<URL | undefined> {
  for (const path of otherPaths) {
    if (path === url.pathname) continue;
    const other = new URL(path, url.origin);
    // Tokens are not for places that nobody named.
    const answer = await probe(other, asked(options)).catch(() => undefined);
    if (answer !== undefined && ((isRpc(answer) && answer.status !== 404) || (answer.status === 401 && path !== "/")))
      return other;
  }
  return undefined;
}

async function checkCors(
  url: URL,
  ladder: Ladder,
  options: HttpOptions & { readonly origin: string },
): Promise<undefined> {
  const { origin, timeoutMs, signal } = options;
  const wanted = ["content-type", "mcp-protocol-version", "mcp-method", "authorization"];
  const headers = {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": wanted.join(","),
  };
  const answer = await probe(url, { method: "OPTIONS", headers, timeoutMs, signal });
  const allowed = answer.headers["access-control-allow-origin"];
  const hint = `allow ${origin} in the server: allowedOrigins of serveHttp, or the CORS setting of its framework`;
  if (allowed !== "*" && allowed !== origin) {
    const what = allowed === undefined ? "it allows no origin" : `it allows ${oneLine(allowed)}`;
    return ladder.fail("cors", `a page of ${origin} may not use the server: ${what} (${answer.status})`, hint);
  }
  const names = (answer.headers["access-control-allow-headers"] ?? "").toLowerCase().split(/[\s,]+/);
  const missing = names.includes("*") ? [] : wanted.filter((name) => !names.includes(name));
  if (missing.length > 0)
    return ladder.fail(
      "cors",
      `a page of ${origin} may not send the headers ${missing.join(", ")}`,
      "allow these headers",
    );
  ladder.ok("cors", `a page of ${origin} may use the server`);
}
