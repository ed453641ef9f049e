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

/** A text of a peer, fit for a message: printable, short, and without any of the secrets. */
export function quoted(text: string, secrets: Iterable<string> = []): string {
  const told = text.replaceAll(/[^\x20-\x7e\xa0-\uffff]/g, " ").slice(0, 200);
  for (const secret of secrets) if (secret.length > 3 && text.includes(secret)) return "";
  return told.trim() === "" ? "" : `: ${told.trim()}`;
}
