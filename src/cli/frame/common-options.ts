import type { OptionOf } from "../command.ts";

/** What every command understands. */
export const commonOptions: CommonOptions = {
  json: { type: "flag", meaning: "write JSON to stdout, also for errors" },
  "no-input": { type: "flag", meaning: "never ask, also on a terminal" },
  "no-color": { type: "flag", meaning: "write no colours; NO_COLOR does the same" },
  help: { type: "flag", short: "h", meaning: "show this help" },
};

/** What `plugbay` understands without a command. */
export const ownOptions: CommonOptions & { readonly version: OptionOf<"flag"> } = {
  ...commonOptions,
  version: { type: "flag", short: "V", meaning: "show the version" },
};

type CommonOptions = { readonly [K in "json" | "no-input" | "no-color" | "help"]: OptionOf<"flag"> };
