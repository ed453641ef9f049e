import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../../protocol/option-names.ts";
import { defined } from "../../std/defined.ts";
import { quote } from "../../std/text.ts";
import {
  baseUrl,
  needed,
  type OpenIdProvider,
  type PlainOAuthProvider,
  type ProviderClientOptions,
  toClient,
} from "./provider.ts";

const clientNames: OptionNames<ProviderClientOptions> = { clientId: true, clientSecret: true, scopes: true };

/** How users sign in with {@link github}. */
export interface GithubOptions extends ProviderClientOptions {
  /** Where a GitHub Enterprise Server is. Default: `https://github.com`. */
  readonly baseUrl?: string | undefined;
}

/**
 * Users sign in with GitHub, by an OAuth App or a GitHub App. Their claims are `sub` (the number of the account, which
 * stays when the name changes), `login`, `name`, `email` and `picture`. Default scopes: `read:user`.
 */
export function github(options: GithubOptions): PlainOAuthProvider {
  checkOptionNames("github", options, { ...clientNames, baseUrl: true } satisfies OptionNames<GithubOptions>);
  const issuer = baseUrl("github", "baseUrl", options.baseUrl ?? GITHUB);
  const api = issuer === GITHUB ? "https://api.github.com" : `${issuer}/api/v3`;
  return {
    kind: "oauth",
    name: "GitHub",
    issuer,
    ...toClient("github", options, ["read:user"]),
    authorizationEndpoint: `${issuer}/login/oauth/authorize`,
    tokenEndpoint: `${issuer}/login/oauth/access_token`,
    userEndpoint: `${api}/user`,
    toClaims: githubClaims,
  };
}

const GITHUB = "https://github.com";

function githubClaims({ id, login, name, email, avatar_url: picture }: JsonObject): JsonObject {
  const texts = Object.entries({ login, name, email, picture }).filter(([, value]) => typeof value === "string");
  return { ...Object.fromEntries(texts), ...(Number.isSafeInteger(id) && { sub: String(id) }) } as JsonObject;
}

/**
 * Users sign in with Google. Everybody with an account may: restrict that by `onSignIn` of `oauthProxy`, for example by
 * the claim `hd`. Default scopes: `openid email profile`.
 */
export function google(options: ProviderClientOptions): OpenIdProvider {
  checkOptionNames("google", options, clientNames);
  return {
    kind: "openid",
    name: "Google",
    issuer: "https://accounts.google.com",
    ...toClient("google", options, ["openid", "email", "profile"]),
    // Google gives a refresh token only to those who ask in this way.
    parameters: { access_type: "offline", prompt: "consent" },
    offlineAccess: "none",
  };
}

/** How users sign in with {@link entra}. */
export interface EntraOptions extends ProviderClientOptions {
  /** The id or a domain of the tenant. `organizations`, `consumers` and `common` let in users of any tenant. Needed. */
  readonly tenant: string | undefined;
}

/**
 * Users sign in with Microsoft Entra ID. Default scopes: `openid email profile`. With a tenant of `organizations` or
 * `common`, decide by the claim `tid` in `onSignIn` who may.
 */
export function entra(options: EntraOptions): OpenIdProvider {
  checkOptionNames("entra", options, { ...clientNames, tenant: true } satisfies OptionNames<EntraOptions>);
  const tenant = needed("entra", "tenant", options.tenant);
  if (!/^[\w.-]+$/.test(tenant)) {
    throw new McpError(
      "invalid-definition",
      `entra: tenant ${quote(tenant)} must be an id, a domain or "organizations"`,
    );
  }
  const issuer = `${LOGIN}/${tenant}/v2.0`;
  return {
    kind: "openid",
    name: "Microsoft",
    issuer,
    ...toClient("entra", options, ["openid", "email", "profile"]),
    // The metadata of a domain names the id of its tenant, and that of many tenants none.
    ...(!isTenantId.test(tenant) && { isIssuer: isEntraIssuer }),
    // Asking for consent anew would take an administrator in many tenants.
    offlineAccess: "scope",
  };
}

const LOGIN = "https://login.microsoftonline.com";
const id = String.raw`[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}`;
const isTenantId = new RegExp(`^${id}$`, "i");
const entraIssuer = new RegExp(String.raw`^https://login\.microsoftonline\.com/(?:\{tenantid\}|${id})/v2\.0$`, "i");

function isEntraIssuer(issuer: string): boolean {
  return entraIssuer.test(issuer);
}

/** How users sign in with {@link oidc}. */
export interface OidcOptions extends ProviderClientOptions {
  /** The exact issuer of its ID tokens. Its metadata says where everything else is. Needed. */
  readonly issuer: string | undefined;
  /** What users know the provider by. Default: its host. */
  readonly name?: string | undefined;
  /** Further parameters of the URL where users sign in, such as `{ audience }` at Auth0. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

/**
 * Users sign in with any provider that speaks OpenID Connect, such as Auth0, Keycloak, Okta or GitLab. Default scopes:
 * `openid email profile`, and `offline_access` where the provider lists it.
 */
export function oidc(options: OidcOptions): OpenIdProvider {
  const names = { ...clientNames, issuer: true, name: true, parameters: true } satisfies OptionNames<OidcOptions>;
  checkOptionNames("oidc", options, names);
  const issuer = needed("oidc", "issuer", options.issuer);
  const { host } = new URL(baseUrl("oidc", "issuer", issuer));
  return {
    kind: "openid",
    name: options.name ?? host,
    issuer,
    ...toClient("oidc", options, ["openid", "email", "profile"]),
    ...defined({ parameters: options.parameters }),
  };
}
