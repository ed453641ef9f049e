import { decodeJwt } from "jose";
import type { McpError } from "../../model/errors.ts";
import { unauthorized } from "./problems.ts";

/** The token of a user, or how to get one that has not expired. */
export type SubjectToken = string | (() => string | Promise<string>);

export const tokenExchangeType = "urn:ietf:params:oauth:grant-type:token-exchange";

const tokenTypes = {
  "access-token": "urn:ietf:params:oauth:token-type:access_token",
  "id-token": "urn:ietf:params:oauth:token-type:id_token",
  jwt: "urn:ietf:params:oauth:token-type:jwt",
  saml2: "urn:ietf:params:oauth:token-type:saml2",
} as const;

/** What kind of token a user's is. */
export type SubjectTokenType = keyof typeof tokenTypes;

/** The parameters that say whose behalf it is on. Rejects with `subject-token-expired` when the token says so itself. */
export async function subjectParameters(
  token: SubjectToken,
  type: SubjectTokenType,
  now: number,
): Promise<Readonly<Record<string, string>>> {
  const subject = typeof token === "string" ? token : await token();
  const expires = expiryOf(subject);
  if (expires !== undefined && expires * 1000 <= now) throw subjectExpired();
  return { subject_token: subject, subject_token_type: tokenTypes[type] };
}

/** The error of a user who has to sign in again where the subject token comes from. */
export function subjectExpired(): McpError {
  return unauthorized("subject-token-expired", "the token of the user has expired, or is not taken any more");
}

/** When a token expires, in seconds. Undefined when it does not tell. */
function expiryOf(token: string): number | undefined {
  try {
    return decodeJwt(token).exp;
  } catch {
    return undefined;
  }
}
