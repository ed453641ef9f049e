import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stateFolder } from "../../auth/node/file-tokens.ts";

/** Lines that were typed, newest first, over all shells of this user. */
export interface History {
  readonly lines: readonly string[];
  /** Keeps a line, unless it begins with a space or is the one before. Only this user can read the file. */
  add(line: string): Promise<void>;
}

const maxLines = 1000;

export async function openHistory(env: NodeJS.ProcessEnv): Promise<History> {
  const file = join(stateFolder(env), "plugbay", "shell-history");
  let lines: readonly string[] = (await read(file)).split("\n").filter((line) => line !== "");
  return {
    get lines() {
      return lines;
    },
    async add(line) {
      if (line.trim() === "" || line.startsWith(" ") || line === lines[0]) return;
      lines = [line, ...lines].slice(0, maxLines);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(file, `${lines.join("\n")}\n`, { mode: 0o600 });
    },
  };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
