import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../../scripts/secrets.mjs";

/** Anything shorter might be part of something else. */
const MIN_LENGTH = 16;

/**
 * Notes a secret that a test has learned, so that the end of the run can make
 * sure that it is in no log. What is no text, or a short one, is left out.
 */
export function recordSecret(kind: string, text: unknown): void {
  if (typeof text !== "string" || text.length < MIN_LENGTH) return;
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify({ kind, text })}\n`);
}

/** Notes those fields of a request or an answer that are secret. */
export function recordSecrets(fields: unknown): void {
  if (typeof fields !== "object" || fields === null) return;
  for (const [name, text] of Object.entries(fields)) {
    const kind = kinds[name];
    if (kind !== undefined) recordSecret(kind, text);
  }
}

const kinds: Readonly<Record<string, string>> = {
  access_token: "access token",
  refresh_token: "refresh token",
  id_token: "ID token",
  code: "authorization code",
  code_verifier: "code verifier",
  client_secret: "client secret",
  client_assertion: "client assertion",
  registration_access_token: "registration access token",
};
