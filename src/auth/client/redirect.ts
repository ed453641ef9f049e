import { McpError } from "../../model/errors.ts";
import { reachOfHost } from "../safe-fetch-address.ts";
import { unauthorized } from "./problems.ts";

/** How users are brought to an authorization server, and come back. */
export interface Redirect {
  /**
   * Makes ready for one user. `preferred` is the URI that the client was
   * registered with, to be used again where that is possible.
   */
  open(preferred: string | undefined): Promise<OpenRedirect>;
}

export interface OpenRedirect extends AsyncDisposable {
  /** Where users are to come back to. */
  readonly uri: string;
  /** Sends the user to `url`. Resolves to the whole URL they came back to; rejects when the signal aborts. */
  visit(url: URL, signal: AbortSignal): Promise<string | URL>;
}

/** What is known when a user is sent to an authorization server. */
export interface AuthorizeContext {
  /** Aborts when nobody waits for the user any more. */
  readonly signal: AbortSignal;
  readonly redirectUri: string;
}

/** Sends a user to a URL, and resolves to the URL where they came back. */
export type Authorize = (url: URL, context: AuthorizeContext) => Promise<string | URL>;

/** Users are sent by the application, which receives them as well. */
export function redirectBy(authorize: Authorize, redirectUri: string): Redirect {
  return {
    open: async () => ({
      uri: redirectUri,
      visit: (url, signal) => authorize(url, { signal, redirectUri }),
      [Symbol.asyncDispose]: async () => {},
    }),
  };
}

/** Nobody can be asked. */
export const noRedirect: Redirect = {
  async open() {
    throw unauthorized("interaction-required", "somebody has to sign in, and nobody can be asked here");
  },
};

/** Throws `invalid-params` for a URI that users must not be sent back to. */
export function checkRedirectUri(uri: string): void {
  if (!URL.canParse(uri)) throw new McpError("invalid-params", "redirectUri is no URL");
  const { protocol, hash, hostname } = new URL(uri);
  const isUnsafe = ["javascript:", "data:", "file:", "vbscript:", "blob:", "about:"].includes(protocol);
  const isOpen = protocol === "http:" && reachOfHost(hostname) !== "loopback";
  if (isUnsafe || isOpen || hash !== "") {
    throw new McpError("invalid-params", "redirectUri must be https, or http on this machine, without a fragment");
  }
}

/** The URL to send a user to. Throws for one that no browser should be given. */
export function checkBrowsable(endpoint: string | undefined, allowLoopback: boolean): URL {
  if (endpoint === undefined || !URL.canParse(endpoint)) {
    throw unauthorized("invalid-metadata", "the authorization server has no authorization endpoint");
  }
  const url = new URL(endpoint);
  const isLocal = reachOfHost(url.hostname) === "loopback";
  const secure = url.protocol === "https:" || (url.protocol === "http:" && isLocal);
  if (!secure || (isLocal && !allowLoopback) || url.username !== "" || url.password !== "") {
    throw unauthorized("invalid-metadata", "the authorization endpoint is at a URL that is not opened");
  }
  url.hash = "";
  return url;
}
