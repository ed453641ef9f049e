/** What an `Authorization` header says. The scheme is in lower case. */
export interface Authorization {
  readonly scheme: string;
  readonly credentials: string;
}

/** No credentials that are of use are longer. */
export const maxCredentials = 16_384;

const pattern = /^[\t ]*([!#$%&'*+.^_`|~\w-]{1,64})[\t ]+([A-Za-z0-9\-._~+/]+=*)[\t ]*$/;

/**
 * Reads an `Authorization` header whose credentials are one token (RFC 9110,
 * 11.4), as those of Bearer, DPoP and Basic are. Never throws. `malformed` when it
 * is something else, also when there were several.
 */
export function readAuthorization(header: string | undefined): Authorization | "absent" | "malformed" {
  if (header === undefined || header.trim() === "") return "absent";
  if (header.length > maxCredentials) return "malformed";
  const [, scheme, credentials] = pattern.exec(header) ?? [];
  if (scheme === undefined || credentials === undefined) return "malformed";
  return { scheme: scheme.toLowerCase(), credentials };
}
