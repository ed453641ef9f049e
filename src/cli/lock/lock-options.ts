import type { OptionOf } from "../command.ts";
import { targetOptions } from "../target/target-options.ts";

/** What the commands about locks have in common. */
export const lockOptions: LockOptions = {
  file: { type: "text", short: "f", value: "file", meaning: "the lock file; default plugbay.lock" },
  config: targetOptions.config,
};

type LockOptions = { readonly file: OptionOf<"text">; readonly config: OptionOf<"texts"> };
