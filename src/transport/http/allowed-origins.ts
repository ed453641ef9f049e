import { McpError } from "../../model/errors.ts";
import { type Authority, parseAuthority } from "./allowed-hosts.ts";
import { quote } from "./http-message.ts";

/**
 * What an Origin header says of who asks: `absent`, no browser, or one that had
 * no reason to tell; `own`, a page of this server; `listed`, a page that may use
 * it; `refused`, any other.
 */
export type OriginVerdict = "absent" | "own" | "listed" | "refused";

/** Give `host` only where it is known to be a name of this server. Without it no origin is the server's own. */
export type OriginCheck = (origin: string | undefined, host: string | undefined) => OriginVerdict;

/**
 * Checks Origin headers against a list, by scheme, name and port.
 *
 * An entry is an origin such as `https://app.example`, one with any port such as
 * `http://localhost:*`, or `null`, which stands for sandboxed pages and files.
 * Ports that a scheme implies may be left out. Throws `invalid-definition` for an
 * entry that is none of these.
 */
export function createOriginCheck(origins: readonly string[]): OriginCheck {
  const listed = new Set(origins.map(entryKey));
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

function entryKey(entry: string): string {
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
