import { isObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import type { AuthRoute } from "../../protocol/authenticator.ts";
import { jsonAnswer, oauthError, otherMethod, tooMany } from "./answers.ts";
import { toClient } from "./clients.ts";
import { randomText } from "./grants.ts";
import type { ProxyParts } from "./proxy-parts.ts";

/** Registers clients (RFC 7591). Whatever they ask for, they get no secret: they are told apart by where users are sent back to. */
export function registerRoute({ clients, quota, settings, now }: ProxyParts): AuthRoute {
  return async (http, body) => {
    const other = otherMethod(http.method, "POST");
    if (other !== undefined) return other;
    const parsed = parseJson(body);
    if (!parsed.ok || !isObject(parsed.value)) return oauthError(400, "invalid_client_metadata", "send a JSON object");
    const clientId = randomText(16);
    const read = toClient({ ...parsed.value, client_id: clientId }, settings.isRedirectAllowed);
    if (!read.ok) {
      const error = read.problem.includes("redirect_uris") ? "invalid_redirect_uri" : "invalid_client_metadata";
      return oauthError(400, error, read.problem);
    }
    const seconds = await quota.take("registration", http.remoteAddress);
    if (seconds !== undefined) return tooMany(seconds);
    await clients.register(read.client);
    const { name, redirectUris, refreshes } = read.client;
    return jsonAnswer(201, {
      client_id: clientId,
      client_id_issued_at: Math.floor(now() / 1_000),
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: refreshes ? ["authorization_code", "refresh_token"] : ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
  };
}
