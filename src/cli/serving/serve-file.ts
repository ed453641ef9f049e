import { statSync } from "node:fs";
import { resolve } from "node:path";
import { dial } from "../../connect/connect.ts";
import type { ClientConnection } from "../../connect/create-connect.ts";
import { McpError, toError } from "../../protocol/errors.ts";
import type { Service } from "../../protocol/service.ts";
import { systemClock } from "../../std/clock.ts";
import { type FileWatcher, watchFiles } from "../../std/node/watch-files.ts";
import type { CommandContext } from "../command.ts";
import { fileCommand, fileError } from "../target/file-target.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { createReloadingService, type ReloadingService } from "./reloading-service.ts";
import { sourceFiles } from "./source-files.ts";

export interface ServeFileOptions {
  /** The port of a URL; undefined for stdio. 0 takes one that is free. */
  readonly port: number | undefined;
  /** Whether changed files are served without a restart. */
  readonly watch: boolean;
}

/** Serves what a file exports until the command is interrupted, or its client hangs up. The file runs in a process of its own. */
export async function serveFile(
  text: string | undefined,
  options: ServeFileOptions,
  context: CommandContext,
): Promise<void> {
  const path = sourceFile(text, context);
  const watcher = options.watch ? watchSources(path) : undefined;
  // Waiting for a file to change does not keep a process by itself.
  const release = systemClock.hold?.();
  try {
    const first = await openFirst(path, watcher, context);
    if (first === undefined) return;
    const reloading = createReloadingService(first);
    try {
      const { closed } = await serve(reloading, options, context);
      const going = watcher === undefined ? whenEnded(first, context) : reload(path, { reloading, watcher, context });
      await Promise.race([closed, going]);
    } finally {
      await reloading.close();
    }
  } finally {
    watcher?.close();
    release?.();
  }
}

function sourceFile(text: string | undefined, { cwd }: CommandContext): string {
  if (text === undefined)
    throw new UsageError("a file is needed that exports a server", "such as: plugbay serve ./server.js");
  const path = resolve(cwd, text);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw new UsageError(`there is no file ${path}`);
  if (!/\.[cm]?[jt]s$/.test(path)) throw new UsageError(`${path} is not a file of JavaScript or TypeScript`);
  return path;
}

function watchSources(path: string): FileWatcher {
  const watcher = watchFiles({ clock: systemClock, settleMs: 100, pollMs: 1_000, notices: true });
  watcher.follow(sourceFiles(path));
  return watcher;
}

/** The first version of the file that can be served. Without a watcher the first has to be. Undefined when interrupted. */
async function openFirst(
  path: string,
  watcher: FileWatcher | undefined,
  context: CommandContext,
): Promise<ClientConnection | undefined> {
  if (watcher === undefined) return openVersion(path, context);
  while (!context.signal.aborted) {
    const opened = await tryVersion(path, context);
    if (opened !== undefined) return opened;
    context.say("waiting for the file to change");
    await watcher.changed(context.signal);
  }
  return undefined;
}

/** What the file writes to stderr is shown once it serves: the error of a file that does not has its last words. */
async function openVersion(path: string, { env, signal, live }: CommandContext): Promise<ClientConnection> {
  const show = (text: string): void => {
    for (const line of printable(text).trimEnd().split("\n")) live.write(line);
  };
  const early: string[] = [];
  let write = (text: string): void => void early.push(text);
  const stderr = (text: string): void => write(text);
  try {
    const opened = await dial({ ...fileCommand(path, env), stderr }, { signal });
    write = show;
    if (early.length > 0) show(early.join(""));
    return opened;
  } catch (error) {
    throw fileError(error);
  }
}

async function tryVersion(path: string, context: CommandContext): Promise<ClientConnection | undefined> {
  try {
    return await openVersion(path, context);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!context.signal.aborted) context.say(`${context.style.red("error")}: ${printable(message)}`);
    return undefined;
  }
}

interface Serving {
  /** Resolves when nobody is served any more. */
  readonly closed: Promise<void>;
}

function serve({ service }: ReloadingService, { port }: ServeFileOptions, context: CommandContext): Promise<Serving> {
  return port === undefined ? serveOnStdio(service) : serveAtUrl(service, port, context);
}

async function serveOnStdio(service: Service): Promise<Serving> {
  const { serveStdio } = await import("../../transport/node/stdio.ts");
  return serveStdio(service, { exit: false, signals: false });
}

async function serveAtUrl(service: Service, port: number, context: CommandContext): Promise<Serving> {
  const { serveHttp } = await import("../../transport/node/serve-http.ts");
  const serving = await serveHttp(service, { port, drainMs: 500 });
  context.signal.addEventListener("abort", () => void serving.close(), { once: true });
  context.printEach({ url: serving.url }, () => `serving at ${serving.url}`);
  return serving;
}

/** Resolves when the command is interrupted; rejects when the process of the file ends before that. */
function whenEnded({ connection }: ClientConnection, { signal }: CommandContext): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    void connection.ended.then((ending) => {
      reject(ending ? toError(ending) : new McpError("connection-closed", "the process of the file has ended"));
    });
  });
}

interface Reloading {
  readonly reloading: ReloadingService;
  readonly watcher: FileWatcher;
  readonly context: CommandContext;
}

/** Serves every new version of the file that can be served. The last good one goes on meanwhile. */
async function reload(path: string, { reloading, watcher, context }: Reloading): Promise<void> {
  for (;;) {
    await watcher.changed(context.signal);
    if (context.signal.aborted) return;
    watcher.follow(sourceFiles(path));
    const next = await tryVersion(path, context);
    if (next === undefined) {
      context.say("the last version goes on");
      continue;
    }
    reloading.use(next);
    context.say(`serving the changed file: ${oneLine(next.client.server.serverInfo.name)}`);
  }
}
