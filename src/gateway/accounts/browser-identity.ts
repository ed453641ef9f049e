import { nodeHop } from "../../auth/node/node-hop.ts";
import { redirectTo } from "../../auth/proxy/answers.ts";
import type { Browsers } from "../../auth/proxy/browser.ts";
import { errorPage } from "../../auth/proxy/pages.ts";
import { cookieOf, queryOf } from "../../auth/proxy/parameters.ts";
import type { IdentityProviderPreset } from "../../auth/proxy/provider.ts";
import { createUpstream, newUpstreamRequest } from "../../auth/proxy/upstream.ts";
import { fetchFor } from "../../auth/server/keys.ts";
import type { AuthRoute, RouteAnswer } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import { createSealer } from "../../protocol/seal.ts";
import { digestText } from "../../std/digest.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import type { AccountRecords } from "./account-records.ts";
import type { BrowserIdentity } from "./vault-options.ts";

/** Finds out whose browser it is that opens a link. */
export interface BrowserIdentities {
  /** The principal. Undefined where nobody knows. */
  identify(http: HttpRequestInfo): Promise<string | undefined>;
  /** Sends a browser of which nothing is known to where its user signs in. Undefined where there is no such place. */
  signIn(browser: string, next: string): Promise<RouteAnswer | undefined>;
  readonly routes: Readonly<Record<string, AuthRoute>>;
}

interface BrowserIdentitiesOptions {
  readonly origin: string;
  readonly keys: readonly string[];
  readonly records: AccountRecords;
  readonly browsers: Browsers;
  /** Milliseconds of the time of day. */
  now(): number;
}

/** Where users come back to from the identity provider, below the origin. */
export const identityPath = "/connect-identity";
/** How long a browser is known by one sign-in. */
const KNOWN_MS = 600_000;

/** Asks a function of the operator, such as one that reads the session of a browser. */
export function identitiesBy(identify: BrowserIdentity): BrowserIdentities {
  return { identify: async (http) => identify(http), signIn: async () => undefined, routes: {} };
}

/** Has users sign in with the identity provider that knows the callers of the gateway, too. */
export function identitiesOf(provider: IdentityProviderPreset, options: BrowserIdentitiesOptions): BrowserIdentities {
  const { origin, keys, records, browsers, now } = options;
  const hosts = provider.kind === "openid" ? [provider.issuer] : [provider.tokenEndpoint, provider.userEndpoint];
  const fetch = fetchFor(hosts, { allowPrivateNetwork: false, hop: nodeHop });
  const upstream = createUpstream({ provider, redirectUri: `${origin}${identityPath}`, fetch, now });
  const sealer = createSealer(keys, { purpose: `browser ${origin}` });
  const isSecure = origin.startsWith("https:");
  const cookie = isSecure ? "__Host-plugbay-user" : "plugbay-user";
  const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${KNOWN_MS / 1_000}${isSecure ? "; Secure" : ""}`;

  const back: AuthRoute = async (http) => {
    if (http.method !== "GET") return errorPage(405, "Open the link again.");
    const query = queryOf(http);
    const name = await digestText(query?.get("state") ?? "");
    const found = query && (await records.get("identity", name));
    const browser = browsers.idOf(http);
    const isSame = browser !== undefined && (await digestText(browser)) === found?.value.browser;
    if (query === undefined || found === undefined || !isSame) return unknown;
    if (!(await records.delete("identity", name, found.version))) return unknown;
    const { principal } = await upstream.signedIn(new URLSearchParams([...query]), found.value.upstream);
    const sealed = await sealer.seal({ principal, browser: found.value.browser, expires: now() + KNOWN_MS });
    return redirectTo(`${origin}${found.value.next}`, { "set-cookie": `${cookie}=${sealed}; ${attributes}` });
  };

  return {
    async identify(http) {
      const [browser, sealed] = [browsers.idOf(http), cookieOf(http, cookie)];
      const opened = sealed === undefined ? undefined : await sealer.open(sealed);
      if (browser === undefined || opened === undefined) return undefined;
      const isValid = opened.browser === (await digestText(browser)) && Number(opened.expires) > now();
      return isValid ? String(opened.principal) : undefined;
    },
    async signIn(browser, next) {
      const sent = newUpstreamRequest();
      const url = await upstream.authorizationUrl(sent);
      const pending = { upstream: sent, browser: await digestText(browser), next };
      await records.put("identity", await digestText(sent.state), pending, { ttlMs: KNOWN_MS });
      return redirectTo(url, browsers.keep(browser));
    },
    routes: { [identityPath]: (http, body) => told(back, http, body) },
  };
}

async function told(route: AuthRoute, http: HttpRequestInfo, body: string): Promise<RouteAnswer> {
  try {
    return await route(http, body);
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    return { ...errorPage(502, "Signing in failed. Open the link again."), warning: `gateway: ${error.message}` };
  }
}

const unknown = errorPage(
  400,
  "This sign-in is not known, is over, or was begun in another browser. Open the link again.",
);
