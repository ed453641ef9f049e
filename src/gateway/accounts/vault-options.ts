import type { AuthorizerOptions } from "../../auth/client/authorizer.ts";
import { requiredIssuer } from "../../auth/client/machine-grants.ts";
import type { RegisteredClient } from "../../auth/client/oauth.ts";
import type { SubjectTokenType } from "../../auth/client/token-exchange.ts";
import type { ClientKey } from "../../auth/client/token-request.ts";
import type { IdentityProviderPreset } from "../../auth/proxy/provider.ts";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../../protocol/option-names.ts";
import { reachOfHost } from "../../std/address-reach.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { isRandomKey, randomKeyRule } from "../../std/random-key.ts";

/** Each user signs in to the server with an account of their own. */
export interface UserCredentials extends Pick<AuthorizerOptions, "scopes" | "allowPrivateNetwork"> {
  readonly kind: "user";
  /** The client that the gateway is at the authorization server. Default: it registers itself, once for all users. */
  readonly client?: RegisteredClient | undefined;
  /** Where the description of the gateway as a client is published: https, with a path. It is the id of the client, too. */
  readonly clientMetadataUrl?: string | undefined;
}

/** The identity of the caller is exchanged for a token for the server (RFC 8693). */
export interface ExchangeCredentials extends Pick<AuthorizerOptions, "scopes" | "allowPrivateNetwork"> {
  readonly kind: "exchange";
  /** The authorization server that exchanges tokens. Those of callers are sent to no other. Needed. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: ClientKey | undefined;
  readonly audience?: string | undefined;
  /** Default `access-token`. */
  readonly subjectTokenType?: SubjectTokenType | undefined;
}

/** The gateway uses the server as itself, for all callers. */
export interface ClientCredentials extends Pick<AuthorizerOptions, "scopes" | "allowPrivateNetwork"> {
  readonly kind: "client";
  /** The authorization server that knows the gateway. Its credentials are sent to no other. Needed. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: ClientKey | undefined;
}

/** Each user enters a key of their own on the link page. */
export interface KeyCredentials {
  readonly kind: "key";
  /** The header that the key is sent in. Default `authorization`. */
  readonly header?: string | undefined;
  /** What stands before the key. Default `Bearer ` in `authorization`, and nothing in any other header. */
  readonly prefix?: string | undefined;
  /** Where users get a key: shown on the link page. */
  readonly help?: string | undefined;
}

/** What the gateway shows a server. `none`: nothing but what the configuration of the server says. */
export type ServerCredentials =
  | UserCredentials
  | ExchangeCredentials
  | ClientCredentials
  | KeyCredentials
  | { readonly kind: "none" };

/** Finds out whose browser sends a request, such as by the cookie of a session. Undefined: nobody knows. */
export type BrowserIdentity = (http: HttpRequestInfo) => string | undefined | Promise<string | undefined>;

/** Something that happened to the account of a user at a server. There are no secrets in it. */
export interface AccountEvent {
  /** `expired`: the server takes it no more, and the user has to connect it again. */
  readonly kind: "connected" | "refreshed" | "expired" | "disconnected";
  readonly principal: string;
  readonly server: string;
}

/** The credentials that callers of a gateway have at its servers. */
export interface Vault {
  /** Where browsers reach the gateway, such as `https://gateway.example.com`. Needed. */
  readonly origin: string;
  /** By the name of the server. One that is not here gets no credentials of callers. */
  readonly servers: Readonly<Record<string, ServerCredentials>>;
  /**
   * Finds out who uses the browser that opens a link: an identity provider where the user signs in, or a function. Only the
   * user whom the link is for can go on then. Default: nobody; the link page says what is connected to whom, and asks.
   */
  readonly identify?: IdentityProviderPreset | BrowserIdentity | undefined;
  /** How long a link is good. Default 10 min. */
  readonly linkTtlMs?: number | undefined;
  /** How long a call waits for its user to connect an account before it asks again. Default 50 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Hears what happens to accounts. */
  readonly onEvent?: ((event: AccountEvent) => void) | undefined;
}

const vaultOptionNames: OptionNames<Vault> = {
  origin: true,
  servers: true,
  identify: true,
  linkTtlMs: true,
  connectTimeoutMs: true,
  onEvent: true,
};

type Kind = ServerCredentials["kind"];
type CredentialsOf<K extends Kind> = Extract<ServerCredentials, { readonly kind: K }>;

const optionNames: { readonly [K in Kind]: OptionNames<CredentialsOf<K>> } = {
  user: { kind: true, client: true, clientMetadataUrl: true, scopes: true, allowPrivateNetwork: true },
  exchange: {
    kind: true,
    issuer: true,
    clientId: true,
    clientSecret: true,
    privateKey: true,
    audience: true,
    subjectTokenType: true,
    scopes: true,
    allowPrivateNetwork: true,
  },
  client: {
    kind: true,
    issuer: true,
    clientId: true,
    clientSecret: true,
    privateKey: true,
    scopes: true,
    allowPrivateNetwork: true,
  },
  key: { kind: true, header: true, prefix: true, help: true },
  none: { kind: true },
};

/** The options of a vault, checked and complete. */
export interface VaultSettings extends Pick<Vault, "identify"> {
  readonly origin: string;
  readonly servers: ReadonlyMap<string, ServerCredentials>;
  readonly keys: readonly string[];
  readonly linkTtlMs: number;
  readonly connectTimeoutMs: number;
  onEvent(event: AccountEvent): void;
}

/** Throws `invalid-definition` that names the option. */
export function readVault(vault: Vault, keys: readonly (string | undefined)[] | undefined): VaultSettings {
  checkOptionNames("credentials of openGateway", vault, vaultOptionNames);
  const { servers, identify, onEvent = () => {} } = vault;
  if (typeof servers !== "object" || servers === null)
    throw bad("servers", "is needed: an object with the credentials of each server by its name");
  for (const [name, given] of Object.entries(servers)) checkCredentials(name, given);
  return {
    origin: readOrigin(vault.origin),
    servers: new Map(Object.entries(servers)),
    identify,
    keys: readKeys(keys),
    linkTtlMs: readMs("linkTtlMs", vault.linkTtlMs ?? 600_000),
    connectTimeoutMs: readMs("connectTimeoutMs", vault.connectTimeoutMs ?? 50_000),
    onEvent(event) {
      try {
        onEvent(event);
      } catch {
        // Whoever listens cannot break what is listened to.
      }
    },
  };
}

function checkCredentials(name: string, given: ServerCredentials): void {
  const known = Object.hasOwn(optionNames, given?.kind) ? optionNames[given.kind] : undefined;
  const member = `servers.${name}`;
  if (known === undefined) throw bad(member, `needs a kind: ${Object.keys(optionNames).join(", ")}`);
  checkOptionNames(`credentials of server ${JSON.stringify(name)}`, given, known);
  if (given.kind === "key") checkHeader(member, given);
  if (given.kind === "exchange")
    requiredIssuer(`issuer of credentials of server ${name}`, given.issuer, "subject token");
  if (given.kind === "client") requiredIssuer(`issuer of credentials of server ${name}`, given.issuer, "client secret");
}

/** Headers that say what a request is: a key in one of them would break it, or end up with others. */
const reserved =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|accept|origin|cookie|mcp-.*|last-event-id)$/i;

