import type { AuthorizationServer } from "oauth4webapi";
import type { JsonObject } from "../../json/json.ts";
import type { McpError } from "../../protocol/errors.ts";
import { reachOfHost } from "../../std/address-reach.ts";
import { objectOf, type SafeFetch } from "../safe-fetch.ts";
import { includesAll } from "./challenge.ts";
import type { Credentials, Registration } from "./credentials.ts";
import { quoted, unauthorized } from "./problems.ts";
import type { ClientIdentity } from "./token-request.ts";

/** What a client says of itself where it registers. */
export interface ClientDescription {
  readonly clientName: string;
  readonly clientUri?: string | undefined;
}

export interface RegistrationOptions {
  /** What the client was registered as beforehand. */
  readonly client: ClientIdentity | undefined;
  /** Where the description of the client is published (a client ID metadata document). It is then its id, too. */
  readonly clientMetadataUrl: string | undefined;
  readonly description: ClientDescription;
  readonly credentials: Credentials;
  readonly fetch: SafeFetch;
  /** Milliseconds of the time of day. */
  now(): number;
}

/** The client to register, and its redirect URI. */
export interface RegistrationPlace {
  /** What the MCP server is called in the credentials. */
  readonly resource: string;
  readonly server: AuthorizationServer;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
}

/**
 * Who the client is at an authorization server: what it was registered as, else
 * its published description where such are taken, else what it registers as
 * now. Rejects with `unauthorized` when there is no way.
 */
export async function identify(place: RegistrationPlace, options: RegistrationOptions): Promise<ClientIdentity> {
  const { client, clientMetadataUrl, credentials } = options;
  const { server } = place;
  if (client !== undefined) return client;
  if (clientMetadataUrl !== undefined && server.client_id_metadata_document_supported === true) {
    return { clientId: clientMetadataUrl, method: "none" };
  }
  const known = await credentials.registration(server.issuer);
  if (known !== undefined && isUsable(known, place, options.now())) {
    await credentials.register(place.resource, server.issuer, known);
    return known;
  }
  if (server.registration_endpoint === undefined) {
    const message = `${new URL(server.issuer).origin} does not register clients: register one there by hand, and give oauth its id as client`;
    throw unauthorized("registration-unsupported", message);
  }
  const registration = await register(place, options);
  await credentials.register(place.resource, server.issuer, registration);
  return registration;
}

/** A client that was registered for some scopes has to register again for others. */
function isUsable(
  { redirectUri, secretExpiresAt, scopes }: Registration,
  place: RegistrationPlace,
  now: number,
): boolean {
  const reaches = scopes === undefined || includesAll(scopes, place.scopes);
  return redirectUri === place.redirectUri && reaches && (secretExpiresAt === undefined || secretExpiresAt > now);
}

/** Registers the client (RFC 7591): for the scopes it needs, or without a word on them where that is refused. */
async function register(place: RegistrationPlace, options: RegistrationOptions): Promise<Registration> {
  const wanted = descriptionOf(place, options.description);
  const { scopes } = place;
  const first = await send(scopes.length > 0 ? { ...wanted, scope: scopes.join(" ") } : wanted, place, options);
  const plain = first.kind === "refused" && scopes.length > 0 ? await send(wanted, place, options) : first;
  if (plain.kind === "refused") throw plain.error;
  return plain === first && scopes.length > 0 ? { ...plain.registration, scopes } : plain.registration;
}

type Registered =
  | { readonly kind: "registered"; readonly registration: Registration }
  | { readonly kind: "refused"; readonly error: McpError };

async function send(
  wanted: Description,
  { server, redirectUri }: RegistrationPlace,
  { fetch }: RegistrationOptions,
): Promise<Registered> {
  const response = await fetch(server.registration_endpoint ?? "", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(wanted),
  });
  const answer = (await objectOf(response)) ?? {};
  const { client_id: clientId, client_secret: clientSecret, client_secret_expires_at: expires } = answer;
  if (!response.ok || typeof clientId !== "string") {
    const detail = typeof answer.error === "string" ? quoted(answer.error) : "";
    const message = `${new URL(server.issuer).origin} does not register the client${detail}`;
    return { kind: "refused", error: unauthorized("registration-refused", message, { status: response.status }) };
  }
  const method = answer.token_endpoint_auth_method;
  const registration = {
    clientId,
    redirectUri,
    ...(typeof clientSecret === "string" && { clientSecret }),
    method: typeof method === "string" ? method : assumedMethod(wanted.token_endpoint_auth_method, clientSecret),
    ...(typeof expires === "number" && expires > 0 && { secretExpiresAt: expires * 1000 }),
    ...managementOf(answer, server),
  };
  return { kind: "registered", registration };
}

/** Where the registration can be deleted, if that is where it was made: nobody else gets the token for it. */
function managementOf(
  { registration_client_uri: uri, registration_access_token: token }: JsonObject,
  { registration_endpoint: endpoint = "" }: AuthorizationServer,
): Pick<Registration, "management"> {
  if (typeof uri !== "string" || typeof token !== "string" || !URL.canParse(uri)) return {};
  return new URL(uri).origin === new URL(endpoint).origin ? { management: { uri, token } } : {};
}

/** What was asked for, where the answer does not speak against it. */
function assumedMethod(asked: string, clientSecret: unknown): string {
  if (asked === "none" && typeof clientSecret === "string") return "client_secret_basic";
  return typeof clientSecret === "string" ? asked : "none";
}

type Description = Readonly<Record<string, string | readonly string[]>> & {
  readonly token_endpoint_auth_method: string;
};

function descriptionOf({ server, redirectUri }: RegistrationPlace, description: ClientDescription): Description {
  const isNative = isOfThisMachine(redirectUri);
  return {
    client_name: description.clientName,
    ...(description.clientUri !== undefined && { client_uri: description.clientUri }),
    redirect_uris: [redirectUri],
    application_type: isNative ? "native" : "web",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: chooseMethod(server, isNative),
  };
}

/** A program on a user's machine has no secrets from the user, so it wants none if it may. */
function chooseMethod(
  { token_endpoint_auth_methods_supported: listed }: AuthorizationServer,
  isNative: boolean,
): string {
  const order = ["client_secret_basic", "client_secret_post"];
  const preferred = isNative ? ["none", ...order] : [...order, "none"];
  return preferred.find((method) => listed === undefined || listed.includes(method)) ?? "client_secret_basic";
}

/** Users come back to a program: on this machine, or by a scheme of its own. */
function isOfThisMachine(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri);
  return !["http:", "https:"].includes(protocol) || reachOfHost(hostname) === "loopback";
}
