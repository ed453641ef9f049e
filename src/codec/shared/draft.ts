import type { Json } from "../../json/json.ts";

/**
 * A message in the making, on paths where every call passes.
 *
 * Its own members come first and a foreign object is spread after them: the
 * engine copies onto an object twenty times faster than it adds to a copy.
 */
export type Draft = Record<string, Json | undefined>;
