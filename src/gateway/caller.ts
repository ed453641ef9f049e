import { isObject, type JsonObject } from "../json/json.ts";
import type { ClientInfo } from "../protocol/peer.ts";

/** Who calls a gateway, as its rules see them. */
export interface GatewayCaller {
  /** Undefined where nobody has checked who calls. */
  readonly principal: string | undefined;
  /** By what the option `groupsOf` finds in the claims. */
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  readonly claims: JsonObject;
}

/** Finds the groups of a caller in the claims of its token. */
export type GroupsOf = (claims: JsonObject) => readonly string[];

/** Who a client is to the rules. */
export function callerOf({ auth }: ClientInfo, groupsOf: GroupsOf = groupsInClaims): GatewayCaller {
  const claims = isObject(auth?.claims) ? (auth.claims as JsonObject) : {};
  return { principal: auth?.principal, groups: groupsOf(claims), scopes: auth?.scopes ?? [], claims };
}

/** The claim `groups`, as identity providers write it: a list of texts. */
function groupsInClaims({ groups }: JsonObject): readonly string[] {
  return Array.isArray(groups) ? groups.filter((group) => typeof group === "string") : [];
}
