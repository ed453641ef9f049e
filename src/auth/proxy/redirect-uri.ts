import { McpError } from "../../protocol/errors.ts";
import { quote } from "../../std/text.ts";

/** Schemes by which no application is reached, and some that run what is in them. */
const unsafeSchemes: ReadonlySet<string> = new Set([
  "javascript:",
  "data:",
  "file:",
  "vbscript:",
  "blob:",
  "about:",
  "view-source:",
  "ftp:",
  "ws:",
  "wss:",
  "filesystem:",
]);

const MAX_LENGTH = 2_000;

/**
 * What is wrong with a URI that users are to be sent back to. Undefined when nothing is.
 *
 * It is https, http on this machine, or of a scheme that belongs to an application; without fragment and credentials.
 */
export function redirectUriProblem(uri: unknown): string | undefined {
  if (typeof uri !== "string" || uri.length > MAX_LENGTH || !URL.canParse(uri)) return "is not a URI";
  if (/[\s\p{C}]/u.test(uri)) return "has characters that no URI has";
  const { protocol, hash, username, password, hostname } = new URL(uri);
  if (hash !== "" || uri.includes("#")) return "has a fragment";
  if (username !== "" || password !== "") return "has credentials";
  if (unsafeSchemes.has(protocol)) return `has the scheme ${protocol.slice(0, -1)}, which is not allowed`;
  if (protocol === "http:" && !isLoopbackHost(hostname)) return "must be https, unless it is on this machine";
  return undefined;
}

/** The names of a user's own machine. */
function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** Whether users come back to a program on their own machine. */
export function isLoopbackUri(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol === "http:" && isLoopbackHost(hostname);
}

/**
 * Whether the place that users go back to belongs to the client. Any program on the user's machine can open a browser with the
 * id of a client and wait there, on a port or by a scheme (RFC 8252, 8.6).
 */
export function isClaimed(redirectUri: string): boolean {
  return new URL(redirectUri).protocol === "https:";
}

/**
 * Whether a URI is one of those that a client has registered: character by character, but for the port of a program
 * on the user's machine, which takes one that is free (RFC 8252, OAuth 2.1).
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  if (redirectUriProblem(uri) !== undefined || !isLoopbackUri(uri)) return false;
  return registered.some((other) => isLoopbackUri(other) && withoutPort(other) === withoutPort(uri));
}

/** The URI as text without its port, otherwise as it was written. */
export function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:\[[^\]]*\]|[^/:?]*)):\d*/i, "$1");
}

/** Decides which URIs may be registered. Each entry is a URI, or ends in `/*` and stands for all below it. Throws `invalid-definition`. */
export function createRedirectFilter(allowed: readonly string[] | undefined): (uri: string) => boolean {
  if (allowed === undefined) return () => true;
  for (const entry of allowed) {
    const problem = redirectUriProblem(entry);
    if (problem === undefined) continue;
    throw new McpError("invalid-definition", `oauthProxy: allowedRedirectUris: ${quote(entry)} ${problem}`);
  }
  return (uri) =>
    allowed.some((entry) => (entry.endsWith("/*") ? isBelow(uri, entry.slice(0, -1)) : isRegistered(uri, [entry])));
}

function isBelow(uri: string, start: string): boolean {
  const [one, other] = [new URL(uri), new URL(start)];
  const isSamePlace =
    one.protocol === other.protocol &&
    one.hostname === other.hostname &&
    (isLoopbackUri(uri) || one.port === other.port);
  return isSamePlace && one.pathname.startsWith(other.pathname);
}
