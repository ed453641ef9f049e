import { revisions } from "../../protocol/revision.ts";
import type { OptionOf } from "../command.ts";

/** What every command with a target understands besides. */
export const targetOptions: TargetOptions = {
  config: { type: "texts", short: "c", value: "file", meaning: "look for names in this file only; may be repeated" },
  header: { type: "texts", short: "H", value: "name: value", meaning: "send this header to a URL; may be repeated" },
  env: {
    type: "texts",
    short: "e",
    value: "NAME=value",
    meaning: "set this variable for a program; NAME alone passes ours on",
  },
  timeout: { type: "duration", short: "t", value: "time", meaning: "how long a call may be silent, such as 30s" },
  "connect-timeout": { type: "duration", value: "time", meaning: "how long connecting may take, such as 10s" },
  revision: { type: "text", value: "revision", meaning: "speak this revision of the protocol", choices: revisions },
  tokens: { type: "text", value: "place", meaning: "where sign-ins are kept", choices: ["keychain", "file"] },
  warm: { type: "flag", meaning: "keep the server up for the next command; PLUGBAY_WARM=1 does the same" },
  idle: {
    type: "duration",
    value: "time",
    meaning: "with --warm: end the server when it was not used so long; default 10m",
  },
  verbose: { type: "flag", short: "v", meaning: "show the stderr of a program, and warnings" },
};

type TargetOptions = {
  readonly [K in "config" | "header" | "env"]: OptionOf<"texts">;
} & { readonly [K in "timeout" | "connect-timeout" | "idle"]: OptionOf<"duration"> } & {
  readonly [K in "revision" | "tokens"]: OptionOf<"text">;
} & { readonly [K in "warm" | "verbose"]: OptionOf<"flag"> };
