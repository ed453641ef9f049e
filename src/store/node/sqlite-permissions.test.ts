import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findWriters } from "./sqlite-permissions.ts";

function newFile(mode: number, folderMode = 0o700): { folder: string; file: string } {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "store.db");
  writeFileSync(file, "");
  chmodSync(file, mode);
  chmodSync(folder, folderMode);
  return { folder, file };
}

describe.skipIf(process.platform === "win32")("a file that others may write", () => {
  it.each([
    [0o600, 0o700, []],
    [0o644, 0o755, []],
    [0o600, 0o1777, []],
    [0o600, 0o1770, []],
    [0o602, 0o700, ["the file F can be written by everybody on this machine; to keep it to its owner: chmod 600 F"]],
    [0o666, 0o700, ["the file F can be written by everybody on this machine; to keep it to its owner: chmod 600 F"]],
    [0o660, 0o700, ["the file F can be written by its group; to keep it to its owner: chmod 600 F"]],
    [
      0o600,
      0o777,
      [
        "the folder D can be written by everybody on this machine, who may replace the file; to keep it to its owner: chmod go-w D",
      ],
    ],
    [
      0o660,
      0o770,
      [
        "the file F can be written by its group; to keep it to its owner: chmod 600 F",
        "the folder D can be written by its group, who may replace the file; to keep it to its owner: chmod go-w D",
      ],
    ],
  ])("with the mode %o in a folder of %o is warned of (H22)", async (mode, folderMode, expected) => {
    const { folder, file } = newFile(mode, folderMode);
    const link = join(newFile(0o600).folder, "link.db");
    symlinkSync(file, link);
    for (const path of [file, link]) {
      const found = await findWriters(path);
      expect(found.map(({ kind, message }) => [kind, message.replaceAll(file, "F").replaceAll(folder, "D")])).toEqual(
        expected.map((message) => ["writable-by-others", `sqlite: ${message}`]),
      );
    }
  });
});
