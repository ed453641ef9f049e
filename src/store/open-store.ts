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

interface Scheme {
  /** An address with this scheme, as error messages show it. */
  readonly example: string;
  /** Reads an address. `rest` is what follows the colon. */
  read(rest: string, url: string): StoreAddress;
}

/** The schemes of addresses. `docs/store.md` has a row for each. */
export const schemes: ReadonlyMap<string, Scheme> = new Map<string, Scheme>([
  ["memory", { example: "memory:", read: readMemory }],
  ["sqlite", { example: "sqlite:<path>", read: (rest) => ({ kind: "sqlite", path: pathOf(rest) }) }],
  ["redis", { example: "redis://<host>", read: (_, url) => ({ kind: "redis", url }) }],
  ["rediss", { example: "rediss://<host>", read: (_, url) => ({ kind: "redis", url }) }],
  ["valkey", { example: "valkey://<host>", read: (rest) => ({ kind: "redis", url: `redis:${rest}` }) }],
  ["valkeys", { example: "valkeys://<host>", read: (rest) => ({ kind: "redis", url: `rediss:${rest}` }) }],
]);

/** Reads the address of a store. Throws `invalid` for any other, and does not repeat it: it may have a password in it. */
export function readAddress(url: string): StoreAddress {
  const [, name = "", rest = ""] = /^([a-z]+):(.*)$/is.exec(url) ?? [];
  const scheme = schemes.get(name.toLowerCase());
  if (scheme !== undefined) return scheme.read(rest, url);
  const examples = [...schemes.values()].map(({ example }) => example);
  throw new StoreError(
    "invalid",
    `the address of a store is ${examples.slice(0, -1).join(", ")} or ${examples.at(-1)}`,
  );
}

function readMemory(rest: string): StoreAddress {
  if (rest === "" || rest === "//") return { kind: "memory" };
  throw new StoreError("invalid", "memory: has nothing after it");
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
