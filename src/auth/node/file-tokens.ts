import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TokenStore } from "../client/token-store.ts";
import { withFileLock } from "./file-lock.ts";

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
      await replace(`${fileOf(name)}.json`, text);
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

/** Readers see the old text or the new one, never a part. */
async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${crypto.randomUUID()}.tmp`;
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
