import { McpError } from "../model/errors.ts";
import type { Root } from "../model/input.ts";

/** The places a client lets its server look at. A reader sees one whole list, old or new. */
export interface Roots {
  /** Undefined when there never was a list. */
  readonly list: (() => Promise<readonly Root[]>) | undefined;
  replace(roots: readonly Root[]): void;
}

export function createRoots(
  source: readonly Root[] | (() => readonly Root[] | Promise<readonly Root[]>) | undefined,
): Roots {
  let current = typeof source === "object" ? checked(source) : source;

  return {
    get list() {
      const now = current;
      if (now === undefined) return undefined;
      return async () => (typeof now === "function" ? checked(await now()) : now);
    },
    replace(roots) {
      current = checked(roots);
    },
  };
}

/** A copy that nobody can change. Throws `invalid-params` for anything but `file://`. */
function checked(roots: readonly Root[]): readonly Root[] {
  for (const { uri } of roots) {
    if (!uri.startsWith("file://")) throw new McpError("invalid-params", `root ${uri} must start with file://`);
  }
  return Object.freeze([...roots]);
}
