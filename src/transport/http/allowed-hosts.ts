import { McpError } from "../../model/errors.ts";
import { quote } from "./http-message.ts";

/** A host with or without a port, as in the Host header and in origins. */
export interface Authority {
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

/** The names by which a machine reaches itself: who may be called when only loopback is served. */
export const loopbackHosts: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

const loopbackIpv4 = /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** Whether a server that binds to this address is reached from its own machine only. */
export function isLoopback(host: string): boolean {
  if (loopbackIpv4.test(host)) return true;
  const name = parseAuthority(inBrackets(host))?.name;
  return name === "localhost" || name === "[::1]";
}

/** What is wrong with a Host header. Undefined when the request may go on. */
export type HostCheck = (host: string | undefined) => string | undefined;

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
