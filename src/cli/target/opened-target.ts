import type { Client } from "../../client/client.ts";
import type { ServerEntry } from "../../config/server-entry.ts";
import type { ConnectOptions } from "../../connect/connect-options.ts";
import type { Channel } from "../../jsonrpc/channel.ts";
import type { Command } from "../../transport/command.ts";

/** A target that is connected. */
export interface OpenedTarget {
  readonly client: Client;
  /** What messages and files call it. No secret is in it. */
  readonly name: string;
  /** The tool of `server:tool`. */
  readonly tool?: string;
  /** Where it comes from a configuration file: all that the file says. */
  readonly server?: ServerEntry;
}

export interface OpenTargetOptions {
  /** Another target than that of the command: a text, or a command line. */
  readonly target?: string | readonly string[] | undefined;
  /** Opens the channel to a program, for who looks at what goes over it. Default: what `connect` does. */
  readonly openChannel?: ((command: Command) => Channel) | undefined;
  /** Configuration files to look for its name in, instead of those of `--config` and of all programs. */
  readonly files?: readonly string[] | undefined;
  /** For `connect`, over what the context would say. A command that gives any has a connection of its own, so it refuses `--warm`. */
  readonly connect?: ConnectOptions | undefined;
}
