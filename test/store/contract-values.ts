import { describe, expect, it } from "vitest";
import type { Fixture } from "./contract.ts";
import { numberContract } from "./contract-numbers.ts";
import { eventually, given, LONG, rejects, SHORT, strangeNames } from "./support.ts";

export function valueContract(fixture: () => Fixture): void {
  it("has nothing under a name that was never put", async () => {
    const { store } = fixture();
    expect(await store.values.get("a")).toBeUndefined();
    expect(await store.values.touch("a", LONG)).toBe(false);
    expect(await store.values.delete("a")).toBe(false);
    expect(await store.values.list("a")).toEqual([]);
  });

  it("gives every handle what one has put", async () => {
    const { store, second } = fixture();
    const version = await store.values.put("a", "1");
    expect(await store.values.get("a")).toEqual({ text: "1", version });
    expect(await second.values.get("a")).toEqual({ text: "1", version });
    expect(await second.values.delete("a")).toBe(true);
    expect(await store.values.get("a")).toBeUndefined();
    expect(await store.values.delete("a")).toBe(false);
  });

  it("changes the version with every write, also of the same text and after a delete", async () => {
    const { store } = fixture();
    const versions = new Set<string | undefined>();
    for (let i = 0; i < 3; i++) {
      versions.add(await store.values.put("a", "1"));
      versions.add(await store.values.put("a", "1"));
      await store.values.delete("a");
    }
    expect(versions.size).toBe(6);
    expect(versions.has(undefined)).toBe(false);
  });

  it("keeps empty and large texts as they are", async () => {
    const { store, second } = fixture();
    const texts = ["", "\0", "a\0b", " \r\n\t", "é😀\uffff", "x".repeat(1_048_576), "é😀".repeat(200_000)];
    for (const text of texts) {
      await store.values.put("a", text);
      expect((await second.values.get("a"))?.text === text).toBe(true);
    }
  });

  it("takes any text of up to 512 characters as a name, and keeps names apart", async () => {
    const { store, second } = fixture();
    for (const name of strangeNames) await store.values.put(name, `text of ${name}`, { group: name });
    for (const name of strangeNames) {
      const { text, version } = given(await second.values.get(name));
      expect(text).toBe(`text of ${name}`);
      expect(await second.values.list(name)).toEqual([{ name, text, version }]);
    }
    for (const name of strangeNames) expect(await second.values.delete(name)).toBe(true);
  });

  it("refuses a longer name, and a time to live that is none", async () => {
    const { store } = fixture();
    const long = "x".repeat(513);
    await rejects(() => store.values.get(long), "invalid");
    await rejects(() => store.values.put(long, "1"), "invalid");
    await rejects(() => store.values.put("a", "1", { group: long }), "invalid");
    await rejects(() => store.values.list(long), "invalid");
    await rejects(() => store.values.put("a", "1", { ttlMs: 0 }), "invalid");
    await rejects(() => store.values.touch("a", -1), "invalid");
    await rejects(() => store.values.add("a", 1, Number.NaN), "invalid");
  });

  describe("with conditions", () => conditions(fixture));
  describe("with a time to live", () => expiry(fixture));
  describe("in a group", () => groups(fixture));
  describe("that are numbers", () => numberContract(fixture));
}

