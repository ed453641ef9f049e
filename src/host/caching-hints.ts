import type { Cacheable } from "../protocol/methods.ts";
import type { CallOf } from "../protocol/service.ts";
import type { Listing } from "./host-tool.ts";
import type { ServerSlots } from "./host-view.ts";
import type { OwnConnections } from "./own-connections.ts";
import type { ListKind } from "./server-slot.ts";

interface CachingHintsOptions {
  readonly slots: ServerSlots;
  readonly own: OwnConnections | undefined;
}

/**
 * How long a list of a view may be kept, and by whom: the shortest time that its servers say, and `public` where all say so
 * and nothing depends on who asks. A list with a part missing is not to be kept.
 */
export async function withListHints<P extends Cacheable>(
  page: P,
  { kind, call, listing }: { readonly kind: ListKind; readonly call: CallOf; readonly listing: Listing<unknown> },
  { slots, own }: CachingHintsOptions,
): Promise<P> {
  if (listing.missing.length > 0) return page;
  let ttlMs = maxTtlMs;
  let isPublic = call.peer.auth === undefined;
  for (const shared of slots.values()) {
    const slot = own === undefined ? shared : await own.listsOf(shared, call);
    const { hints } = slot[kind];
    if (hints === undefined) return page;
    ttlMs = Math.min(ttlMs, hints.ttlMs);
    isPublic &&= slot === shared && hints.cacheScope === "public";
  }
  return { ...page, ttlMs, cacheScope: isPublic ? "public" : "private" };
}

/** Servers come and go: what the others say of their lists says nothing of that. */
const maxTtlMs = 60_000;

/** What was read of a resource, for one caller alone where the caller is known: another one may not be allowed to. */
export function withReadScope<R extends Cacheable>(result: R, { peer }: CallOf): R {
  return peer.auth === undefined || result.cacheScope !== "public" ? result : { ...result, cacheScope: "private" };
}
