import type { AuthorizationServer } from "oauth4webapi";
import type { McpError } from "../../model/errors.ts";
import type { SafeFetch } from "../safe-fetch.ts";
import type { TokenChallenge } from "./challenge.ts";
import { asObject, type Found, fetchMetadata } from "./fetch-metadata.ts";
import { unauthorized } from "./problems.ts";
import { canonicalUrl, isResourceOf, resourceMetadataUrls, serverMetadataUrls } from "./well-known.ts";

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
  if (issuer === undefined || !issuers.includes(issuer)) throw otherIssuer(server);
  return { resource, issuer, metadata: await findIssuer(issuer, options.fetch), scopesSupported };
}

function otherIssuer({ origin }: URL): McpError {
  return unauthorized("issuer-mismatch", `${origin} does not take tokens of the issuer that knows the client`);
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
  if (!URL.canParse(issuer)) throw unauthorized("invalid-metadata", "the issuer is no URL");
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
  if (required !== undefined && required !== issuer) throw otherIssuer(server);
  if (found.kind === "missing" && old === "with-metadata") {
    throw unauthorized("no-authorization-server", `${origin} has no metadata`);
  }
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
  if (broken !== undefined) throw unauthorized("invalid-metadata", `${broken} of the authorization server is no list`);
  const { token_endpoint: endpoint } = document;
  if (typeof endpoint !== "string" || !URL.canParse(endpoint)) {
    throw unauthorized("invalid-metadata", "the authorization server has no token endpoint");
  }
  return asObject<AuthorizationServer>(document);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
