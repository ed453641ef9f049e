import { readFile, realpath, stat } from "node:fs/promises";
import { McpError } from "../../protocol/errors.ts";
import { replaceFile } from "../../std/node/replace-file.ts";
import { formatLock } from "../format-lock.ts";
import type { Lock } from "../lock.ts";
import { maxLockChars, parseLock } from "../parse-lock.ts";

/** Reads a lock file. Undefined when there is none; rejects as `parseLock` does. */
export async function readLock(path: string): Promise<Lock | undefined> {
  const text = await readText(path);
  return text === undefined ? undefined : parseLock(text, path);
}

/**
 * Writes a lock file atomically. Of processes that write at the same time, the last one wins. A file with the same
 * content is not touched.
 */
export async function writeLock(path: string, lock: Lock): Promise<void> {
  const text = formatLock(lock);
  if (text.length > maxLockChars) {
    const problem = `the lock has ${text.length} characters, more than the ${maxLockChars} of a lock file: approve fewer servers`;
    throw new McpError("limit-reached", `${path}: ${problem}`, {
      data: { limit: "maxLockChars", max: maxLockChars, scope: "call" },
    });
  }
  if ((await readText(path)) === text) return;
  const file = (await unlessMissing(realpath(path))) ?? path;
  const { mode = 0o644 } = (await unlessMissing(stat(file))) ?? {};
  await replaceFile(file, text, mode & 0o777);
}

async function readText(path: string): Promise<string | undefined> {
  const { size } = (await unlessMissing(stat(path))) ?? {};
  if (size === undefined) return undefined;
  // A character takes at most 3 bytes for each of its units.
  if (size > 3 * maxLockChars) throw new McpError("invalid-config", `${path}: the file is too large for a lock file`);
  return unlessMissing(readFile(path, "utf8"));
}

/** Undefined for a file that does not exist. */
async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
