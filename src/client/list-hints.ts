import type { Cacheable } from "../protocol/methods.ts";

/** What a server says about keeping a whole list: the shortest time and the narrowest scope of its pages. */
export interface ListHints {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

/** Cache hints of a list. The list itself is an array of entries, which has no members for them. */
const known = new WeakMap<readonly object[], ListHints>();

/** The cache hints of a list as it was fetched. Undefined for a list that must not be cached. */
export function hintsOf(list: readonly object[]): ListHints | undefined {
  return known.get(list);
}

/** Remembers what the pages of a list say of themselves. */
export function withHints<L extends readonly object[]>(list: L, pages: readonly Cacheable[]): L {
  const ttlMs = Math.min(...pages.map((page) => page.ttlMs ?? 0));
  const isPublic = pages.every(({ cacheScope }) => cacheScope === "public");
  if (ttlMs > 0 && Number.isFinite(ttlMs)) known.set(list, { ttlMs, cacheScope: isPublic ? "public" : "private" });
  return list;
}
