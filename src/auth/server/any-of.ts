import type { Authentication, Authenticator, AuthRejection } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import type { NeededAuth } from "../../protocol/peer.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";

/**
 * Asks one authenticator after the other until one knows who it is. Credentials
 * that all of them refuse, or that none of them knows, are refused, also where
 * {@link anonymous} is the last: it is for those who bring none.
 *
 * @example
 * serveHttp(shop, { auth: anyOf(jwt({ issuer, audience }), apiKey({ keys, pepper })) });
 */
export function anyOf(...authenticators: readonly Authenticator<NeededAuth>[]): Authenticator<NeededAuth> {
  const [first] = authenticators;
  if (first === undefined) throw new McpError("invalid-definition", "anyOf: at least one authenticator is needed");

  const credentials = authenticators.flatMap(({ credentials = [] }) => credentials);
  const brings = (http: HttpRequestInfo): boolean =>
    ["authorization", ...credentials].some((name) => (http.header(name) ?? "").trim() !== "");

  const authenticate = async (http: HttpRequestInfo): Promise<Authentication<NeededAuth>> => {
    const refusals: AuthRejection[] = [];
    const failures: unknown[] = [];
    let anonymous: Authentication<NeededAuth> | undefined;
    for (const ask of authenticators) {
      try {
        const answer = await ask(http);
        if (!answer.ok) refusals.push(answer);
        else if (answer.auth !== undefined) return answer;
        else anonymous ??= answer;
      } catch (error) {
        failures.push(error);
      }
    }
    // An authenticator that failed might have known the caller.
    if (failures.length > 0) throw failures[0];
    const told = refusals.find(({ status }) => status === 403) ?? refusals.find(({ error }) => error !== undefined);
    return told ?? (brings(http) ? unknown : anonymous) ?? refusals[0] ?? { ok: false, status: 401 };
  };

  const all = authenticators.flatMap(({ schemes = [{ scheme: "Bearer" }] }) => schemes);
  return Object.assign(authenticate, {
    schemes: all.filter(({ scheme }, at) => all.findIndex((other) => other.scheme === scheme) === at),
    metadata: authenticators.find(({ metadata }) => metadata !== undefined)?.metadata,
    requiredScopes: first.requiredScopes,
    credentials,
    ...(authenticators.some(({ routes }) => routes !== undefined) && {
      routes: Object.assign({}, ...authenticators.map(({ routes }) => routes)),
    }),
  });
}

/** The header has a form or scheme that no authenticator here supports. */
const unknown: AuthRejection = {
  ok: false,
  status: 401,
  description: "the credentials are of a scheme that is not accepted here",
};

/** Lets in everybody, as nobody. After others in {@link anyOf}: who brings no credentials may do what takes no scopes. */
export function anonymous(): Authenticator<never> {
  return Object.assign((): Authentication<never> => ({ ok: true }), { schemes: [] });
}
