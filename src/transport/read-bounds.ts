import type { OptionNames } from "../protocol/option-names.ts";
import { type ChannelBounds, defaultBounds } from "./channel-bounds.ts";

/**
 * The bounds of a channel. What checks options is loaded where there is something to check. Rejects with
 * `invalid-definition` for an option that is none, and for a bound that is none.
 */
export async function readBounds<T extends object>(
  owner: string,
  options: T,
  names: OptionNames<T>,
): Promise<ChannelBounds> {
  const isPlain = Object.entries(options).every(
    ([name, value]) => value === undefined || (name in names && name !== "limits" && name !== "budgets"),
  );
  return isPlain ? defaultBounds : (await import("./to-channel-bounds.ts")).toChannelBounds(options, owner, names);
}
