import { createHash } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { McpError } from "../../protocol/errors.ts";
import { homeOf } from "../editing/home.ts";

/**
 * The folder of the sockets of this user: below `XDG_RUNTIME_DIR`, else in the cache of the user. Where its path is too long
 * for a socket, it is a folder in `/tmp` whose name stands for it. It need not exist.
 */
export function warmFolder(env: NodeJS.ProcessEnv): string {
  const folder = join(runtimeFolder(env) ?? cacheFolder(env), "plugbay", "warm");
  if (process.platform === "win32" || Buffer.byteLength(join(folder, longestName)) <= maxPathBytes) return folder;
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  return join("/tmp", `plugbay-${process.getuid?.() ?? 0}-${name}`);
}

/** Of the path of a socket: 104 with its end on macOS, 108 on Linux. */
const maxPathBytes = 103;
const longestName = `${"0".repeat(32)}.99999`;

/** A folder that somebody else owns is none for us, such as after `sudo`. */
function runtimeFolder({ XDG_RUNTIME_DIR: folder }: NodeJS.ProcessEnv): string | undefined {
  if (folder === undefined || !folder.startsWith("/")) return undefined;
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === process.getuid?.() ? folder : undefined;
}

function cacheFolder(env: NodeJS.ProcessEnv): string {
  if (process.platform === "win32") return env.LOCALAPPDATA || join(homeOf(env), "AppData", "Local");
  if (process.platform === "darwin") return join(homeOf(env), "Library", "Caches");
  return env.XDG_CACHE_HOME?.startsWith("/") ? env.XDG_CACHE_HOME : join(homeOf(env), ".cache");
}

/** Makes the folder where there is none. Throws `denied` when anybody else could enter it. */
export function makeWarmFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  checkWarmFolder(folder);
}

/** False where there is no folder. Throws `denied` when anybody else could enter it. */
export function checkWarmFolder(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  if (process.platform === "win32") return true;
  const problem = !stat.isDirectory()
    ? "is not a folder"
    : stat.uid !== process.getuid?.()
      ? "belongs to another user"
      : (stat.mode & 0o077) !== 0
        ? "can be entered by other users"
        : undefined;
  if (problem === undefined) return true;
  throw new McpError("denied", `${folder} ${problem}; no socket there is trusted: remove it, or run chmod 700 on it`);
}
