import { open, rename, rm } from "node:fs/promises";

/** Writes a file that others may read meanwhile: they see the old content or the new one, never a part. */
export async function replaceFile(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  const draft = `${file}.${crypto.randomUUID()}.tmp`;
  try {
    const handle = await open(draft, "wx", mode);
    try {
      await handle.writeFile(content);
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
