import { readAddress } from "./address.ts";
import { memoryStore } from "./memory-store.ts";
import { type Store, StoreError } from "./store.ts";

/** Opens the store at an address. There is only `memory:` on this platform: others reject with `unsupported`. */
export async function openStore(url: string): Promise<Store> {
  const { kind } = readAddress(url);
  if (kind === "memory") return memoryStore();
  throw new StoreError("unsupported", `${kind}: needs Node; use memory:`);
}
