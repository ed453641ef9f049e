import { calculatePKCECodeChallenge } from "oauth4webapi";
import type { AuthRoute, RouteAnswer } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import { digestText } from "../../std/digest.ts";
import { readScopes } from "../client/challenge.ts";
import { jsonAnswer, oauthError, openToPages, otherMethod } from "./answers.ts";
import { isResource } from "./authorize.ts";
import type { IssuedTokens } from "./grants.ts";
import { formOf, type Parameters } from "./parameters.ts";
import type { ProxyParts } from "./proxy-parts.ts";

/** Gives tokens for a code or a refresh token. */
export function tokenRoute(parts: ProxyParts): AuthRoute {
  const grants: Readonly<
    Record<string, (form: Parameters, clientId: string, parts: ProxyParts) => Promise<RouteAnswer>>
  > = {
    authorization_code: redeemCode,
    refresh_token: refresh,
  };

  return async (http, body) => {
    const other = otherMethod(http.method, "POST");
    if (other !== undefined) return other;
    const form = formOf(http, body);
    if (form === undefined) return oauthError(400, "invalid_request", "send a form in which each parameter is once");
    const type = form.get("grant_type") ?? "";
    const grant = Object.hasOwn(grants, type) ? grants[type] : undefined;
    if (grant === undefined)
      return oauthError(400, "unsupported_grant_type", "grant_type must be authorization_code or refresh_token");
    const clientId = form.get("client_id");
    if (clientId === undefined) return oauthError(400, "invalid_request", "client_id is needed in the form");
    if (!isResource(form.get("resource"), parts.settings.resource))
      return oauthError(400, "invalid_target", "resource is another server");
    // Clients that hear this register again, and do not ask their users in vain.
    if (!(await parts.clients.keep(clientId)))
      return oauthError(401, "invalid_client", "the client is not registered here, or not any more");
    return grant(form, clientId, parts);
  };
}

const USED_TTL_MS = 600_000;

/** A code is good once: for the client that it was made for, and only with its verifier. */
async function redeemCode(
  form: Parameters,
  clientId: string,
  { records, grants, settings, now }: ProxyParts,
): Promise<RouteAnswer> {
  const name = await digestText(form.get("code") ?? "");
  const found = await records.get("code", name);
  if (found === undefined) return refused("the code is not known, or has expired");
  const code = found.value;
  /** Two have the code, and one of them has stolen it: ends what was given for it, or is about to be. */
  const usedBefore = async (): Promise<RouteAnswer> => {
    await records.put("code", name, { state: "used-twice", grantId: code.grantId }, { ttlMs: USED_TTL_MS });
    await grants.end(code.grantId);
    return refused("the code was used before");
  };
  if (code.state !== "unused") return usedBefore();
  const { terms, redirectUri, challenge, grantId, expires } = code;
  const stated = form.get("redirect_uri");
  if (terms.clientId !== clientId) return refused("the code is for another client");
  if (stated !== undefined && stated !== redirectUri) return refused("redirect_uri is another one than before");
  if (expires <= now()) return refused("the code has expired");
  const verifier = form.get("code_verifier") ?? "";
  if (!/^[\w.~-]{43,128}$/.test(verifier) || (await calculatePKCECodeChallenge(verifier)) !== challenge) {
    return refused("code_verifier does not fit");
  }
  const used = { state: "used", grantId } as const;
  const isFirst = await records.put("code", name, used, { ttlMs: USED_TTL_MS, version: found.version });
  if (!isFirst) return usedBefore();
  const tokens = await grants.create(grantId, terms);
  // Who used it again before there was a grant has ended nothing.
  if ((await records.get("code", name))?.value.state !== "used") return usedBefore();
  return tokensAnswer(tokens, settings.tokenTtlMs);
}

async function refresh(form: Parameters, clientId: string, { grants, settings }: ProxyParts): Promise<RouteAnswer> {
  const scope = form.get("scope");
  try {
    const refreshed = await grants.refresh(
      form.get("refresh_token") ?? "",
      clientId,
      scope === undefined ? undefined : readScopes(scope),
    );
    if (refreshed.ok) return tokensAnswer(refreshed.tokens, settings.tokenTtlMs);
    return refused("the refresh token is not good for this, or not any more", refreshed.error);
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    const answer = oauthError(
      503,
      "temporarily_unavailable",
      `${settings.provider.name} cannot be asked; retry later`,
      {
        "retry-after": "5",
      },
    );
    return { ...answer, warning: `oauthProxy: ${error.message}` };
  }
}

function refused(description: string, error = "invalid_grant"): RouteAnswer {
  return { ...oauthError(400, error, description), refusal: "unauthorized" };
}

function tokensAnswer({ accessToken, refreshToken, scopes }: IssuedTokens, ttlMs: number): RouteAnswer {
  return jsonAnswer(200, {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: Math.floor(ttlMs / 1_000),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    scope: scopes.join(" "),
  });
}

/** Ends what a token stands for (RFC 7009). Whether there was such a token is not told. */
export function revokeRoute({ grants }: ProxyParts): AuthRoute {
  return async (http, body) => {
    const other = otherMethod(http.method, "POST");
    if (other !== undefined) return other;
    const form = formOf(http, body);
    const [token, clientId] = [form?.get("token"), form?.get("client_id")];
    if (token === undefined || clientId === undefined)
      return oauthError(400, "invalid_request", "token and client_id are needed in a form");
    await grants.revoke(token, clientId);
    return { status: 200, headers: { ...openToPages, "cache-control": "no-store" }, body: "" };
  };
}
