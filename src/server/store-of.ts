import type { Clock } from "../std/clock.ts";
import { memoryStore } from "../store/memory-store.ts";
import { scopedStore } from "../store/scoped-store.ts";
import type { Store } from "../store/store.ts";

/** The store of a server: its part of the store that was given, else memory of its own. */
export async function storeOf(
  given: Store | Promise<Store> | undefined,
  audience: string,
  clock: Clock,
): Promise<Store> {
  return given === undefined ? memoryStore({ clock }) : scopedStore(await given, audience);
}
