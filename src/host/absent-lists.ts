import type { Listing } from "./host-tool.ts";
import type { ServerSlots } from "./host-view.ts";
import type { ServerSlot } from "./server-slot.ts";

/** Something that a server lists. */
interface Owned {
  readonly server: string;
}

/** The entries of a list, with those that servers had which are missing from it now, in the order of the servers. */
export function withAbsent<T extends Owned>(
  slots: ServerSlots,
  listing: Listing<T>,
  lastOf: (slot: ServerSlot) => readonly T[],
): readonly T[] {
  if (listing.missing.length === 0) return listing;
  const absent = new Set(listing.missing.map(({ server }) => server));
  return [...slots.values()].flatMap((slot) =>
    absent.has(slot.name) ? lastOf(slot) : listing.filter(({ server }) => server === slot.name),
  );
}
