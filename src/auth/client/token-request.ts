import { importPKCS8 } from "jose";
import {
  type AuthorizationServer,
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretPost,
  type CryptoKey,
  customFetch,
  genericTokenEndpointRequest,
  None,
  PrivateKeyJwt,
  processGenericTokenEndpointResponse,
  type RecognizedTokenTypes,
  type TokenEndpointResponse,
} from "oauth4webapi";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { objectOf, type SafeFetch } from "../safe-fetch.ts";
import type { DpopKey } from "./dpop.ts";
import { quoted, toForm, unauthorized } from "./problems.ts";

/** What is asked of a token endpoint. */
interface TokenRequest {
  readonly server: AuthorizationServer;
  /** Undefined when the parameters themselves identify the client. */
  readonly client: ClientIdentity | undefined;
  readonly grant: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly fetch: SafeFetch;
  readonly dpop?: DpopKey | undefined;
  /** Token types to take beside `Bearer` and `DPoP`. */
  readonly tokenTypes?: RecognizedTokenTypes;
}

export type TokenAnswer = TokenEndpointResponse;

/**
 * Asks a token endpoint; once more when it wants a nonce in the proof. Rejects
 * with `unauthorized`, where `data.error` is what the endpoint calls it.
 */
export async function requestTokens(request: TokenRequest): Promise<TokenAnswer> {
  const { client, server, dpop } = request;
  const auth = client === undefined ? nameless : await clientAuthOf(client, server);
  const response = await send(request, auth);
  if (response.ok) return readTokens(response, request);
  const problem = await objectOf(response);
  if (dpop === undefined || problem?.error !== "use_dpop_nonce") throw refusal(request, response, problem);
  const second = await send(request, auth);
  if (second.ok) return readTokens(second, request);
  throw refusal(request, second, await objectOf(second));
}

/** A client without an id does not authenticate. */
const nameless: ClientAuth = () => {};

function send({ server, client, grant, parameters, fetch, dpop }: TokenRequest, auth: ClientAuth): Promise<Response> {
  const name = { client_id: client?.clientId ?? "nameless" };
  return genericTokenEndpointRequest(
    server,
    name,
    auth,
    grant,
    { ...parameters },
    {
      // Whether a URL may be asked is decided by what fetches it.
      [allowInsecureRequests]: true,
      [customFetch]: (url, { headers, body }) => fetch(url, { method: "POST", headers, body: String(body) }),
      ...(dpop !== undefined && { DPoP: dpop.handle }),
    },
  );
}

/** What is not used is not looked at: an ID token says nothing to us. */
async function readTokens(response: Response, request: TokenRequest): Promise<TokenAnswer> {
  const { id_token: _, ...answer } = (await objectOf(response)) ?? {};
  const { server, client, tokenTypes } = request;
  const plain = new Response(JSON.stringify(answer), { headers: { "content-type": "application/json" } });
  try {
    return await processGenericTokenEndpointResponse(server, { client_id: client?.clientId ?? "nameless" }, plain, {
      ...(tokenTypes !== undefined && { recognizedTokenTypes: tokenTypes }),
    });
  } catch {
    // The parser's message would contain parts of the text, so it is dropped.
    throw new McpError("invalid-response", `${originOf(request)} did not answer with a token`, { data: { ok: true } });
  }
}

/** Members of a request that others must not see, beside what is given to the client itself. */
const secretParameters: readonly string[] = [
  "assertion",
  "client_assertion",
  "code",
  "code_verifier",
  "refresh_token",
  "subject_token",
];

