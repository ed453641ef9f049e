import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";

/** The client that this server is at an identity provider, which somebody has registered there by hand. */
export interface ProviderClientOptions {
  /** Needed. `undefined` throws, so that an environment variable can be passed as it is. */
  readonly clientId: string | undefined;
  /** Needed, like `clientId`. */
  readonly clientSecret: string | undefined;
  /** What is asked of the provider, for everybody who signs in. Each preset has its default. */
  readonly scopes?: readonly string[] | undefined;
}

interface ProviderBase {
  /** What users know it by, such as `GitHub`. */
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  /** Further parameters of the URL where users sign in. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

/** A provider that speaks OpenID Connect: its metadata says where it is, and ID tokens say who signed in. */
export interface OpenIdProvider extends ProviderBase {
  readonly kind: "openid";
  readonly issuer: string;
  /**
   * Whether the metadata may be of this issuer. Default: only of `issuer`. A part `{tenantid}` of it stands for the
   * claim `tid` of ID tokens.
   */
  readonly isIssuer?: ((issuer: string) => boolean) | undefined;
  /** How to ask for a refresh token. Default: by the scope `offline_access` and `prompt=consent`, where the provider lists that scope. */
  readonly offlineAccess?: "scope-and-prompt" | "scope" | "none" | undefined;
}

/** A provider that speaks OAuth alone: a request with the access token says who signed in. */
export interface PlainOAuthProvider extends ProviderBase {
  readonly kind: "oauth";
  /** What its users are told apart by from those of others. */
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  /** Answers with JSON about the user whose access token it gets. */
  readonly userEndpoint: string;
  /** The claims of a user, made of that answer. `sub` is needed: it never changes, and nobody else ever gets it. */
  readonly toClaims: (user: JsonObject) => JsonObject;
}

/** An identity provider, as {@link github}, {@link google}, {@link entra} and {@link oidc} describe one. */
export type IdentityProviderPreset = OpenIdProvider | PlainOAuthProvider;

/** What a registered client gives. Throws `invalid-definition` that names what is missing. */
export function toClient(
  owner: string,
  { clientId, clientSecret, scopes }: ProviderClientOptions,
  defaultScopes: readonly string[],
): Pick<ProviderBase, "clientId" | "clientSecret" | "scopes"> {
  return {
    clientId: needed(owner, "clientId", clientId),
    clientSecret: needed(owner, "clientSecret", clientSecret),
    scopes: scopes ?? defaultScopes,
  };
}

/** A text that must be there. Throws `invalid-definition` that names it, and does not repeat it. */
export function needed(owner: string, name: string, value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  const was = value === undefined ? "undefined" : "no text";
  throw new McpError("invalid-definition", `${owner}: ${name} is ${was}; give it, or set the variable it comes from`, {
    data: { member: name },
  });
}

/** An https URL, or one of http on this machine, without a slash at its end. Throws `invalid-definition`. */
export function baseUrl(owner: string, name: string, value: unknown): string {
  const text = needed(owner, name, value);
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, "");
  throw new McpError("invalid-definition", `${owner}: ${name} must be a URL`, { data: { member: name } });
}
