import type { ConfigInput } from "../../config/inputs.ts";
import type { ServerEntry } from "../../config/server-entry.ts";
import type { ConfigEntry } from "../../connect/target.ts";
import type { CommandContext } from "../command.ts";

/** A target that was found: what `connect` takes, and what is known of it. */
export interface ResolvedTarget {
  readonly entry: ConfigEntry;
  /** What messages and files call it. No secret is in it. */
  readonly name: string;
  /** The tool of `server:tool`. */
  readonly tool?: string;
  /** True for a file that exports a server. */
  readonly isFile?: true;
  /** Where it comes from a configuration file: all that the file says. */
  readonly server?: ServerEntry;
}

/** What finding a target takes. */
export interface ResolveContext extends Pick<CommandContext, "env" | "cwd"> {
  /** Files to look for names in, instead of all. */
  readonly files: readonly string[];
  /** Asks for a value that a file needs. Undefined: nobody can be asked. */
  readonly onInput?: ((input: ConfigInput) => Promise<string | undefined>) | undefined;
}
