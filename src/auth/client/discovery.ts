import type { AuthorizationServer } from "oauth4webapi";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { objectOf, type SafeFetch } from "../safe-fetch.ts";
import type { TokenChallenge } from "./challenge.ts";
import { quoted, unauthorized } from "./problems.ts";

/** Where tokens for a server come from. */
export interface Discovery {
  /** The identifier of the server, byte for byte as its metadata has it. */
  readonly resource: string;
  /** Whose tokens they are. Never compared but as a whole. */
  readonly issuer: string;
  readonly metadata: AuthorizationServer;
  /** What the server says it knows. */
  readonly scopesSupported: readonly string[] | undefined;
}

export interface DiscoveryOptions {
  readonly fetch: SafeFetch;
  readonly challenge: TokenChallenge;
  /** The only issuer to take. */
  readonly required?: string | undefined;
  /** The issuer to take, when the server names several. Default: the first. */
  readonly preferred?: string | undefined;
  /** Whether the server may be one of 2025-03-26: with metadata of its own, or with none at all. Default both. */
  readonly old?: "with-metadata" | "no" | undefined;
}

/**
 * Finds out where tokens for a server come from: by its metadata, which the
 * challenge names or which is at a well-known place, then by that of the
 * authorization server. A server without metadata is one of 2025-03-26, which
 * is its own authorization server. Rejects with `unauthorized`.
 */
export async function discover(server: URL, options: DiscoveryOptions): Promise<Discovery> {
  const about = await findResource(server, options);
  if (about === undefined) return discoverOld(server, options);
  const { resource, issuers, scopesSupported } = about;
  const { required, preferred = issuers[0] } = options;
  const issuer = required ?? (issuers.includes(preferred ?? "") ? preferred : issuers[0]);
  if (issuer === undefined || !issuers.includes(issuer)) throw otherIssuer(server, issuers, issuer);
  return { resource, issuer, metadata: await findIssuer(issuer, options.fetch), scopesSupported };
}

function otherIssuer({ origin }: URL, named: readonly string[], required = ""): McpError {
  const message = `${origin} takes tokens of ${shown(named)}, not of the issuer that knows the client${quoted(required)}`;
  return unauthorized("issuer-mismatch", message);
}

/** Names of issuers as a server has them, fit for a message. */
function shown(issuers: readonly string[]): string {
  return issuers
    .slice(0, 3)
    .map((issuer) => quoted(issuer).slice(2))
    .join(", ");
}

interface ResourceFacts {
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopesSupported: readonly string[] | undefined;
}

async function findResource(server: URL, { fetch, challenge }: DiscoveryOptions): Promise<ResourceFacts | undefined> {
  const { resourceMetadata } = challenge;
  const places = resourceMetadata === undefined ? resourceMetadataUrls(server) : [resourceMetadata];
  for (const place of places) {
    const found = await fetchMetadata(place, fetch);
    if (found.kind === "failed") throw found.error;
    if (found.kind === "found") return readResource(found, server);
  }
  if (resourceMetadata === undefined) return undefined;
  throw unauthorized("no-authorization-server", `${server.origin} names metadata that is not there`);
}

function readResource({ document }: Found, server: URL): ResourceFacts {
  const { resource, authorization_servers: issuers, scopes_supported: scopes } = document;
  if (typeof resource !== "string" || !isResourceOf(resource, server)) {
    throw unauthorized("resource-mismatch", `the metadata of ${server.origin} is about another resource`);
  }
  if (!isTexts(issuers) || issuers.length === 0) {
    throw unauthorized("no-authorization-server", `the metadata of ${server.origin} names no authorization server`);
  }
  return { resource, issuers, scopesSupported: isTexts(scopes) ? scopes : undefined };
}

/** The metadata of an issuer, which must call itself exactly so. */
export async function findIssuer(issuer: string, fetch: SafeFetch): Promise<AuthorizationServer> {
  if (!URL.canParse(issuer)) throw unauthorized("invalid-metadata", "the issuer is not a URL");
  let failure: McpError | undefined;
  for (const place of serverMetadataUrls(new URL(issuer))) {
    const found = await fetchMetadata(place, fetch);
    if (found.kind === "failed") failure ??= found.error;
    if (found.kind !== "found") continue;
    if (found.document.issuer === issuer) return asServer(found);
    failure = unauthorized("issuer-mismatch", `the metadata at ${place.origin} is of another issuer`);
  }
  throw failure ?? unauthorized("no-authorization-server", `${new URL(issuer).origin} has no metadata`);
}

