import { shortHash } from "../short-hash.ts";

const prefix = "plugbay_";

/** An id for a call that came without one: the same for the same call in the same response. */
export function makeId(...facts: readonly string[]): string {
  return prefix + shortHash(JSON.stringify(facts));
}

export function isMadeId(id: string): boolean {
  return id.startsWith(prefix);
}
