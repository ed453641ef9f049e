import type { AuthorizationServer } from "oauth4webapi";
import { equalsInConstantTime } from "./digest.ts";
import { quoted, unauthorized } from "./problems.ts";

/** What was noted down when a user was sent away. */
export interface Expected {
  readonly server: AuthorizationServer;
  readonly state: string;
  readonly redirectUri: string;
}

/**
 * The code that a user brought back. Throws `unauthorized` unless everything is
 * as it was noted down; what the answer says is used only after its issuer was
 * checked (RFC 9207).
 */
export function readCallback(callback: string | URL, { server, state, redirectUri }: Expected): string {
  const url = URL.canParse(String(callback), redirectUri) ? new URL(String(callback), redirectUri) : undefined;
  if (url === undefined || withoutQuery(url) !== withoutQuery(new URL(redirectUri))) {
    throw unauthorized("invalid-callback", "the user came back to another place");
  }
  const only = (name: string): string | undefined => {
    const values = url.searchParams.getAll(name);
    if (values.length > 1) throw unauthorized("invalid-callback", `the user came back with more than one ${name}`);
    return values[0];
  };
  if (!equalsInConstantTime(only("state") ?? "", state)) {
    throw unauthorized("invalid-callback", "the user came back with another state");
  }
  checkIssuer(only("iss"), server);
  const error = only("error");
  if (error !== undefined) throw refused(error, only("error_description"), server);
  const code = only("code");
  if (code === undefined || code === "") throw unauthorized("invalid-callback", "the user came back without a code");
  return code;
}

function withoutQuery({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`;
}

/** Texts are compared as they are: nothing is normalized. */
function checkIssuer(iss: string | undefined, server: AuthorizationServer): void {
  if (iss === undefined && server.authorization_response_iss_parameter_supported !== true) return;
  if (iss !== server.issuer) throw unauthorized("issuer-mismatch", "the user came back from another issuer");
}

function refused(error: string, description: string | undefined, { issuer }: AuthorizationServer) {
  const reason = error === "access_denied" ? "denied" : "token-refused";
  const detail = description === undefined ? "" : quoted(description);
  return unauthorized(reason, `${new URL(issuer).origin} refuses${quoted(error)}${detail}`);
}
