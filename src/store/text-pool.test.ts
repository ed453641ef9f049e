import { describe, expect, it } from "vitest";
import { createManualClock } from "../testing/clock.ts";
import { memoryStore } from "./memory-store.ts";
import { createTextPool, type PooledText } from "./text-pool.ts";

const pagesOf = (kept: PooledText) => (typeof kept === "string" ? [] : kept.pages);

describe("a pool of texts", () => {
  it.each([
    ["nothing", ""],
    ["a short text", "short"],
    ["a long text", "x".repeat(100_001)],
    ["a byte order mark", `\ufeff${"x".repeat(20_000)}`],
    ["characters of two, three and four bytes, wherever a page ends", `é€${"😀".repeat(20_001)}`],
    ["half of a character", `${"x".repeat(20_000)}\ud83d`],
  ])("gives back %s as it was", (_, text) => {
    const pool = createTextPool();
    expect(pool.read(pool.keep(text))).toBe(text);
  });

  it("uses the pages of a text again once it is released, and not before", () => {
    const pool = createTextPool();
    const [one, other] = [pool.keep("a".repeat(40_000)), pool.keep("b".repeat(40_000))];
    expect(pagesOf(one).some((page) => pagesOf(other).includes(page))).toBe(false);
    pool.release(one);
    const next = pool.keep("c".repeat(40_000));
    expect(new Set(pagesOf(next))).toEqual(new Set(pagesOf(one)));
    expect([pool.read(other), pool.read(next)]).toEqual(["b".repeat(40_000), "c".repeat(40_000)]);
  });
});

it("long values of a store in memory stay what they are while others are written, deleted and forgotten", async () => {
  const clock = createManualClock();
  const { values } = memoryStore({ clock });
  const long = (letter: string): string => letter.repeat(50_000);
  const read = async (name: string): Promise<string | undefined> => (await values.get(name))?.text;
  await values.put("kept", long("k"), { group: "all" });
  await values.put("changed", long("a"));
  await values.put("changed", long("b"));
  await values.put("deleted", long("c"));
  await values.delete("deleted");
  await values.put("forgotten", long("d"), { ttlMs: 1_000 });
  await values.put("touched", long("e"), { ttlMs: 1_000 });
  await values.touch("touched", 100_000);
  await clock.advanceAsync(30_000);
  await values.put("new", long("n"));
  expect([await read("kept"), await read("changed"), await read("touched"), await read("new")]).toEqual(
    ["k", "b", "e", "n"].map(long),
  );
  expect([await read("deleted"), await read("forgotten")]).toEqual([undefined, undefined]);
  expect((await values.list("all")).map(({ text }) => text)).toEqual([long("k")]);
});
