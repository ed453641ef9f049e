import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { memoryStore, openStore, StoreError } from "./index.ts";
import { readAddress, schemes } from "./open-store.ts";

describe("readAddress", () => {
  it.each([
    ["memory:", { kind: "memory" }],
    ["memory://", { kind: "memory" }],
    ["sqlite:a.db", { kind: "sqlite", path: "a.db" }],
    ["sqlite:./a b%20.db", { kind: "sqlite", path: "./a b%20.db" }],
    ["sqlite:/var/a.db", { kind: "sqlite", path: "/var/a.db" }],
    ["sqlite:///var/a.db", { kind: "sqlite", path: "/var/a.db" }],
    ["SQLite:C:\\a.db", { kind: "sqlite", path: "C:\\a.db" }],
    ["sqlite:///C:/a.db", { kind: "sqlite", path: "C:/a.db" }],
    ["redis://host:1/2", { kind: "redis", url: "redis://host:1/2" }],
    ["rediss://u:p@host", { kind: "redis", url: "rediss://u:p@host" }],
    ["valkey://u:p@host", { kind: "redis", url: "redis://u:p@host" }],
    ["valkeys://host", { kind: "redis", url: "rediss://host" }],
  ])("reads %s", (url, address) => {
    expect(readAddress(url)).toEqual(address);
  });

  it.each([
    "",
    "a.db",
    "postgres://user:hunter2@host",
    "user:hunter2@host",
    "memory:hunter2",
    "sqlite:",
    "sqlite://hunter2",
  ])("refuses %s, and does not repeat it", (url) => {
    const failure = failureOf(() => readAddress(url));
    expect(failure).toMatchObject({ name: "StoreError", code: "invalid" });
    expect(failure.message).toMatch(/memory:|sqlite:/);
    expect(failure.message).not.toMatch(/hunter2|postgres|user/);
  });
});

describe("the schemes of addresses", () => {
  it.each([...schemes])("has %s in the error for an unknown address, and in docs/store.md", (name, { example }) => {
    expect(failureOf(() => readAddress("a.db")).message).toContain(example);
    const row = readFileSync("docs/store.md", "utf8")
      .split("\n")
      .find((line) => line.startsWith("| `") && line.includes(`\`${name}:`));
    expect(row, `add \`${name}:\` to the table of stores in docs/store.md`).toBeDefined();
  });
});

describe("openStore where there is no Node", () => {
  it("opens a memory", async () => {
    const store = await openStore("memory:");
    await store.values.put("a", "1");
    expect((await store.values.get("a"))?.text).toBe("1");
    expect(await memoryStore().values.get("a")).toBeUndefined();
  });

  it.each(["sqlite:a.db", "redis://host"])("has no %s", async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({ name: "StoreError", code: "unsupported" });
  });

  it("rejects what is no address", async () => {
    await expect(openStore("a.db")).rejects.toBeInstanceOf(StoreError);
  });
});

function failureOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("it did not fail");
}