function conditions(fixture: () => Fixture): void {
  it("writes only if the version is the one given", async () => {
    const { store, second } = fixture();
    const first = given(await store.values.put("a", "1"));
    const next = given(await second.values.put("a", "2", { version: first }));
    expect(await store.values.put("a", "3", { version: first })).toBeUndefined();
    expect(await store.values.put("none", "3", { version: first })).toBeUndefined();
    expect(await store.values.get("a")).toEqual({ text: "2", version: next });
    expect(await store.values.get("none")).toBeUndefined();
  });

  it("writes only if there is no value, for null", async () => {
    const { store, second } = fixture();
    const version = given(await store.values.put("a", "1", { version: null }));
    expect(await second.values.put("a", "2", { version: null })).toBeUndefined();
    expect(await store.values.get("a")).toEqual({ text: "1", version });
    await store.values.delete("a");
    expect(await second.values.put("a", "2", { version: null })).toBeTypeOf("string");
  });

  it("deletes only if the version is the one given", async () => {
    const { store } = fixture();
    const first = given(await store.values.put("a", "1"));
    const next = given(await store.values.put("a", "2"));
    expect(await store.values.delete("a", { version: first })).toBe(false);
    expect(await store.values.delete("a", { version: null })).toBe(false);
    expect(await store.values.get("a")).toEqual({ text: "2", version: next });
    expect(await store.values.delete("a", { version: next })).toBe(true);
    expect(await store.values.delete("a", { version: null })).toBe(false);
    expect(await store.values.get("a")).toBeUndefined();
  });

  it("lets one of many who saw the same version write", async () => {
    const { store, second } = fixture();
    const version = given(await store.values.put("a", "0"));
    const writes = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? store : second).values.put("a", `${i}`, { version }),
    );
    const written = (await Promise.all(writes)).filter((result) => result !== undefined);
    expect(written).toHaveLength(1);
    expect((await store.values.get("a"))?.version).toBe(written[0]);
  });

  it("leaves time to live and group as they were when a condition does not hold", async () => {
    const { store, passes } = fixture();
    await store.values.put("a", "1", { ttlMs: SHORT, group: "g" });
    await store.values.put("a", "2", { version: "no version", group: "other" });
    expect(await store.values.list("other")).toEqual([]);
    await passes(SHORT);
    await eventually(async () => expect(await store.values.get("a")).toBeUndefined());
    expect(await store.values.list("g")).toEqual([]);
  });

  it("writes with a fence until there is a later lease on this name", async () => {
    const { store, second } = fixture();
    expect(await store.values.put("a", "0", { fence: 0 })).toBeTypeOf("string");
    const first = given(await store.leases.acquire("a", LONG));
    expect(await store.values.put("a", "1", { fence: first.token })).toBeTypeOf("string");
    await first.release();
    expect(await store.values.put("a", "2", { fence: first.token })).toBeTypeOf("string");
    await second.leases.acquire("b", LONG);
    expect(await store.values.put("a", "3", { fence: first.token })).toBeTypeOf("string");

    const later = given(await second.leases.acquire("a", LONG));
    expect(await store.values.put("a", "4", { fence: first.token })).toBeUndefined();
    expect(await store.values.delete("a", { fence: first.token })).toBe(false);
    expect((await store.values.get("a"))?.text).toBe("3");
    await later.release();
    expect(await store.values.put("a", "4", { fence: first.token })).toBeUndefined();
    expect(await second.values.put("a", "5", { fence: later.token })).toBeTypeOf("string");
    expect(await store.values.put("a", "6")).toBeTypeOf("string");
    expect(await second.values.delete("a", { fence: later.token })).toBe(true);
  });

  it("needs both the version and the fence", async () => {
    const { store } = fixture();
    const lease = given(await store.leases.acquire("a", LONG));
    const version = given(await store.values.put("a", "1", { version: null, fence: lease.token }));
    expect(await store.values.put("a", "2", { version: "no version", fence: lease.token })).toBeUndefined();
    expect(await store.values.put("a", "2", { version, fence: lease.token - 1 })).toBeUndefined();
    expect(await store.values.delete("a", { version, fence: lease.token - 1 })).toBe(false);
    expect(await store.values.put("a", "2", { version, fence: lease.token })).toBeTypeOf("string");
  });
}

function expiry(fixture: () => Fixture): void {
  it("forgets after that time, and takes a new value as the first", async () => {
    const { store, second, passes } = fixture();
    await store.values.put("a", "1", { ttlMs: SHORT });
    await store.values.put("b", "1", { ttlMs: LONG });
    await passes(SHORT);
    await eventually(async () => expect(await second.values.get("a")).toBeUndefined());
    expect(await store.values.touch("a", LONG)).toBe(false);
    expect(await store.values.delete("a")).toBe(false);
    expect(await second.values.put("a", "2", { version: null })).toBeTypeOf("string");
    expect((await store.values.get("b"))?.text).toBe("1");
  });

  it("gives a value another time to live and the same version with touch", async () => {
    const { store, second, passes } = fixture();
    const version = await store.values.put("kept", "1", { ttlMs: SHORT });
    await store.values.put("gone", "1", { ttlMs: SHORT });
    await store.values.put("shortened", "1");
    // On a slow machine it may be gone already: then it is put anew, which touch must keep as well.
    const again = (await second.values.touch("kept", LONG))
      ? version
      : await store.values.put("kept", "1", { ttlMs: LONG });
    expect(await second.values.touch("shortened", SHORT)).toBe(true);
    await passes(SHORT);
    await eventually(async () => {
      expect(await store.values.get("gone")).toBeUndefined();
      expect(await store.values.get("shortened")).toBeUndefined();
    });
    expect(await store.values.get("kept")).toEqual({ text: "1", version: again });
  });

  it("keeps for ever what was put without one, also over a value that had one", async () => {
    const { store, passes } = fixture();
    await store.values.put("a", "1", { ttlMs: SHORT });
    await store.values.put("a", "2");
    await store.values.put("gone", "1", { ttlMs: SHORT });
    await passes(SHORT);
    await eventually(async () => expect(await store.values.get("gone")).toBeUndefined());
    expect((await store.values.get("a"))?.text).toBe("2");
  });
}

