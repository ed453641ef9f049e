import { createServer } from "node:net";
import type { ServerEntry } from "../../config/server-entry.ts";
import type { Authorizer } from "../../protocol/authorizer.ts";
import { ownInfo } from "../../protocol/own-info.ts";
import { systemClock } from "../../std/clock.ts";
import type { CommandContext } from "../command.ts";
import { createKeptConnections, type KeptConnections } from "./kept-connections.ts";
import type { OpenParams, WarmStatus, WarmTarget } from "./messages.ts";
import { type Background, serveCommand } from "./serve-command.ts";
import { makeWarmFolder, warmFolder } from "./warm-folder.ts";
import { forgetSocket, listenFor, notePid } from "./warm-sockets.ts";

interface KeepWarmOptions extends Pick<CommandContext, "env" | "signal"> {
  /** Hears that commands can connect: to this process, or to another one that was faster. */
  onListening(): void;
}

/** Keeps connections to a target until nobody has used them for a while, or the process is told to end. */
export async function keepWarm(id: string, { env, signal, onListening }: KeepWarmOptions): Promise<void> {
  const folder = warmFolder(env);
  makeWarmFolder(folder);
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  const sessions = new Set<{ close(): Promise<void> }>();
  const state = createBackground({ env, end, closeDoor: () => void server.close() });
  const server = createServer((socket) => {
    const session = serveCommand(socket, state.background);
    sessions.add(session);
    socket.once("close", () => sessions.delete(session));
  });
  const socket = await listenFor(server, folder, id);
  if (socket !== undefined) notePid(folder, socket);
  onListening();
  if (socket !== undefined) {
    state.settle();
    if (signal.aborted) end();
    signal.addEventListener("abort", () => end(), { once: true });
    await over;
  }
  server.close();
  if (socket !== undefined) forgetSocket(folder, socket);
  await state.background.stop();
  await Promise.all([...sessions].map((session) => session.close()));
}

/** How long a process that was just started waits for its first command. */
const startMs = 30_000;

/** One target may be called by so many names that are known. */
const maxNames = 20;

interface BackgroundState {
  readonly background: Background;
  /** Looks whether the process is still needed. */
  settle(): void;
}

interface BackgroundOptions extends Pick<CommandContext, "env"> {
  end(): void;
  /** From now on no command can connect. */
  closeDoor(): void;
}

function createBackground({ env, end, closeDoor }: BackgroundOptions): BackgroundState {
  const commands = new Set<AbortSignal>();
  const since = Date.now();
  let usedAt = since;
  const names = new Set<string>();
  let last: OpenParams | undefined;
  let kept: KeptConnections | undefined;
  let isRetired = false;
  let isStopping = false;
  let stopTimer = (): void => {};

  const settle = (): void => {
    stopTimer();
    if (commands.size > 0 || isStopping) return;
    const waitMs = last?.idleMs ?? startMs;
    if (isRetired || (last !== undefined && kept?.size === 0)) end();
    else if (waitMs > 0) stopTimer = systemClock.after(waitMs, end);
  };

  /** Takes no more commands, and ends with the last of those that are there. */
  const retire = (): void => {
    isRetired = true;
    closeDoor();
    settle();
  };

  const enter = (gone: AbortSignal): void => {
    commands.add(gone);
    stopTimer();
    const leave = (): void => {
      commands.delete(gone);
      usedAt = Date.now();
      settle();
    };
    gone.addEventListener("abort", leave, { once: true });
  };

  const status = (): WarmStatus => ({
    version: ownInfo.version,
    pid: process.pid,
    names: [...names].reverse(),
    folder: last?.folder,
    origin: last && originOf(last.target),
    since,
    usedAt,
    idleMs: last?.idleMs ?? startMs,
    memoryBytes: process.memoryUsage.rss(),
    servers: kept?.status() ?? [],
  });

  return {
    settle,
    background: {
      async open(params, borrower) {
        if (params.version !== ownInfo.version) retire();
        if (isRetired || isStopping || borrower.gone.aborted) return undefined;
        last = params;
        names.delete(params.name);
        if (names.size < maxNames) names.add(params.name);
        usedAt = Date.now();
        enter(borrower.gone);
        const { target } = params;
        kept ??= createKeptConnections({ target, auth: () => authFor(target, env), onEnd: settle });
        return kept.lend(borrower);
      },
      used() {
        usedAt = Date.now();
      },
      status,
      async stop() {
        isStopping = true;
        closeDoor();
        await kept?.close();
      },
      end,
    },
  };
}

function originOf({ entry }: WarmTarget): string | undefined {
  return "url" in entry && URL.canParse(entry.url) ? new URL(entry.url).origin : undefined;
}

/** What an earlier sign-in gives, for a server at a URL. */
async function authFor({ entry, tokens, oauth }: WarmTarget, env: NodeJS.ProcessEnv): Promise<Authorizer | undefined> {
  if (!("url" in entry) || !URL.canParse(entry.url) || oauth === false) return undefined;
  const { storedAuth } = await import("../sign-in/stored-auth.ts");
  return storedAuth(new URL(entry.url), { env, options: { tokens } }, { oauth } as Pick<ServerEntry, "oauth">);
}
