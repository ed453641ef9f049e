import { open, rename, rm } from "node:fs/promises";

/** Writes a file that others may read meanwhile: they see the old text or the new one, never a part. */
export async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  const draft = `${file}.${crypto.randomUUID()}.tmp`;
  try {
    const handle = await open(draft, "wx", mode);
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
