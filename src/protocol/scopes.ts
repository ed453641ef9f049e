import type { Auth } from "./peer.ts";

/** Whether a caller has all of these scopes. An anonymous caller has none. */
export function hasScopes(auth: Pick<Auth, "scopes"> | undefined, wanted: readonly string[]): boolean {
  if (wanted.length === 0) return true;
  const { scopes = [] } = auth ?? {};
  return wanted.every((scope) => scopes.includes(scope));
}

/** Whether a text can be a scope (RFC 6749, 3.3): visible ASCII without `"` and `\`. */
export function isScope(text: unknown): text is string {
  return typeof text === "string" && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}
