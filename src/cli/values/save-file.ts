import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { CommandContext } from "../command.ts";

/** Keeps data of a server as files, under names of our own. */
export interface FileSaver {
  /** Writes a new file and returns its path. The data is base64. */
  save(data: string, mimeType: string): Promise<string>;
}

/** Saves into the folder that was named, else into a new one among the temporary files, which only this user can read. */
export function createFileSaver(folder: string | undefined, { cwd }: Pick<CommandContext, "cwd">): FileSaver {
  let place: Promise<string> | undefined;
  let count = 0;
  return {
    async save(data, mimeType) {
      place ??= folder === undefined ? mkdtemp(join(tmpdir(), "plugbay-")) : makeFolder(resolve(cwd, folder));
      const into = await place;
      for (;;) {
        const path = join(into, `${kindOf(mimeType)}-${++count}.${extensionOf(mimeType)}`);
        if (await writeNew(path, Buffer.from(data, "base64"))) return path;
      }
    },
  };
}

async function makeFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true });
  return path;
}

/** False when there is such a file: it is not overwritten. */
async function writeNew(path: string, bytes: Buffer): Promise<boolean> {
  try {
    await writeFile(path, bytes, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function kindOf(mimeType: string): string {
  const [kind = ""] = mimeType.split("/");
  return ["image", "audio", "video", "text"].includes(kind) ? kind : "file";
}

function extensionOf(mimeType: string): string {
  return extensions[mimeType.split(";")[0]?.trim() ?? ""] ?? "bin";
}

const extensions: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "application/pdf": "pdf",
  "application/json": "json",
  "text/plain": "txt",
  "text/html": "html",
  "text/markdown": "md",
};
