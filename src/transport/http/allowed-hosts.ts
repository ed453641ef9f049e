import { McpError } from "../../protocol/errors.ts";
import { quote } from "../../std/text.ts";

/** A host with or without a port, as in the Host header and in origins. */
interface Authority {
  /** In lower case, without a dot at its end; IPv6 in brackets and in its shortest form. */
  readonly name: string;
  readonly port: number | undefined;
}

const authority = /^(?:([a-z\d_-]+(?:\.[a-z\d_-]+)*)\.?|(\[[a-f\d:.]+\]))(?::(\d{1,5}))?$/i;

/** Reads `name`, `name:port`, `[ipv6]` or `[ipv6]:port`. Undefined for anything else. */
export function parseAuthority(text: string): Authority | undefined {
  const [, host, ipv6, digits] = authority.exec(text) ?? [];
  const name = ipv6 === undefined ? host?.toLowerCase() : shortestIpv6(ipv6);
  const port = digits === undefined ? undefined : Number(digits);
  return name === undefined || (port ?? 0) > 65_535 ? undefined : { name, port };
}

function shortestIpv6(bracketed: string): string | undefined {
  const url = `http://${bracketed}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** The host names of this machine, which are allowed when only loopback is served. */
export const loopbackHosts: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

const loopbackIpv4 = /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** Whether a server that binds to this address is reached from its own machine only. */
export function isLoopback(host: string): boolean {
  if (loopbackIpv4.test(host)) return true;
  const name = parseAuthority(inBrackets(host))?.name;
  return name === "localhost" || name === "[::1]";
}

/** The problem with a Host header. Undefined when the request is allowed. */
type HostCheck = (host: string | undefined) => string | undefined;

/**
 * Checks Host headers against a list, so that no page can reach the server by a
 * name of its own (DNS rebinding).
 *
 * An entry is `name`, for any port, or `name:port`. Names are compared whole. A
 * Host without port stands for the ports 80 and 443, which clients leave out.
 * With `"any"` a Host has to be well-formed, no more. Throws `invalid-definition`
 * for an entry that is no host.
 */
export function createHostCheck(hosts: readonly string[] | "any"): HostCheck {
  const allowed = hosts === "any" ? undefined : new Set(hosts.map(entryKey));
  let passed: string | undefined;

  return (host) => {
    if (host === undefined) return "the host header is missing; send the name of the server";
    if (host === passed) return undefined;
    const parsed = parseAuthority(host);
    if (parsed === undefined) return `host ${quote(host)} is malformed; send a name, or name:port`;
    if (allowed !== undefined && !keysOf(parsed).some((key) => allowed.has(key))) {
      return `host ${quote(host)} is not allowed; list it in allowedHosts`;
    }
    passed = host;
    return undefined;
  };
}

function entryKey(entry: string): string {
  const parsed = parseAuthority(inBrackets(entry));
  if (parsed !== undefined) return parsed.port === undefined ? parsed.name : `${parsed.name}:${parsed.port}`;
  throw new McpError("invalid-definition", `allowed host ${quote(entry)} must be a name, or name:port`);
}

/** The entries that would allow a host. */
function keysOf({ name, port }: Authority): readonly string[] {
  return port === undefined ? [name, `${name}:80`, `${name}:443`] : [name, `${name}:${port}`];
}

/** IPv6 as people write it where no port can follow. */
function inBrackets(host: string): string {
  return /^[^[]*:.*:/.test(host) ? `[${host}]` : host;
}

/**
 * What an Origin header says of who asks: `absent`, no browser, or one that had
 * no reason to tell; `own`, a page of this server; `listed`, a page that may use
 * it; `refused`, any other.
 */
type OriginVerdict = "absent" | "own" | "listed" | "refused";

/** Give `host` only where it is known to be a name of this server. Without it no origin is the server's own. */
type OriginCheck = (origin: string | undefined, host: string | undefined) => OriginVerdict;

/**
 * Checks Origin headers against a list, by scheme, name and port.
 *
 * An entry is an origin such as `https://app.example`, one with any port such as
 * `http://localhost:*`, or `null`, which stands for sandboxed pages and files.
 * Ports that a scheme implies may be left out. Throws `invalid-definition` for an
 * entry that is none of these.
 */
export function createOriginCheck(origins: readonly string[]): OriginCheck {
  const listed = new Set(origins.map(originKey));
  let passed:
    | { readonly origin: string; readonly host: string | undefined; readonly verdict: OriginVerdict }
    | undefined;

  const judge = (origin: string, host: string | undefined): OriginVerdict => {
    if (origin === "null") return listed.has(origin) ? "listed" : "refused";
    const parsed = parseOrigin(origin);
    if (parsed === undefined) return "refused";
    if (listed.has(keyOf(parsed)) || listed.has(keyOf({ ...parsed, port: "*" }))) return "listed";
    return host !== undefined && isOwn(parsed, host) ? "own" : "refused";
  };

  return (origin, host) => {
    if (origin === undefined) return "absent";
    if (passed !== undefined && passed.origin === origin && passed.host === host) return passed.verdict;
    const verdict = judge(origin, host);
    if (verdict !== "refused") passed = { origin, host, verdict };
    return verdict;
  };
}

interface Origin {
  readonly scheme: string;
  readonly name: string;
  /** Undefined where none is given and the scheme implies none. */
  readonly port: number | "*" | undefined;
}

const webPorts: ReadonlyMap<string, number> = new Map([
  ["http", 80],
  ["https", 443],
]);

function parseOrigin(text: string): Origin | undefined {
  const [, scheme = "", rest = ""] = /^([a-z][a-z\d+.-]*):\/\/(.+)$/.exec(text.toLowerCase()) ?? [];
  const authority = parseAuthority(rest);
  return authority && { scheme, name: authority.name, port: portOf(authority, scheme) };
}

function portOf({ port }: Authority, scheme: string): number | undefined {
  return port ?? webPorts.get(scheme);
}

/** Whether a page came from where the request goes. A proxy may have ended TLS on the way, so either web scheme will do. */
function isOwn({ scheme, name, port }: Origin, host: string): boolean {
  const own = parseAuthority(host);
  return own !== undefined && webPorts.has(scheme) && own.name === name && portOf(own, scheme) === port;
}

function originKey(entry: string): string {
  if (entry === "null") return entry;
  const parsed = entry.endsWith(":*") ? parseAnyPort(entry.slice(0, -2)) : parseOrigin(entry);
  if (parsed !== undefined) return keyOf(parsed);
  const wanted = "must be like https://app.example, http://localhost:* or null";
  throw new McpError("invalid-definition", `allowed origin ${quote(entry)} ${wanted}`);
}

function parseAnyPort(text: string): Origin | undefined {
  const parsed = /:\d+$/.test(text) ? undefined : parseOrigin(text);
  return parsed && { ...parsed, port: "*" };
}

function keyOf({ scheme, name, port }: Origin): string {
  return `${scheme}://${name}:${port ?? ""}`;
}
