import { chmod, mkdir, open, readFile, rm, stat, utimes } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { McpError } from "../../protocol/errors.ts";
import { replaceFile } from "../../std/node/replace-file.ts";
import type { TokenStore } from "../client/token-store.ts";

/**
 * Keeps tokens in a folder that only this user can read: one file each, written
 * whole or not at all. Processes on one machine may share it; only one of them
 * at a time refreshes a token.
 */
export function fileTokens(folder: string): Required<TokenStore> {
  const fileOf = (name: string): string => {
    if (!/^[\w-]{1,128}$/.test(name)) throw new RangeError("no name of a token");
    return join(folder, name);
  };
  let prepared: Promise<void> | undefined;
  const prepare = (): Promise<void> => {
    prepared ??= makeFolder(folder);
    return prepared;
  };

  return {
    async get(name) {
      try {
        return await readFile(`${fileOf(name)}.json`, "utf8");
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
        throw error;
      }
    },
    async set(name, text) {
      await prepare();
      await replaceFile(`${fileOf(name)}.json`, text, 0o600);
    },
    async delete(name) {
      await rm(`${fileOf(name)}.json`, { force: true });
    },
    async exclusive(name, task) {
      await prepare();
      return withFileLock(`${fileOf(name)}.lock`, task);
    },
  };
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
}

/** A lock counts as abandoned when it was not touched for this time. */
const staleMs = 30_000;
const pollMs = 25;
const patienceMs = 60_000;

/** Runs `task` while no other process that uses the same file does. A lock of a process that is gone is taken over. */
export async function withFileLock<T>(file: string, task: () => Promise<T>): Promise<T> {
  const id = `${process.pid} ${hostname()} ${crypto.randomUUID()}`;
  await acquire(file, id);
  const alive = setInterval(() => void touch(file).catch(() => {}), staleMs / 3);
  alive.unref();
  try {
    return await task();
  } finally {
    clearInterval(alive);
    await release(file, id);
  }
}

async function acquire(file: string, id: string): Promise<void> {
  for (const start = performance.now(); !(await create(file, id)); await pause()) {
    if (await isAbandoned(file)) await takeAway(file);
    else if (performance.now() - start > patienceMs) throw new McpError("timeout", "another process holds the tokens");
  }
}

/** Writes a file that is not there yet. False when it is. */
async function create(file: string, text: string): Promise<boolean> {
  try {
    const handle = await open(file, "wx", 0o600);
    await handle.writeFile(text).finally(() => handle.close());
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  }
}

async function isAbandoned(file: string): Promise<boolean> {
  try {
    const [{ mtimeMs }, text] = await Promise.all([stat(file), readFile(file, "utf8")]);
    const [pid = "", host] = text.split(" ");
    const isGone = host === hostname() && /^\d+$/.test(pid) && !isRunning(Number(pid));
    return isGone || Date.now() - mtimeMs > staleMs;
  } catch (error) {
    if (isCode(error, "ENOENT")) return false;
    throw error;
  }
}

/** One at a time: a second remover might remove a new lock. */
async function takeAway(file: string): Promise<void> {
  const guard = `${file}.break`;
  if (!(await create(guard, ""))) {
    const { mtimeMs } = await stat(guard).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > staleMs) await rm(guard, { force: true });
    return;
  }
  try {
    if (await isAbandoned(file)) await rm(file, { force: true });
  } finally {
    await rm(guard, { force: true });
  }
}

async function touch(file: string): Promise<void> {
  const now = new Date();
  await utimes(file, now, now);
}

async function release(file: string, id: string): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => "");
  if (text === id) await rm(file, { force: true });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, pollMs);
  });
}

/** Where the system keeps what applications of this user remember. */
export function stateFolder(
  env: Readonly<Record<string, string | undefined>> = process.env,
  platform: string = process.platform,
): string {
  if (platform === "win32") return env.LOCALAPPDATA || join(homedir(), "AppData", "Local");
  if (platform === "darwin") return join(homedir(), "Library", "Application Support");
  // A relative one is to be ignored, says the XDG Base Directory Specification.
  return env.XDG_STATE_HOME?.startsWith("/") ? env.XDG_STATE_HOME : join(homedir(), ".local", "state");
}
