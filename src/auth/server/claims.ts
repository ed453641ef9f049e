import type { Json, JsonObject } from "../../json/json.ts";
import type { Authentication, AuthRejection } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Auth, KnownClaims } from "../../protocol/peer.ts";
import { isScope } from "../../protocol/scopes.ts";
import type { AnySchema, InferOut } from "../../schema/infer.ts";
import { checkStandard, isStandardSchema } from "../../schema/standard-schema.ts";
import { toValidator } from "../../schema/to-validator.ts";
import type { Checked, Issue, Validator } from "../../schema/validator.ts";

/** A schema for claims, or none. */
export type ClaimsSchema = AnySchema | undefined;

/** Somebody whose claims `S` has checked. Without a schema they are as they came. */
export type CheckedAuth<S extends ClaimsSchema, Came = JsonObject> = Auth<S extends AnySchema ? InferOut<S> : Came>;

/** What somebody has to give who is trusted with claims, unless `S` checks them. */
export type GivenClaims<S extends ClaimsSchema> = S extends AnySchema ? JsonObject : KnownClaims;

/**
 * Looks at the claims of somebody who is known, and puts what the schema makes of
 * them in their place. Rejects when that cannot be used, whoever it is.
 */
export type CheckClaims<A> = (auth: Auth<JsonObject>) => Promise<Authentication<A>>;

/** Throws `invalid-definition` when the schema is not usable. `owner` is for messages: `jwt`. */
export function createClaimsCheck<S extends ClaimsSchema>(
  owner: string,
  schema: S | undefined,
): CheckClaims<CheckedAuth<S>> {
  const check = schema === undefined ? undefined : toCheck(owner, schema);

  const judge: CheckClaims<Auth<JsonObject>> = async (auth) => {
    if (check === undefined) return { ok: true, auth };
    const { principal, scopes, claims = {} } = auth;
    const checked = await check(claims);
    if (!checked.ok) return misfit(owner, checked.issues);
    if (!isJsonObject(checked.value)) throw bad(owner, "must make a JSON object of claims, as tasks are kept as JSON");
    return { ok: true, auth: { principal, ...(scopes !== undefined && { scopes }), claims: checked.value } };
  };
  // What a schema returns is what it says it does.
  return judge as CheckClaims<CheckedAuth<S>>;
}

type Check = (claims: JsonObject) => Promise<Checked>;

/** A Standard Schema need not be able to convert itself: nobody gets to see it. */
function toCheck(owner: string, schema: AnySchema): Check {
  if (isStandardSchema(schema)) {
    return async (claims) => {
      const checked = await checkStandard(schema, claims);
      return checked.ok ? checked : { ok: false, issues: checked.issues.map(withoutValue) };
    };
  }
  const read = toValidator(schema);
  if (!read.ok) throw bad(owner, `is not a usable schema: ${read.problem}`);
  return plainCheck(owner, read.value);
}

/** A schema that turns out to be unusable refuses nobody: it is not their fault. */
function plainCheck(owner: string, validator: Validator): Check {
  let flaw: Promise<string | undefined> | undefined;
  return async (claims) => {
    flaw ??= Promise.resolve(validator.prove?.());
    const problem = await flaw;
    if (problem !== undefined) throw bad(owner, `is not a usable schema: ${problem}`);
    return validator.check(claims);
  };
}

/** Messages of other libraries may repeat what they are about. */
function withoutValue({ path, keyword }: Issue): Issue {
  return { path, keyword, message: `is refused by the schema (${keyword})` };
}

/** Clients are not told what would have been right, which is for whoever runs the server. */
function misfit(owner: string, issues: readonly Issue[]): AuthRejection {
  const what = issues.map(({ path, message }) => `${path === "" ? "they" : path} ${message}`).join("; ");
  return {
    ok: false,
    status: 401,
    error: "invalid_token",
    description: "the claims are not those that this server needs",
    warning: `${owner}: claims do not fit: ${printable(what)}`,
  };
}

const MAX_TEXT = 500;

/** Names in claims are those of somebody else: they must not look like lines of their own. */
function printable(text: string): string {
  const clean = text.replaceAll(/\p{C}/gu, "?");
  return clean.length > MAX_TEXT ? `${clean.slice(0, MAX_TEXT)}…` : clean;
}

const MAX_DEPTH = 64;

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && isJson(value, MAX_DEPTH);
}

/** Whether a value is the same after it was written and read. */
function isJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth - 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((member) => member === undefined || isJson(member, depth - 1));
}

function bad(owner: string, problem: string): McpError {
  return new McpError("invalid-definition", `${owner}: claims ${problem}`);
}

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
