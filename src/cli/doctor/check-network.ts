import { lookup } from "node:dns/promises";
import { connect as connectTcp } from "node:net";
import { connect as connectTls, type PeerCertificate, type TLSSocket } from "node:tls";
import { codeOf, probe } from "./http-probe.ts";
import type { Ladder } from "./step.ts";

export interface NetworkOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
}

/** Checks DNS, TCP and TLS of a URL, and the proxy that may stand before it. */
export async function checkNetwork(url: URL, ladder: Ladder, options: NetworkOptions): Promise<undefined> {
  const proxy = proxyFor(url, options.env);
  if (proxy !== undefined && proxyIsUsed(options.env)) return checkProxy(proxy, ladder, options);
  const unused = proxy === undefined ? undefined : `${proxy.name} is set, and is not used: ${howToUse()}`;
  if (unused !== undefined) ladder.warn("proxy", unused);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const address = await checkDns(host, ladder, unused);
  if (address === undefined) return;
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  await checkTcp({ address, host, port }, ladder, { ...options, unused });
  if (!ladder.hasFailed && url.protocol === "https:") await checkTls(url, { address, host, port }, ladder, options);
}

interface Proxy {
  readonly name: string;
  readonly value: string;
}

/** The variable that names a proxy for the URL, unless `NO_PROXY` excludes its host: as Node reads them. */
function proxyFor(url: URL, env: NodeJS.ProcessEnv): Proxy | undefined {
  const scheme = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const name = [scheme.toLowerCase(), scheme].find((one) => (env[one] ?? "") !== "");
  const excluded = (env.no_proxy ?? env.NO_PROXY ?? "").split(/[,\s]+/).filter((one) => one !== "");
  const isExcluded = excluded.some((one) => excludes(one, url));
  return name === undefined || isExcluded ? undefined : { name, value: env[name] ?? "" };
}

/** Whether an entry of `NO_PROXY` is for a URL: `*`, a host, `.example.com` or `*.example.com` for its subdomains, each with a port or without. */
function excludes(entry: string, { host, hostname }: URL): boolean {
  if (entry === "*" || entry === hostname || entry === host) return true;
  const suffix = entry.replace(/^\*(?=\.)/, "");
  return suffix.startsWith(".") && (hostname.endsWith(suffix) || host.endsWith(suffix));
}

/** Only newer Node can use the proxies of the environment, and only when it is asked to. */
function proxyIsUsed(env: NodeJS.ProcessEnv): boolean {
  return env.NODE_USE_ENV_PROXY === "1" && canUseProxy();
}

function canUseProxy(): boolean {
  return process.allowedNodeEnvironmentFlags.has("--use-env-proxy");
}

function howToUse(): string {
  if (canUseProxy()) return "set NODE_USE_ENV_PROXY=1 to use it";
  return `Node ${process.version} uses no proxy; Node 22.21 and 24.5 do, with NODE_USE_ENV_PROXY=1`;
}

async function checkProxy({ name, value }: Proxy, ladder: Ladder, options: NetworkOptions): Promise<undefined> {
  // Node does not start with one that is not a URL.
  const url = new URL(value);
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const problem = await tcpProblem({ address: url.hostname, port }, options);
  if (problem === undefined) ladder.ok("proxy", `${url.host} of ${name} answers`);
  else
    ladder.fail(
      "proxy",
      `the proxy ${url.host} of ${name} cannot be reached: ${problem}`,
      `correct ${name}, or unset it`,
    );
}

async function checkDns(host: string, ladder: Ladder, unused: string | undefined): Promise<string | undefined> {
  try {
    const { address } = await lookup(host);
    ladder.ok("dns", `${host} is ${address}`);
    return address;
  } catch (error) {
    const why = codeOf(error) === "EAI_AGAIN" ? "the name server does not answer" : "no such host";
    ladder.fail(
      "dns",
      `${host} cannot be resolved: ${why}${andProxy(unused)}`,
      "check the spelling, the network, and a VPN",
    );
    return undefined;
  }
}

function andProxy(unused: string | undefined): string {
  return unused === undefined ? "" : `; ${unused}`;
}

interface Place {
  readonly address: string;
  readonly host: string;
  readonly port: number;
}

async function checkTcp(
  { address, host, port }: Place,
  ladder: Ladder,
  options: NetworkOptions & { readonly unused: string | undefined },
): Promise<undefined> {
  const problem = await tcpProblem({ address, port }, options);
  if (problem === undefined) return ladder.ok("tcp", `port ${port} of ${host} is open`);
  const hint = options.unused ?? "start the server, and check its port and the firewall";
  ladder.fail("tcp", `port ${port} of ${host} cannot be reached: ${problem}`, hint);
}

const tcpReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused, nothing listens there",
  ETIMEDOUT: "no answer, a firewall may drop it",
  EHOSTUNREACH: "there is no way to the host",
  ENETUNREACH: "there is no way to the network",
};

function tcpProblem(
  { address, port }: Pick<Place, "address" | "port">,
  { timeoutMs, signal }: NetworkOptions,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host: address, port, signal });
    const end = (problem: string | undefined): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.setTimeout(timeoutMs, () => end("no answer, a firewall may drop it"));
    socket.on("connect", () => end(undefined));
    socket.on("error", (error) => end(tcpReasons[codeOf(error)] ?? codeOf(error)));
  });
}

async function checkTls(url: URL, place: Place, ladder: Ladder, options: NetworkOptions): Promise<undefined> {
  const found = await readCertificate(place, options);
  if (typeof found === "string") {
    const hint = "write http: in place of https:, or give the port of TLS";
    return ladder.fail("tls", `port ${place.port} of ${place.host} does not speak TLS (${found})`, hint);
  }
  const { problem, certificate } = found;
  if (problem === undefined) return ladder.ok("tls", `the certificate is valid until ${certificate.valid_to}`);
  const skew = /EXPIRED|NOT_YET_VALID/.test(problem) ? await clockSkewOf(url, options) : undefined;
  if (skew !== undefined && isWithin(certificate, Date.now() + skew)) {
    const message = `your clock is wrong: it is ${formatSkew(skew)} the server's, and the certificate is valid by that one`;
    return ladder.fail("clock", message, "set the clock of this machine");
  }
  const [message, hint] = tlsReasons(problem, certificate);
  ladder.fail("tls", message, hint);
}

function isWithin({ valid_from, valid_to }: PeerCertificate, time: number): boolean {
  return Date.parse(valid_from) <= time && time <= Date.parse(valid_to);
}

const caHint = "add its authority: NODE_EXTRA_CA_CERTS=authority.pem plugbay …";

function tlsReasons(problem: string, { valid_from, valid_to, subject }: PeerCertificate): readonly [string, string] {
  switch (problem) {
    case "CERT_HAS_EXPIRED":
      return [`the certificate has expired on ${valid_to}`, "renew the certificate of the server"];
    case "CERT_NOT_YET_VALID":
      return [`the certificate is not valid before ${valid_from}`, "check the clocks of both machines"];
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return ["the certificate is self-signed: no authority vouches for it", caHint];
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return [
        `the certificate is for another host: ${subject?.CN ?? "unknown"}`,
        "use a name that the certificate has",
      ];
    default:
      return [`the certificate is signed by an unknown authority (${problem})`, caHint];
  }
}

interface Certificate {
  readonly certificate: PeerCertificate;
  readonly problem: string | undefined;
}

/** The certificate and what is wrong with it, or why there is none. No secret goes over this connection. */
function readCertificate({ address, host, port }: Place, options: NetworkOptions): Promise<Certificate | string> {
  return new Promise((resolve) => {
    const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
    const socket: TLSSocket = connectTls({ host: address, port, ...servername, rejectUnauthorized: false }, () => {
      const error: unknown = socket.authorizationError;
      const problem =
        error === undefined || error === null ? undefined : typeof error === "string" ? error : codeOf(error);
      const certificate = socket.getPeerCertificate();
      socket.destroy();
      resolve({ certificate, problem });
    });
    socket.setTimeout(options.timeoutMs, () => socket.destroy(new Error("no answer")));
    socket.on("error", (error) => resolve(codeOf(error)));
  });
}

/** Milliseconds that the server's clock is ahead of ours, as far as its `Date` header tells: to the second. */
export function skewIn(date: string | undefined): number | undefined {
  const time = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(time) ? undefined : time - Date.now();
}

async function clockSkewOf(url: URL, { timeoutMs, signal }: NetworkOptions): Promise<number | undefined> {
  try {
    const { headers } = await probe(new URL("/", url), { method: "HEAD", timeoutMs, signal, anyCertificate: true });
    return skewIn(headers.date);
  } catch {
    // It only helps to explain what is reported anyway.
    return undefined;
  }
}

/** `2 h behind`, of our clock. */
export function formatSkew(skewMs: number): string {
  const minutes = Math.round(Math.abs(skewMs) / 60_000);
  const size =
    minutes < 120
      ? `${minutes} min`
      : minutes < 2880
        ? `${Math.round(minutes / 60)} h`
        : `${Math.round(minutes / 1440)} days`;
  return `${size} ${skewMs > 0 ? "behind" : "ahead of"}`;
}