function checkHeader(member: string, { header = "authorization", prefix = "" }: KeyCredentials): void {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header) || reserved.test(header))
    throw bad(`${member}.header`, "must be the name of a header that is free for a key, such as x-api-key");
  if (!/^[\x20-\x7e]*$/.test(prefix)) throw bad(`${member}.prefix`, "must be printable ASCII");
}

function readOrigin(given: string | undefined): string {
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  const isLocal = url?.protocol === "http:" && reachOfHost(url.hostname) === "loopback";
  const isOrigin = url !== undefined && (given === url.origin || given === `${url.origin}/`);
  if (isOrigin && (url.protocol === "https:" || isLocal)) return url.origin;
  throw bad(
    "origin",
    "must be where browsers reach the gateway, such as https://gateway.example.com, without a path; http is for this machine only",
  );
}

function readKeys(keys: readonly (string | undefined)[] | undefined): readonly string[] {
  if (!Array.isArray(keys) || keys.length === 0) {
    const message = "openGateway: vaultKeys is needed with credentials: 32 random bytes or more each";
    throw new McpError("invalid-definition", message, { data: { member: "vaultKeys" } });
  }
  return keys.map((key: string | undefined, index) => {
    if (key !== undefined && isRandomKey(key)) return key;
    const message = `openGateway: vaultKeys[${index}] ${key === undefined ? "is undefined" : randomKeyRule}`;
    throw new McpError("invalid-definition", message, { data: { member: `vaultKeys[${index}]` } });
  });
}

function readMs(name: string, ms: number): number {
  if (Number.isFinite(ms) && ms > 0) return ms;
  throw bad(name, "must be a number of milliseconds above 0");
}

function bad(member: string, problem: string): McpError {
  const message = `credentials of openGateway: ${member} ${problem}`;
  return new McpError("invalid-definition", message, { data: { member: `credentials.${member}` } });
}
