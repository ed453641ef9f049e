import { McpError } from "../protocol/errors.ts";
import { clientLimits } from "../protocol/limits.ts";
import { toLimits } from "../protocol/to-limits.ts";
import type { Command } from "../transport/command.ts";
import { type Connect, createConnect, createDial, type Dial, type Platform } from "./create-connect.ts";

export type { ConnectOptions } from "./connect-options.ts";
export { connectBy } from "./create-connect.ts";

/** What Node has to offer for connecting. Documents and modules take a server, which programs that only connect do not carry. */
export const nodePlatform: Platform = {
  // The code for child processes and for sockets is loaded on first use.
  async openCommand(command, opening, { probeMs, limits }) {
    const { openCommand } = await import("../transport/node/spawn-channel.ts");
    return openCommand(command, opening, {
      ...(probeMs !== undefined && { probeMs }),
      limits: toLimits(limits, clientLimits, "connect"),
    });
  },
  async openEntry({ type }) {
    const make = type === "openapi" ? "openApi" : "serverFromModule";
    const remedy = `give connect a server, as ${make} of plugbay/gateway makes it, or use openHost`;
    throw new McpError("unsupported", `connect does not read entries of the type ${type}: ${remedy}`);
  },
  async sendTo({ protocol }, guard) {
    const { nodeSend } = await import("../transport/node/http-send.ts");
    return nodeSend(protocol, guard);
  },
};

/**
 * Connects to a server and returns a client for it.
 *
 * The era is detected, and the client is the same for all eras. Give the type of a server to have its tools typed:
 * `connect<typeof shop>("node shop.js")`; a server given as a value brings its types along.
 */
export const connect: Connect = createConnect(nodePlatform);

/** What {@link connect} stands on. */
export const dial: Dial = createDial(nodePlatform);

/** The file that a command starts, and its folder: what a user approves before it is started. */
export async function locate(command: Command): Promise<{ path?: string; file?: string; cwd: string }> {
  const { findProgram } = await import("../transport/node/program.ts");
  return findProgram(command);
}
