import type { Channel } from "../../jsonrpc/channel.ts";
import type { Incoming } from "../../jsonrpc/message.ts";
import type { Connection, Opening } from "../../protocol/connection.ts";
import { McpError, toError } from "../../protocol/errors.ts";
import { type Era, eraOf } from "../../protocol/revision.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { holding } from "../../std/hold.ts";
import type { Command } from "../command.ts";
import { createRemembered, modernCodes, type NegotiateOptions } from "../negotiate.ts";
import { openChannel } from "../open-channel.ts";
import { maskError } from "../send-call.ts";
import { type LineChannelOptions, lineChannel } from "./line-channel.ts";
import { commandMask, commandText } from "./program.ts";
import { createReplyLimits } from "./reply-limits.ts";
import { describeExit, type ExitContext, type ExitReport, spawnProcess, strayOutput } from "./spawn.ts";

export interface SpawnOptions extends LineChannelOptions {
  readonly clock?: Clock;
  /** Called once when the server wrote something else than messages to stdout. */
  onStray?(): void;
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
  const replies = createReplyLimits();
  const lines = lineChannel(child.stdout, child.stdin, options, replies.parse);
  const batch = lines.incoming[Symbol.asyncIterator]();
  let answered = false;
  let strayed = false;
  let closing: Promise<void> | undefined;

  // A server without stdin or stdout cannot be used.
  child.stdin.on("close", child.stop);
  child.stdout.on("close", child.stop);

  const note = (batch: readonly Incoming[]): void => {
    answered = batch.some(({ kind }) => kind !== "malformed");
    if (strayed || batch.every(({ kind }) => kind !== "malformed")) return;
    strayed = true;
    options.onStray?.();
  };

  const next = async (): Promise<IteratorResult<readonly Incoming[]>> => {
    const result = await batch.next();
    if (!result.done) {
      if (!answered) note(result.value);
      return result;
    }
    const report = await child.exited;
    if (closing === undefined) throw exitError(report, command, { answered, strayed });
    return result;
  };

  const close = async (): Promise<void> => {
    lines.endInput();
    await Promise.all([lines.endOutput(), child.stop()]);
  };

  return {
    incoming: { [Symbol.asyncIterator]: () => ({ next }) },
    send(message) {
      replies.sent(message);
      return lines.send(message);
    },
    unsent: () => lines.unsent?.() ?? [],
    close() {
      closing ??= holding(options.clock ?? systemClock, close());
      return closing;
    },
    pid: child.pid,
    exited: child.exited,
    stderrTail: child.stderrTail,
    mask: (error) => maskError(error, commandMask(command)),
  };
}

function exitError(report: ExitReport, command: Command, facts: Omit<ExitContext, "command">): McpError {
  const described = describeExit(report, { command: commandText(command), ...facts });
  // Without its control characters, the text may have a secret that it had not before.
  return toError({ code: "connection-closed", ...described, message: commandMask(command)(described.message) });
}

type CommandOptions = Pick<NegotiateOptions, "probeMs"> & LineChannelOptions;

/** What commands spoke when they were last started by this process. */
const eras = createRemembered<Era>();

/**
 * Starts a server as a child process and connects to it. The child ends with the connection.
 *
 * Some servers exit, or refuse `initialize`, after a first request that they do not know. When the probe of one era fails, a
 * new process is asked in the other era first, once; the era that worked is remembered.
 */
export async function openCommand(command: Command, opening: Opening, options: CommandOptions): Promise<Connection> {
  const key = JSON.stringify([command.command, command.args ?? [], command.cwd ?? ""]);
  // What was pinned says nothing of what the server would rather speak.
  if (opening.revision !== undefined) return connectionOf(await start(command, told(opening, command, ""), options));
  const era = eras.get(key) ?? opening.era ?? "modern";
  const first = await start(command, told(opening, command, ""), { ...options, era });
  const last = mayTakeOther(first, era, opening)
    ? await start(command, told(opening, command, " in a new process"), {
        ...options,
        era: era === "legacy" ? "modern" : "legacy",
      })
    : first;
  if (last.ok) eras.set(key, eraOf(last.connection.revision));
  else eras.delete(key);
  return connectionOf(last);
}

type Started =
  | { readonly ok: true; readonly connection: Connection }
  /** `ran` is false for a program that could not be started. */
  | { readonly ok: false; readonly error: unknown; readonly ran: boolean };

async function start(
  command: Command,
  opening: Opening,
  options: CommandOptions & Pick<NegotiateOptions, "era">,
): Promise<Started> {
  let answered: ((answer: string) => void) | undefined;
  const { trying } = opening;
  const noted: Opening = { ...opening, ...(trying && { trying: (what) => (answered = trying(what)) }) };
  const onStray = (): void => answered?.(`no answer; ${strayOutput}`);
  const channel = spawnChannel(command, { ...options, clock: opening.clock, onStray });
  try {
    const connection = await openChannel(channel, noted, options);
    return { ok: true, connection: channel.pid === undefined ? connection : { ...connection, pid: channel.pid } };
  } catch (error) {
    return { ok: false, error, ran: channel.pid !== undefined };
  }
}

function connectionOf(started: Started): Connection {
  if (started.ok) return started.connection;
  throw started.error;
}

/** Whether a new process might take the other opening. One that refuses as only modern servers do would not. */
function mayTakeOther(first: Started, era: Era, { signal }: Opening): boolean {
  if (first.ok || !first.ran || signal?.aborted === true) return false;
  const { error } = first;
  return era === "legacy" || !(error instanceof McpError && modernCodes.has(error.code));
}

/** Names the openings that a process was tried with, and its answers without the command: all of them are about the same. */
function told(opening: Opening, command: Command, where: string): Opening {
  const { trying } = opening;
  if (trying === undefined) return opening;
  const subject = `server "${commandText(command)}" `;
  return {
    ...opening,
    trying(what) {
      const answered = trying(`${what}${where}`);
      return (answer) => answered(answer.replace(subject, ""));
    },
  };
}
