import { memoryStore } from "./memory-store.ts";
import { type Store, StoreError } from "./store.ts";

/** Opens the store at an address. There is only `memory:` on this platform: others reject with `unsupported`. */
export async function openStore(url: string): Promise<Store> {
  const { kind } = readAddress(url);
  if (kind === "memory") return memoryStore();
  throw new StoreError("unsupported", `${kind}: needs Node; use memory:`);
}

/** Where a store is. */
type StoreAddress =
  | { readonly kind: "memory" }
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "redis"; readonly url: string };

const known = "memory:, sqlite:<path>, redis://<host>, rediss://<host>, valkey://<host> or valkeys://<host>";

/** Reads the address of a store. Throws `invalid` for any other, and does not repeat it: it may have a password in it. */
export function readAddress(url: string): StoreAddress {
  const [, scheme = "", rest = ""] = /^([a-z]+):(.*)$/is.exec(url) ?? [];
  switch (scheme.toLowerCase()) {
    case "memory":
      if (rest === "" || rest === "//") return { kind: "memory" };
      throw new StoreError("invalid", "memory: has nothing after it");
    case "sqlite":
      return { kind: "sqlite", path: pathOf(rest) };
    case "redis":
    case "rediss":
      return { kind: "redis", url };
    case "valkey":
      return { kind: "redis", url: `redis:${rest}` };
    case "valkeys":
      return { kind: "redis", url: `rediss:${rest}` };
    default:
      throw new StoreError("invalid", `the address of a store is ${known}`);
  }
}

/** `sqlite:a`, `sqlite:./a`, `sqlite:/a` and `sqlite:///a`. The path is taken as it is. */
function pathOf(rest: string): string {
  const path = rest.startsWith("///") ? rest.slice(2) : rest;
  if (path !== "" && !path.startsWith("//")) return path.replace(/^\/(?=[a-z]:[\\/])/i, "");
  throw new StoreError(
    "invalid",
    "sqlite: needs the path of a file, like sqlite:./store.db or sqlite:/var/lib/store.db",
  );
}
