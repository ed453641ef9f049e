import { readFile } from "node:fs/promises";
import { UsageError } from "../usage-error.ts";

/** The text of a file that the user named. A file that cannot be read is a usage error. */
export async function readText(path: string): Promise<string> {
  const text = await readTextIfAny(path);
  if (text === undefined) throw new UsageError(`there is no file ${path}`);
  return text;
}

/** The same, or undefined where there is no file. */
export async function readTextIfAny(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return undefined;
    const why = code === "EISDIR" ? "it is a folder" : error instanceof Error ? error.message : String(error);
    throw new UsageError(`${path} cannot be read: ${why}`);
  }
}
