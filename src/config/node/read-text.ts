import { open } from "node:fs/promises";
import { limits } from "../limits.ts";

/** The text of a file, or undefined when there is none. Rejects when it is too long, no UTF-8, or cannot be read. */
export async function readTextFile(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, "r");
    const info = await file.stat();
    if (!info.isFile()) throw new Error("this is no file");
    if (info.size > limits.maxTextLength * maxBytesPerCharacter) throw new Error("the file is too long");
    return decoder.decode(await file.readFile());
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) {
      return undefined;
    }
    throw error;
  }
}

const maxBytesPerCharacter = 3;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
