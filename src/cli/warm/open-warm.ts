import type { Socket } from "node:net";
import type { Client } from "../../client/client.ts";
import { connectBy } from "../../connect/connect.ts";
import type { ConnectOptions } from "../../connect/connect-options.ts";
import type { Connection, Opening } from "../../protocol/connection.ts";
import { McpError } from "../../protocol/errors.ts";
import { ownInfo } from "../../protocol/own-info.ts";
import { isRevision } from "../../protocol/revision.ts";
import type { CommandContext, OptionValues } from "../command.ts";
import type { ResolvedTarget } from "../target/resolved-target.ts";
import type { targetOptions } from "../target/target-options.ts";
import { UsageError } from "../usage-error.ts";
import type { OpenParams, WarmTarget } from "./messages.ts";
import { graceMs, openRemote, type RemoteHooks } from "./remote-connection.ts";
import { startBackground } from "./start-background.ts";
import { checkWarmFolder, warmFolder } from "./warm-folder.ts";
import { warmIdOf } from "./warm-id.ts";
import { connectSocket, listSockets } from "./warm-sockets.ts";

/** Connects to a target over the background process that keeps it, which is started where there is none. */
export function openWarm(found: ResolvedTarget, context: CommandContext, options: ConnectOptions): Promise<Client> {
  const { connectTimeoutMs = 30_000 } = options;
  // The background process knows best what took too long, so it has the first word.
  const lastMs = connectTimeoutMs === 0 ? 0 : connectTimeoutMs + 2 * graceMs;
  return connectBy((opening) => open(found, context, { ...opening, timeoutMs: connectTimeoutMs }), {
    ...options,
    connectTimeoutMs: lastMs,
  });
}

async function open(found: ResolvedTarget, context: CommandContext, opening: Opening): Promise<Connection> {
  const target = targetOf(found, context);
  const id = warmIdOf(target, context);
  const params = paramsOf(target, found, { context, opening });
  const hooks = hooksOf(found, opening);
  for (let tries = 0; tries < maxTries && opening.signal?.aborted !== true; tries++) {
    const socket = await findBackground(id, context.env);
    const connection = socket && (await openRemote(socket, params, opening, hooks));
    if (connection !== undefined) return connection;
    if (socket === undefined) await startBackground(id, context);
  }
  if (opening.signal?.aborted === true)
    throw new McpError("cancelled", "connecting was cancelled", { cause: opening.signal.reason });
  throw new McpError("connection-closed", "the background process of --warm ends whenever it is connected to");
}

function targetOf({ entry, server }: ResolvedTarget, { options }: CommandContext): WarmTarget {
  const { revision, tokens } = options as Options;
  const known = isRevision(revision) ? revision : undefined;
  if ("url" in entry) return { entry, revision: known, tokens, oauth: server?.oauth };
  if (!("command" in entry))
    throw new UsageError(
      "--warm keeps programs and URLs; documents and modules are in this process",
      "leave --warm out",
    );
  const { stderr: _, ...program } = entry;
  return { entry: program, revision: known };
}

interface How {
  readonly context: CommandContext;
  readonly opening: Opening;
}

function paramsOf(target: WarmTarget, { name }: ResolvedTarget, { context, opening }: How): OpenParams {
  const { info, capabilities, timeoutMs: connectTimeoutMs } = opening;
  const { idle: idleMs = defaultIdleMs, verbose = false } = context.options as Options;
  const { cwd: folder } = context;
  return { version: ownInfo.version, target, name, folder, info, capabilities, connectTimeoutMs, idleMs, verbose };
}

const defaultIdleMs = 600_000;

function hooksOf({ entry }: ResolvedTarget, { warn }: Opening): RemoteHooks {
  const stderr = "stderr" in entry && typeof entry.stderr === "function" ? entry.stderr : () => {};
  return { stderr, warning: (message) => warn?.({ kind: "not-honoured", message }) };
}

type Options = Partial<OptionValues<typeof targetOptions>>;

/** Every second try may find that the process that was just found has ended. */
const maxTries = 10;

async function findBackground(id: string, env: NodeJS.ProcessEnv): Promise<Socket | undefined> {
  const folder = warmFolder(env);
  if (!checkWarmFolder(folder)) return undefined;
  for (const socket of listSockets(folder, id)) {
    const found = await connectSocket(folder, socket);
    if (found !== undefined) return found;
  }
  return undefined;
}
