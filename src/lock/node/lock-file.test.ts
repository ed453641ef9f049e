import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLock } from "../approve.ts";
import { formatLock } from "../format-lock.ts";
import { readLock, writeLock } from "./lock-file.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "plugbay-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = (): string => join(folder, "plugbay.lock");
const lockOf = (description: string) =>
  createLock([{ name: "shop", tools: [{ name: "buy", description, inputSchema: { type: "object" } }] }]);

describe("a lock file on disk", () => {
  it("is not there, then is what was written, and nothing else is left", async () => {
    expect(await readLock(file())).toBeUndefined();
    const lock = await lockOf("Buy");
    await writeLock(file(), lock);
    expect(await readLock(file())).toStrictEqual(lock);
    await writeLock(file(), await lockOf("Other"));
    expect(readFileSync(file(), "utf8")).toBe(formatLock(await lockOf("Other")));
    expect(readdirSync(folder)).toEqual(["plugbay.lock"]);
  });

  it("is not touched when nothing changed", async () => {
    const lock = await lockOf("Buy");
    await writeLock(file(), lock);
    utimesSync(file(), new Date(0), new Date(0));
    await writeLock(file(), lock);
    expect(statSync(file()).mtimeMs).toBe(0);
  });

  it("is whole at any time, however many write it", async () => {
    const locks = await Promise.all(Array.from({ length: 20 }, (_, index) => lockOf(String(index).repeat(20_000))));
    const reads = locks.map(async (lock) => {
      await writeLock(file(), lock);
      return readLock(file());
    });
    for (const read of await Promise.all(reads)) expect(locks).toContainEqual(read);
    expect(readdirSync(folder)).toEqual(["plugbay.lock"]);
  });

  it.skipIf(process.platform === "win32")("keeps its mode, and stays behind a link", async () => {
    await writeLock(file(), await lockOf("Buy"));
    chmodSync(file(), 0o640);
    const link = join(folder, "link.lock");
    symlinkSync(file(), link);
    await writeLock(link, await lockOf("Other"));
    expect((statSync(file()).mode & 0o777).toString(8)).toBe("640");
    expect(await readLock(file())).toStrictEqual(await lockOf("Other"));
    expect(readdirSync(folder)).toEqual(["link.lock", "plugbay.lock"]);
  });

  it("says where it is wrong", async () => {
    writeFileSync(file(), '{\n  "lockVersion": 9\n}\n');
    await expect(readLock(file())).rejects.toThrow(`${file()}:2:3: lockVersion 9`);
  });

  it("cannot be written where there is no folder, nor read where it is one", async () => {
    await expect(writeLock(join(folder, "none", "x"), await lockOf("Buy"))).rejects.toThrow("ENOENT");
    await expect(readLock(folder)).rejects.toThrow("EISDIR");
  });
});
