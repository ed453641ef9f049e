import type { Channel } from "../../jsonrpc/channel.ts";
import type { Incoming } from "../../jsonrpc/message.ts";
import { type McpError, toError } from "../../model/errors.ts";
import type { Clock } from "../../std/clock.ts";
import type { Command } from "../command.ts";
import { describeExit, type ExitReport } from "./child-exit.ts";
import { commandText } from "./command.ts";
import { type LineChannelOptions, lineChannel } from "./line-channel.ts";
import { spawnProcess } from "./spawn.ts";

export interface SpawnOptions extends LineChannelOptions {
  readonly clock?: Clock;
}

/** A channel to a server that runs as our child. */
export interface ChildChannel extends Channel {
  /** Absent when the server could not be started. */
  readonly pid: number | undefined;
  /** Resolves when the server is gone, however that came about. Never rejects. */
  readonly exited: Promise<ExitReport>;
  /** The last lines of its stderr: at most 64, at most 8,192 characters. */
  stderrTail(): string;
}

/**
 * Starts a server and speaks with it over stdin and stdout.
 *
 * Never throws: a server that cannot be started, dies, or stops listening makes
 * `incoming` throw `connection-closed` with its exit code and the end of its
 * stderr. `close` closes its stdin and, a second later, ends it by force with
 * everything it started; the same happens to what a dead server leaves behind.
 */
export function spawnChannel(command: Command, options: SpawnOptions = {}): ChildChannel {
  const child = spawnProcess(command, options.clock);
  const lines = lineChannel(child.stdout, child.stdin, options);
  const batch = lines.incoming[Symbol.asyncIterator]();
  let answered = false;
  let closing: Promise<void> | undefined;

  // A server that cannot hear, or cannot speak, is of no use to anybody.
  child.stdin.on("close", child.stop);
  child.stdout.on("close", child.stop);

  const next = async (): Promise<IteratorResult<readonly Incoming[]>> => {
    const result = await batch.next();
    if (!result.done) {
      answered = true;
      return result;
    }
    const report = await child.exited;
    if (closing === undefined) throw exitError(report, command, answered);
    return result;
  };

  const close = async (): Promise<void> => {
    lines.endInput();
    await Promise.all([lines.endOutput(), child.stop()]);
  };

  return {
    incoming: { [Symbol.asyncIterator]: () => ({ next }) },
    send: lines.send,
    close() {
      closing ??= close();
      return closing;
    },
    pid: child.pid,
    exited: child.exited,
    stderrTail: child.stderrTail,
  };
}

function exitError(report: ExitReport, command: Command, answered: boolean): McpError {
  return toError({ code: "connection-closed", ...describeExit(report, { command: commandText(command), answered }) });
}
