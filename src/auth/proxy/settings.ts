import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../../protocol/option-names.ts";
import { reachOfHost } from "../../std/address-reach.ts";
import { isRandomKey, randomKeyRule } from "../../std/random-key.ts";
import { memoryStore } from "../../store/memory-store.ts";
import type { Store } from "../../store/store.ts";
import { canonicalUrl } from "../client/discovery.ts";
import { type ClaimsSchema, checkScopes } from "../server/claims.ts";
import { type ConsentPage, defaultConsentPage } from "./consent-page.ts";
import { type IdentityProviderPreset, needed } from "./provider.ts";
import type { OAuthProxyLimits } from "./quota.ts";
import { createRedirectFilter } from "./redirect-uri.ts";
import type { SignedInUser } from "./upstream.ts";

/** How {@link oauthProxy} signs users in. */
export interface OAuthProxyOptions<S extends ClaimsSchema = undefined> {
  /** Where users sign in: `github()`, `google()`, `entra()` or `oidc()`. */
  readonly provider: IdentityProviderPreset;
  /** The URL of this server, as clients know it, such as `https://shop.example.com/mcp`. Tokens are good for nothing else. Needed. */
  readonly resource: string | undefined;
  /** Where clients, sign-ins and grants are kept: the same for all processes. Default: in memory, for one process. */
  readonly store?: Store | Promise<Store> | undefined;
  /**
   * Secrets by which everything that is kept is encrypted: 32 random bytes or more each, in hex or base64. The first
   * encrypts, all decrypt, so that a new one can be put in front. Needed.
   */
  readonly keys: readonly (string | undefined)[];
  /** Scopes of this server that clients may ask for, as tools name them. Default none. */
  readonly scopes?: readonly string[] | undefined;
  /** Makes the page on which users agree. Default: a plain one. */
  readonly consentPage?: ConsentPage | undefined;
  /** How long an access token is good. Default 1 h. */
  readonly tokenTtlMs?: number | undefined;
  /** How long an authorization code is good. Default 60 s. */
  readonly codeTtlMs?: number | undefined;
  /**
   * Where clients may have users sent back to: exact URIs, where a port on this machine is free, or such that end in
   * `/*`. Default: any https URI, programs on the machine of the user, and schemes of applications.
   */
  readonly allowedRedirectUris?: readonly string[] | undefined;
  /** Decides who may sign in, by what the provider says of a user. Default: everybody who has an account there. */
  readonly onSignIn?: ((user: SignedInUser) => boolean | Promise<boolean>) | undefined;
  /** Checks the claims of users, and gives them their type: any Standard Schema, or a plain JSON Schema. Default: as the provider has them. */
  readonly claims?: S | undefined;
  /** Bounds on what is kept for those who have not signed in. */
  readonly limits?: OAuthProxyLimits | undefined;
  /**
   * Whether metadata documents of clients, and what the provider names, may be on this machine or a private network.
   * Default false; hosts of the provider that you name yourself may be there.
   */
  readonly allowPrivateNetwork?: boolean | undefined;
}

const optionNames: OptionNames<OAuthProxyOptions> = {
  provider: true,
  resource: true,
  store: true,
  keys: true,
  scopes: true,
  consentPage: true,
  tokenTtlMs: true,
  codeTtlMs: true,
  allowedRedirectUris: true,
  onSignIn: true,
  claims: true,
  limits: true,
  allowPrivateNetwork: true,
};

/** The options, checked and complete. */
export interface ProxySettings {
  readonly provider: IdentityProviderPreset;
  readonly resource: string;
  /** The origin of the resource: who makes the tokens. */
  readonly issuer: string;
  readonly store: Promise<Store>;
  readonly keys: readonly string[];
  readonly scopes: readonly string[];
  readonly consentPage: ConsentPage;
  readonly tokenTtlMs: number;
  readonly codeTtlMs: number;
  readonly isRedirectAllowed: (uri: string) => boolean;
  readonly onSignIn: (user: SignedInUser) => boolean | Promise<boolean>;
}

/** Throws `invalid-definition` that names the option. */
export function readSettings(options: OAuthProxyOptions<ClaimsSchema>): ProxySettings {
  checkOptionNames("oauthProxy", options, optionNames, { redirectUris: "allowedRedirectUris", secret: "keys" });
  const { provider, store, scopes = [], consentPage = defaultConsentPage, onSignIn = () => true } = options;
  if (typeof provider !== "object" || provider === null)
    throw bad("provider", "is needed: github(), google(), entra() or oidc()");
  const resource = readResource(options.resource);
  checkScopes("oauthProxy scopes", scopes);
  // A store that cannot be opened is told of by whoever needs it.
  const opened = store === undefined ? Promise.resolve(memoryStore()) : Promise.resolve(store);
  opened.catch(() => {});
  return {
    provider,
    resource,
    issuer: new URL(resource).origin,
    store: opened,
    keys: readKeys(options.keys),
    scopes,
    consentPage,
    tokenTtlMs: readMs("tokenTtlMs", options.tokenTtlMs ?? 3_600_000),
    codeTtlMs: readMs("codeTtlMs", options.codeTtlMs ?? 60_000),
    isRedirectAllowed: createRedirectFilter(options.allowedRedirectUris),
    onSignIn,
  };
}

function readResource(given: string | undefined): string {
  const text = needed("oauthProxy", "resource", given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal = url?.protocol === "http:" && reachOfHost(url.hostname) === "loopback";
  if (url !== undefined && (url.protocol === "https:" || isLocal) && !text.includes("#") && url.search === "") {
    return canonicalUrl(url);
  }
  throw bad(
    "resource",
    "must be the https URL of this server, without query and fragment; http is for this machine only",
  );
}

function readKeys(keys: readonly (string | undefined)[]): readonly string[] {
  if (!Array.isArray(keys) || keys.length === 0) throw bad("keys", "needs a key or more");
  return keys.map((key, index) => {
    const text = needed("oauthProxy", `keys[${index}]`, key);
    if (isRandomKey(text)) return text;
    throw bad(`keys[${index}]`, randomKeyRule);
  });
}

function readMs(name: string, ms: number): number {
  if (Number.isFinite(ms) && ms > 0) return ms;
  throw bad(name, "must be a number of milliseconds above 0");
}

function bad(member: string, problem: string): McpError {
  return new McpError("invalid-definition", `oauthProxy: ${member} ${problem}`, { data: { member } });
}
