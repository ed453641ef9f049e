import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../model/errors.ts";
import type { Auth, KnownClaims } from "../../model/peer.ts";
import { checkScopes } from "./scopes.ts";

/** Somebody who is known by a secret, of which only a hash is kept. The hash will do where no claims are needed. */
export type KnownSecret<C = KnownClaims> =
  | (Omit<Auth<C>, "principal"> & {
      readonly hash: string;
      /** Default: the name it is listed by. */
      readonly principal?: string;
    })
  | (Record<never, never> extends C ? string : never);

/** One of those who are known. */
export interface Known {
  readonly name: string;
  readonly hash: string;
  readonly auth: Auth<JsonObject>;
}

/** Reads a list by name. Throws `invalid-definition`, without repeating what may be a secret. */
export function readKnown(owner: string, list: Readonly<Record<string, KnownSecret<JsonObject>>>): readonly Known[] {
  return Object.entries(list).map(([name, secret]) => {
    const { hash, principal = name, scopes = [], claims } = typeof secret === "string" ? { hash: secret } : secret;
    if (typeof hash !== "string") throw new McpError("invalid-definition", `${owner} ${name}: hash must be a text`);
    checkScopes(`${owner} ${name}`, scopes);
    return { name, hash, auth: { principal, scopes, ...(claims !== undefined && { claims }) } };
  });
}