function groups(fixture: () => Fixture): void {
  it("lists what was put with it, in the order of UTF-16 units", async () => {
    const { store, second } = fixture();
    const names = ["b", "a", "B", "10", "9", "é", "\uffff", "😀", "", "aa", "a\0"];
    for (const name of names) await store.values.put(name, `text of ${name}`, { group: "g" });
    await store.values.put("not listed", "1");
    await store.values.put("elsewhere", "1", { group: "other" });
    const listed = await second.values.list("g");
    expect(listed.map(({ name }) => name)).toEqual(names.toSorted());
    for (const { name, text, version } of listed) {
      expect(text).toBe(`text of ${name}`);
      expect(await store.values.get(name)).toEqual({ text, version });
    }
  });

  it("lists a name once, with its newest text", async () => {
    const { store } = fixture();
    await store.values.put("a", "1", { group: "g" });
    const version = await store.values.put("a", "2", { group: "g" });
    expect(await store.values.list("g")).toEqual([{ name: "a", text: "2", version }]);
  });

  it("lists page by page: at most `limit`, those after `after`", async () => {
    const { store } = fixture();
    const names = Array.from({ length: 250 }, (_, i) => `name ${i}`).toSorted();
    await Promise.all(names.map((name) => store.values.put(name, "1", { group: "g" })));
    const pages: string[][] = [];
    for (let after: string | undefined; ; after = pages.at(-1)?.at(-1)) {
      const page = await store.values.list("g", after === undefined ? {} : { after });
      if (page.length === 0) break;
      pages.push(page.map(({ name }) => name));
    }
    expect(pages.map(({ length }) => length)).toEqual([100, 100, 50]);
    expect(pages.flat()).toEqual(names);
    expect((await store.values.list("g", { limit: 3 })).map(({ name }) => name)).toEqual(names.slice(0, 3));
    expect((await store.values.list("g", { limit: 250 })).map(({ name }) => name)).toEqual(names);
    const between = await store.values.list("g", { after: `${names[99]}!`, limit: 1 });
    expect(between.map(({ name }) => name)).toEqual([names[100]]);
    expect(await store.values.list("g", { after: "z" })).toEqual([]);
  });

  it("lists no more what was deleted or has expired, and fills the page with others", async () => {
    const { store, second, passes } = fixture();
    for (const name of ["a", "c"]) await store.values.put(name, "1", { group: "g", ttlMs: SHORT });
    for (const name of ["b", "d", "e", "f"]) await store.values.put(name, "1", { group: "g", ttlMs: LONG });
    await second.values.delete("d");
    await passes(SHORT);
    const names = async (): Promise<readonly string[]> =>
      (await store.values.list("g", { limit: 2 })).map(({ name }) => name);
    await eventually(async () => expect(await names()).toEqual(["b", "e"]));
    await second.values.put("a", "2", { group: "g" });
    expect(await names()).toEqual(["a", "b"]);
  });

  it("lists what was touched as long as it lives", async () => {
    const { store, passes } = fixture();
    await store.values.put("a", "1", { group: "g" });
    await store.values.touch("a", LONG);
    expect(await store.values.list("g")).toHaveLength(1);
    await store.values.touch("a", SHORT);
    await passes(SHORT);
    await eventually(async () => expect(await store.values.list("g")).toEqual([]));
  });
}
