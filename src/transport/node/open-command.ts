import type { Connection, Opening } from "../../model/connection.ts";
import { type Era, eraOf } from "../../model/revision.ts";
import type { Command } from "../command.ts";
import type { NegotiateOptions } from "../negotiate.ts";
import { openChannel } from "../open-channel.ts";
import type { LineChannelOptions } from "./line-channel.ts";
import { spawnChannel } from "./stdio-client.ts";

export type CommandOptions = Pick<NegotiateOptions, "probeMs"> & LineChannelOptions;

/** What commands spoke when they were last started by this process. */
const eras = new Map<string, Era>();

/** Starts a server as a child process and connects to it. The child ends with the connection. */
export async function openCommand(command: Command, opening: Opening, options: CommandOptions): Promise<Connection> {
  const key = JSON.stringify([command.command, command.args ?? [], command.cwd ?? ""]);
  const era = opening.revision === undefined ? (eras.get(key) ?? opening.era) : undefined;
  try {
    const channel = spawnChannel(command, { ...options, clock: opening.clock });
    const connection = await openChannel(channel, opening, { ...options, era });
    // What was pinned says nothing of what the server would rather speak.
    if (opening.revision === undefined) eras.set(key, eraOf(connection.revision));
    return connection;
  } catch (error) {
    eras.delete(key);
    if (era !== "legacy" || opening.signal?.aborted) throw error;
    return openCommand(command, { ...opening, era: "modern" }, options);
  }
}
