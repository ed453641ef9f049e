import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";

/** Why no token could be had: `data.reason` of an `unauthorized` error. */
export type AuthFailureReason =
  | "no-authorization-server"
  | "issuer-mismatch"
  | "resource-mismatch"
  | "invalid-metadata"
  | "pkce-unsupported"
  | "dpop-unsupported"
  | "registration-unsupported"
  | "registration-refused"
  | "interaction-required"
  | "interaction-timeout"
  | "invalid-callback"
  | "denied"
  | "token-refused"
  | "subject-token-expired"
  | "invalid-token";

/** The error of a token that could not be had. Neither message nor data may have a secret in them. */
export function unauthorized(reason: AuthFailureReason, message: string, more: JsonObject = {}): McpError {
  return new McpError("unauthorized", message, { data: { reason, ...more } });
}

/** Why, when an error is about authorization. */
export function problemOf(error: unknown): string | undefined {
  if (!(error instanceof McpError) || error.code !== "unauthorized") return undefined;
  const { data } = error;
  return typeof data === "object" && data !== null && "reason" in data ? String(data.reason) : undefined;
}

/** A text of a peer, fit for a message: printable and short. Empty when it repeats one of the secrets, a token or a header. */
export function quoted(text: string, secrets: Iterable<string> = []): string {
  const told = text
    .replaceAll(/[^\x20-\x7e\xa0-\uffff]/g, " ")
    .slice(0, 200)
    .trim();
  if (told === "" || credential.test(text)) return "";
  for (const secret of secrets) if (repeats(text, secret)) return "";
  return `: ${told}`;
}

/** A JSON Web Token, or the value of an authorization header. */
const credential = /\beyJ[\w-]{8}|\b(?:basic|bearer|dpop)\s+[\w+/=.~-]{16}/i;

/** So much of a secret is one, where it was cut off. */
const BEGINNING = 12;

/** Whether a secret is in a text: as it is, or as forms, URLs and JSON write it. */
function repeats(text: string, secret: string): boolean {
  if (secret.length <= 3) return false;
  const form = toForm(secret);
  const forms = [secret, form, form.replaceAll("+", "%20"), JSON.stringify(secret).slice(1, -1)];
  return forms.some((one) => text.includes(one.slice(0, BEGINNING)));
}

/** A text as forms have it. */
export function toForm(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}
