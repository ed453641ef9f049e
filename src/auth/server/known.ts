import type { JsonObject } from "../../json/json.ts";
import type { Authentication } from "../../model/authenticator.ts";
import { McpError } from "../../model/errors.ts";
import type { Auth } from "../../model/peer.ts";
import { hasScopes } from "../../model/scopes.ts";
import { checkScopes } from "./scopes.ts";
import { lacking } from "./tokens.ts";

/** Somebody who is known by a secret, of which only a hash is kept. */
export type KnownSecret =
  | string
  | {
      readonly hash: string;
      /** Default: the name it is listed by. */
      readonly principal?: string;
      readonly scopes?: readonly string[];
      readonly claims?: JsonObject;
    };

/** One of those who are known. */
export interface Known {
  readonly name: string;
  readonly hash: string;
  readonly auth: Auth;
}

/** Reads a list by name. Throws `invalid-definition`, without repeating what may be a secret. */
export function readKnown(owner: string, list: Readonly<Record<string, KnownSecret>>): readonly Known[] {
  return Object.entries(list).map(([name, secret]) => {
    const { hash, principal = name, scopes = [], claims } = typeof secret === "string" ? { hash: secret } : secret;
    if (typeof hash !== "string") throw new McpError("invalid-definition", `${owner} ${name}: hash must be a text`);
    checkScopes(`${owner} ${name}`, scopes);
    return { name, hash, auth: { principal, scopes, ...(claims !== undefined && { claims }) } };
  });
}

/** Lets in who has the scopes. */
export function admit(auth: Auth, requiredScopes: readonly string[], scheme: string): Authentication {
  return hasScopes(auth, requiredScopes) ? { ok: true, auth } : lacking(requiredScopes, scheme);
}
