import type { Authenticator } from "../../src/protocol/authenticator.ts";

/** The headers of somebody with these scopes, for {@link whoeverSays}. */
export function as(principal: string, ...scopes: readonly string[]): { readonly authorization: string } {
  return { authorization: `Bearer ${[principal, ...scopes].join(" ")}` };
}

/** Takes the word of whoever sends a request for who it is and what it may. */
export const whoeverSays: Authenticator = (http) => {
  const [, said] = /^Bearer (.+)$/.exec(http.header("authorization") ?? "") ?? [];
  const [principal, ...scopes] = said?.split(" ") ?? [];
  return principal === undefined ? { ok: false, status: 401 } : { ok: true, auth: { principal, scopes } };
};
