import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeTokenStore } from "../../../test/support/token-store-contract.ts";
import { fileTokens, withFileLock } from "./file-tokens.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "plugbay-tokens-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describeTokenStore("files", () => {
  const place = mkdtempSync(join(tmpdir(), "plugbay-tokens-"));
  return {
    open: () => fileTokens(place),
    [Symbol.asyncDispose]: async () => rmSync(place, { recursive: true, force: true }),
  };
});

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("tokens in files", () => {
  it("can be read by their user only, also where others could read the folder", async () => {
    const place = join(folder, "deep", "tokens");
    mkdirSync(place, { recursive: true });
    chmodSync(place, 0o755);
    const tokens = fileTokens(place);
    expect(await tokens.get("a")).toBeUndefined();
    await tokens.set("a", "1");
    await tokens.set("a", "2");
    expect(await fileTokens(place).get("a")).toBe("2");
    expect(readdirSync(place)).toEqual(["a.json"]);
    if (process.platform !== "win32") expect([modeOf(place), modeOf(join(place, "a.json"))]).toEqual(["700", "600"]);
    await tokens.delete("a");
    await tokens.delete("a");
    expect(readdirSync(place)).toEqual([]);
  });

  it("are there whole, however many write them", async () => {
    const tokens = fileTokens(folder);
    const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000));
    const reads = texts.map(async (text) => {
      await tokens.set("a", text);
      return tokens.get("a");
    });
    for (const read of await Promise.all(reads)) expect(texts).toContain(read);
    expect(readdirSync(folder)).toEqual(["a.json"]);
  });

  it.each(["../a", "a/b", "", "a.b"])("have no name like %j", async (name) => {
    await expect(fileTokens(folder).set(name, "1")).rejects.toThrow(RangeError);
  });

  it("are worked on by one at a time", async () => {
    const tokens = fileTokens(folder);
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await tokens.set("a", "1");
      inside--;
    };
    await Promise.all(Array.from({ length: 8 }, () => tokens.exclusive?.("a", work)));
    expect(most).toBe(1);
    expect(readdirSync(folder)).toEqual(["a.json"]);
  });
});

describe("a lock", () => {
  const file = (): string => join(folder, "x.lock");
  /** No process has it: there are not that many. */
  const nobody = 2 ** 22 + 1;

  it("of a process that is gone is taken over, by one of many", async () => {
    writeFileSync(file(), `${nobody} ${hostname()} abc`);
    let inside = 0;
    const most: number[] = [];
    const work = async (): Promise<void> => {
      most.push(++inside);
      await Promise.resolve();
      inside--;
    };
    await Promise.all(Array.from({ length: 5 }, () => withFileLock(file(), work)));
    expect(most).toEqual([1, 1, 1, 1, 1]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("that nobody has touched for long is taken over, also one of another machine", async () => {
    writeFileSync(file(), "1 elsewhere abc");
    utimesSync(file(), new Date(0), new Date(0));
    await withFileLock(file(), async () => {
      expect(readFileSync(file(), "utf8")).toMatch(new RegExp(`^${process.pid} `));
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is given back by what fails, and is not taken from who has it then", async () => {
    await expect(withFileLock(file(), () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(readdirSync(folder)).toEqual([]);
    await withFileLock(file(), async () => writeFileSync(file(), "somebody else"));
    expect(readFileSync(file(), "utf8")).toBe("somebody else");
  });

  it("cannot be had where nothing can be written", async () => {
    await expect(withFileLock(join(folder, "none", "x"), async () => {})).rejects.toThrow("ENOENT");
  });
});
