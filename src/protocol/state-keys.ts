import { isRandomKey, randomKeyRule } from "../std/random-key.ts";
import { McpError } from "./errors.ts";

/**
 * The keys of the option, else of the environment. Undefined when there are none.
 *
 * Throws `invalid-definition` for a key of fewer than 32 random bytes: anyone with a sealed state could find a weak key
 * by trying, and then forge state.
 */
export function readStateKeys(option: readonly (string | undefined)[] | undefined): readonly string[] | undefined {
  const keys = option ?? environmentKeys();
  const weak = keys?.findIndex((key) => key === undefined || !isRandomKey(key)) ?? -1;
  if (weak < 0) return keys as readonly string[] | undefined;
  const name = option === undefined ? variable : "stateKeys";
  const missing = keys?.[weak] === undefined ? "is missing: it " : "";
  throw new McpError("invalid-definition", `key ${weak + 1} of ${name} ${missing}${randomKeyRule}`);
}

const variable = "PLUGBAY_STATE_KEYS";

/** Where the platform has an environment, keys may come from there. */
function environmentKeys(): readonly string[] | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string>> } };
  const keys = process?.env?.[variable]?.split(",").map((key) => key.trim());
  return keys?.filter((key) => key !== "");
}