function refusal(request: TokenRequest, { status }: Response, problem: JsonObject | undefined): McpError {
  const { client, parameters } = request;
  const { clientId = "", clientSecret = "" } = client ?? {};
  const own = clientSecret === "" ? [] : [clientSecret, basicCredentials(clientId, clientSecret)];
  const secrets = [...secretParameters.map((name) => parameters[name] ?? ""), ...own];
  const error = typeof problem?.error === "string" && isErrorCode.test(problem.error) ? problem.error : undefined;
  const detail = typeof problem?.error_description === "string" ? quoted(problem.error_description, secrets) : "";
  const told = error === undefined ? `answered ${status}` : `refuses: ${error}${detail}`;
  return unauthorized("token-refused", `${originOf(request)} ${told}`, {
    status,
    ...(error !== undefined && { error }),
  });
}

/** What a code of an error looks like, and nothing that holds a token does. */
const isErrorCode = /^[a-z][a-z_]{0,63}$/;

function originOf({ server }: TokenRequest): string {
  return new URL(server.token_endpoint ?? server.issuer).origin;
}

/** What an endpoint called the reason for which it refused. */
export function errorCodeOf(error: unknown): string | undefined {
  if (!(error instanceof McpError)) return undefined;
  const { data } = error;
  return typeof data === "object" && data !== null && "error" in data ? String(data.error) : undefined;
}

/** Client authentication at an authorization server. */
export type ClientAuthMethod = "client_secret_basic" | "client_secret_post" | "private_key_jwt" | "none";

/** The key of a client: a PKCS #8 text in PEM with its algorithm, or a key of the platform. */
export type ClientKey =
  | CryptoKey
  | { readonly pem: string; readonly algorithm: string; readonly keyId?: string | undefined };

/** A client as an authorization server knows it. */
export interface ClientIdentity {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: ClientKey | undefined;
  /** Default: by what the authorization server says it takes. */
  readonly method?: string | undefined;
}

const methods: ReadonlySet<string> = new Set(["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]);

/** The way to authenticate at a token endpoint. Rejects with `unsupported` when there is none. */
export async function clientAuthOf(identity: ClientIdentity, server: AuthorizationServer): Promise<ClientAuth> {
  const method = methodOf(identity, server);
  const { clientSecret = "", privateKey } = identity;
  switch (method) {
    case "client_secret_basic":
      return basic(clientSecret);
    case "client_secret_post":
      return ClientSecretPost(clientSecret);
    case "private_key_jwt":
      if (privateKey === undefined)
        throw new McpError("unsupported", "the client was registered with a key it has not");
      return PrivateKeyJwt(await importKey(privateKey));
    case "none":
      return None();
    default:
      throw new McpError("unsupported", "the client was registered with a way to authenticate that is not known here");
  }
}

function basic(clientSecret: string): ClientAuth {
  return (_server, { client_id: clientId }, _body, headers) =>
    headers.set("authorization", `Basic ${basicCredentials(clientId, clientSecret)}`);
}

/** Form-encoded as RFC 6749 wants it, and no more than that: many servers do not decode what they get. */
function basicCredentials(clientId: string, clientSecret: string): string {
  return btoa(`${toForm(clientId)}:${toForm(clientSecret)}`);
}

function methodOf({ method, clientSecret, privateKey }: ClientIdentity, server: AuthorizationServer): string {
  if (method !== undefined) return methods.has(method) ? method : "unknown";
  if (privateKey !== undefined) return "private_key_jwt";
  if (clientSecret === undefined) return "none";
  // Without a list, the method is Basic (RFC 8414).
  const { token_endpoint_auth_methods_supported: listed = ["client_secret_basic"] } = server;
  return !listed.includes("client_secret_basic") && listed.includes("client_secret_post")
    ? "client_secret_post"
    : "client_secret_basic";
}

async function importKey(key: ClientKey): Promise<CryptoKey | { key: CryptoKey; kid: string }> {
  if (!("pem" in key)) return key;
  try {
    const imported = await importPKCS8(key.pem, key.algorithm);
    return key.keyId === undefined ? imported : { key: imported, kid: key.keyId };
  } catch {
    // What the platform says of it may repeat it.
    throw new McpError("invalid-params", "the private key is not a PKCS #8 key for its algorithm");
  }
}
