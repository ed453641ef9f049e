import { McpError } from "../../protocol/errors.ts";
import type { Grant } from "./record-types.ts";
import type { ProxyRecords, Records } from "./records.ts";

/** The grants in the store. */
export interface GrantRecords {
  get(id: string): Promise<{ readonly value: Grant } | undefined>;
  put(id: string, grant: Grant): Promise<void>;
  /** Writes what `change` makes of a grant as it is now. Undefined when it makes nothing of it, or the grant is gone. */
  update(id: string, change: (grant: Grant) => Grant | undefined): Promise<Grant | undefined>;
  delete(id: string): Promise<void>;
  /** Ids of the grants of a user, the oldest first; at most 100. */
  list(principal: string): Promise<readonly string[]>;
}

/** How often a change is tried that others get ahead of. */
const MAX_ATTEMPTS = 8;

export function grantRecords(records: Records<ProxyRecords>, now: () => number): GrantRecords {
  const put = (id: string, grant: Grant, version?: string): Promise<boolean> =>
    records.put("grant", id, grant, { ttlMs: Math.max(1, grant.expires - now()), version, group: grant.principal });

  return {
    get: (id) => records.get("grant", id),
    async put(id, grant) {
      await put(id, grant);
    },
    async update(id, change) {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const kept = await records.get("grant", id);
        const changed = kept && change(kept.value);
        if (kept === undefined || changed === undefined) return undefined;
        if (await put(id, changed, kept.version)) return changed;
      }
      throw new McpError("limit-reached", "the sign-in is changed by too many at the same time; retry later");
    },
    async delete(id) {
      await records.delete("grant", id);
    },
    list: (principal) => records.list("grant", principal),
  };
}