/** What servers of 2025-03-26 have: metadata at the root of their origin, or endpoints at places known beforehand. */
async function discoverOld(server: URL, { fetch, required, old }: DiscoveryOptions): Promise<Discovery> {
  const { origin } = server;
  if (old === "no") throw unauthorized("no-authorization-server", `${origin} has no metadata`);
  const common = { resource: canonicalUrl(server), scopesSupported: undefined };
  const found = await fetchMetadata(new URL("/.well-known/oauth-authorization-server", origin), fetch);
  if (found.kind === "failed") throw found.error;
  const issuer = found.kind === "found" ? found.document.issuer : origin;
  if (issuer !== origin && issuer !== `${origin}/`) {
    throw unauthorized("issuer-mismatch", `the metadata at ${origin} is of another issuer`);
  }
  if (found.kind === "missing" && old === "with-metadata") {
    throw unauthorized("no-authorization-server", `${origin} has no metadata`);
  }
  if (required !== undefined && required !== issuer) throw otherIssuer(server, [origin], required);
  return { ...common, issuer, metadata: found.kind === "found" ? asServer(found) : defaultServer(origin) };
}

/** Clients of that revision always used PKCE with S256, so a server without metadata is taken to know it. */
function defaultServer(origin: string): AuthorizationServer {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
  };
}

function asServer({ document }: Found): AuthorizationServer {
  const lists = ["scopes_supported", "code_challenge_methods_supported", "token_endpoint_auth_methods_supported"];
  const broken = lists.find((name) => document[name] !== undefined && !isTexts(document[name]));
  if (broken !== undefined)
    throw unauthorized("invalid-metadata", `${broken} of the authorization server is not a list`);
  const { token_endpoint: endpoint } = document;
  if (typeof endpoint !== "string" || !URL.canParse(endpoint)) {
    throw unauthorized("invalid-metadata", "the authorization server has no token endpoint");
  }
  return asObject<AuthorizationServer>(document);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

interface Found {
  readonly kind: "found";
  readonly document: JsonObject;
}

/** A document, that there is none, or that nobody can tell. */
type Metadata = Found | { readonly kind: "missing" } | { readonly kind: "failed"; readonly error: McpError };

/** Fetches a document. Pages that are no JSON count as missing: some servers have one for every path. */
export async function fetchMetadata(place: string | URL, fetch: SafeFetch): Promise<Metadata> {
  try {
    const response = await fetch(place);
    const document = response.ok ? await objectOf(response) : undefined;
    if (document !== undefined) return { kind: "found", document };
    if (response.status < 500) return { kind: "missing" };
    const { origin } = new URL(place);
    return { kind: "failed", error: new McpError("http-error", `${origin} answered ${response.status}`) };
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    const isPage = error.code === "invalid-response" && error.data === undefined;
    return isPage ? { kind: "missing" } : { kind: "failed", error };
  }
}

/** A document as what its members were checked to be. The rest of them are checked where they are used. */
export function asObject<T extends object>(document: JsonObject): T {
  return document as unknown as T;
}

/** Where the metadata of a protected resource may be (RFC 9728), in the order to look: for its path, then for its origin. */
export function resourceMetadataUrls(server: URL): readonly URL[] {
  const { origin } = server;
  const path = withoutTrailingSlash(server.pathname);
  const root = new URL("/.well-known/oauth-protected-resource", origin);
  if (path === "" && server.search === "") return [root];
  return [new URL(`/.well-known/oauth-protected-resource${path}${server.search}`, origin), root];
}

/**
 * Where the metadata of an authorization server may be, in the order to look:
 * RFC 8414, then OpenID Connect. What is at the root is never that of an issuer
 * with a path.
 */
export function serverMetadataUrls(issuer: URL): readonly URL[] {
  const { origin } = issuer;
  const path = withoutTrailingSlash(issuer.pathname);
  const at = (location: string): URL => new URL(location, origin);
  if (path === "") {
    return [at("/.well-known/oauth-authorization-server"), at("/.well-known/openid-configuration")];
  }
  return [
    at(`/.well-known/oauth-authorization-server${path}`),
    at(`/.well-known/openid-configuration${path}`),
    at(`${path}/.well-known/openid-configuration`),
  ];
}

/** Whether what metadata says of a resource is about this server: its URL, or one above it. */
export function isResourceOf(resource: string, server: URL): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin, pathname, search, hash } = new URL(resource);
  if (origin !== server.origin || hash !== "" || resource.includes("#")) return false;
  const path = withoutTrailingSlash(pathname);
  const own = withoutTrailingSlash(server.pathname);
  if (search !== "") return path === own && search === server.search;
  return own === path || own.startsWith(`${path}/`);
}

/** The URL of a server as an identifier: no fragment, no trailing slash. */
export function canonicalUrl({ origin, pathname, search }: URL): string {
  return `${origin}${withoutTrailingSlash(pathname)}${search}`;
}

function withoutTrailingSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
