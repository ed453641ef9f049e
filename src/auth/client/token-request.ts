import {
  type AuthorizationServer,
  allowInsecureRequests,
  type ClientAuth,
  customFetch,
  genericTokenEndpointRequest,
  processGenericTokenEndpointResponse,
  type RecognizedTokenTypes,
  type TokenEndpointResponse,
} from "oauth4webapi";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../model/errors.ts";
import type { SafeFetch } from "../safe-fetch.ts";
import { objectOf } from "../safe-fetch-body.ts";
import { type ClientIdentity, clientAuthOf } from "./client-auth.ts";
import type { DpopKey } from "./dpop.ts";
import { quoted, unauthorized } from "./problems.ts";

/** What is asked of a token endpoint. */
export interface TokenRequest {
  readonly server: AuthorizationServer;
  /** Undefined when the parameters themselves say who asks. */
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

/** Who is not named does not authenticate either. */
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
    // What is wrong with it would be told together with what is in it.
    throw new McpError("invalid-response", `${originOf(request)} did not answer with a token`);
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
  const secrets = [...secretParameters.map((name) => parameters[name] ?? ""), client?.clientSecret ?? ""];
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
