import { type AuthorizationServer, allowInsecureRequests, customFetch, type TokenEndpointResponse } from "oauth4webapi";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { unauthorized } from "../client/problems.ts";
import type { SafeFetch } from "../safe-fetch.ts";
import type { IdentityProviderPreset } from "./provider.ts";

/** Tokens of the provider. They never leave this server. */
export type UpstreamTokens = {
  readonly accessToken: string;
  /** Absent where the provider gave none. */
  readonly refreshToken?: string;
  /** In ms of the time of day. Absent where the provider does not say that it ends. */
  readonly expires?: number;
};

/** What is different from one kind of provider to another. */
export interface ProviderAdapter {
  discover(): Promise<AuthorizationServer>;
  /** Parameters of the URL where users sign in. */
  parametersFor(server: AuthorizationServer, nonce: string): Readonly<Record<string, string>>;
  /** Reads the response of the token endpoint to the code of a user. */
  readSignIn(server: AuthorizationServer, response: Response, nonce: string): Promise<ReadSignIn>;
  check(tokens: UpstreamTokens): Promise<void>;
}

export interface ReadSignIn {
  readonly answer: TokenEndpointResponse;
  readonly issuer: string;
  readonly claims: JsonObject;
}

/** How requests of `oauth4webapi` are sent. */
export interface Sending {
  readonly [allowInsecureRequests]: true;
  readonly [customFetch]: (url: string, options: SentRequest) => Promise<Response>;
}

interface SentRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** Whether a URL may be asked is decided by what fetches it. */
export function sendingBy(fetch: SafeFetch): Sending {
  return {
    [allowInsecureRequests]: true,
    [customFetch]: (url, { method, headers, body }) =>
      method === "POST" ? fetch(url, { method, headers, body: String(body) }) : fetch(url, { headers }),
  };
}

/** The error of tokens that the provider takes no more. */
export function signInEnded({ name }: IdentityProviderPreset): McpError {
  return unauthorized("token-refused", `${name} has ended the sign-in of this user; sign in again`);
}

export function unclear({ name }: IdentityProviderPreset, problem: string): McpError {
  return new McpError("invalid-response", `${name} ${problem}`);
}
