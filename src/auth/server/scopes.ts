import type { Json, JsonObject } from "../../json/json.ts";
import { McpError } from "../../model/errors.ts";
import { isScope } from "../../model/scopes.ts";

/** Scopes that hold others, such as `{ admin: ["read", "write"] }`. */
export type ImpliedScopes = Readonly<Record<string, readonly string[]>>;

/** The scopes in the claims of a token: `scope` as one text, or `scp`, which some issuers have as a list. */
export function scopesOf({ scope, scp }: JsonObject): readonly string[] {
  return [...new Set([...readScopes(scope), ...readScopes(scp)])];
}

function readScopes(value: Json | undefined): readonly string[] {
  const texts = typeof value === "string" ? value.split(" ") : Array.isArray(value) ? value : [];
  return texts.filter(isScope);
}

/** These scopes and all that they hold. */
export function withImplied(scopes: readonly string[], implied: ImpliedScopes = {}): readonly string[] {
  const all = new Set(scopes);
  // What is added on the way is looked at in its turn.
  for (const scope of all)
    for (const held of Object.hasOwn(implied, scope) ? (implied[scope] ?? []) : []) all.add(held);
  return all.size === scopes.length ? scopes : [...all];
}

/** Throws `invalid-definition` when one of them cannot be a scope. */
export function checkScopes(owner: string, scopes: readonly string[]): void {
  const bad = scopes.find((scope) => !isScope(scope));
  if (bad === undefined) return;
  throw new McpError("invalid-definition", `${owner}: a scope must be visible ASCII without space, " and \\`);
}
