import type { ContractCases } from "./cases.ts";
import { equal, eventually, given, LONG, rejects, SHORT, strangeNames } from "./support.ts";

export const valueCases: ContractCases = {
  async "has nothing under a name that was never put"({ store }) {
    equal(await store.values.get("a"), undefined);
    equal(await store.values.touch("a", LONG), false);
    equal(await store.values.delete("a"), false);
    equal(await store.values.list("a"), []);
  },

  async "gives every handle what one has put"({ store, second }) {
    const version = await store.values.put("a", "1");
    equal(await store.values.get("a"), { text: "1", version });
    equal(await second.values.get("a"), { text: "1", version });
    equal(await second.values.delete("a"), true);
    equal(await store.values.get("a"), undefined);
    equal(await store.values.delete("a"), false);
  },

  async "changes the version with every write, also of the same text and after a delete"({ store }) {
    const versions = new Set<string | undefined>();
    for (let i = 0; i < 3; i++) {
      versions.add(await store.values.put("a", "1"));
      versions.add(await store.values.put("a", "1"));
      await store.values.delete("a");
    }
    equal(versions.size, 6);
    equal(versions.has(undefined), false);
  },

  async "keeps empty and large texts as they are"({ store, second }) {
    const texts = ["", "\0", "a\0b", " \r\n\t", "é😀\uffff", "x".repeat(1_048_576), "é😀".repeat(200_000)];
    for (const text of texts) {
      await store.values.put("a", text);
      equal((await second.values.get("a"))?.text === text, true);
    }
  },

  async "takes any text of up to 512 characters as a name, and keeps names apart"({ store, second }) {
    for (const name of strangeNames) await store.values.put(name, `text of ${name}`, { group: name });
    for (const name of strangeNames) {
      const { text, version } = given(await second.values.get(name));
      equal(text, `text of ${name}`);
      equal(await second.values.list(name), [{ name, text, version }]);
    }
    for (const name of strangeNames) equal(await second.values.delete(name), true);
  },

  async "refuses a longer name, and a time to live that is none"({ store }) {
    const long = "x".repeat(513);
    await rejects(() => store.values.get(long), "invalid");
    await rejects(() => store.values.put(long, "1"), "invalid");
    await rejects(() => store.values.put("a", "1", { group: long }), "invalid");
    await rejects(() => store.values.list(long), "invalid");
    await rejects(() => store.values.put("a", "1", { ttlMs: 0 }), "invalid");
    await rejects(() => store.values.touch("a", -1), "invalid");
    await rejects(() => store.values.add("a", 1, Number.NaN), "invalid");
  },
};

export const conditionCases: ContractCases = {
  async "writes only if the version is the one given"({ store, second }) {
    const first = given(await store.values.put("a", "1"));
    const next = given(await second.values.put("a", "2", { version: first }));
    equal(await store.values.put("a", "3", { version: first }), undefined);
    equal(await store.values.put("none", "3", { version: first }), undefined);
    equal(await store.values.get("a"), { text: "2", version: next });
    equal(await store.values.get("none"), undefined);
  },

  async "writes only if there is no value, for null"({ store, second }) {
    const version = given(await store.values.put("a", "1", { version: null }));
    equal(await second.values.put("a", "2", { version: null }), undefined);
    equal(await store.values.get("a"), { text: "1", version });
    await store.values.delete("a");
    equal(typeof (await second.values.put("a", "2", { version: null })), "string");
  },

  async "deletes only if the version is the one given"({ store }) {
    const first = given(await store.values.put("a", "1"));
    const next = given(await store.values.put("a", "2"));
    equal(await store.values.delete("a", { version: first }), false);
    equal(await store.values.delete("a", { version: null }), false);
    equal(await store.values.get("a"), { text: "2", version: next });
    equal(await store.values.delete("a", { version: next }), true);
    equal(await store.values.delete("a", { version: null }), false);
    equal(await store.values.get("a"), undefined);
  },

  async "lets one of many who saw the same version write"({ store, second }) {
    const version = given(await store.values.put("a", "0"));
    const writes = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? store : second).values.put("a", `${i}`, { version }),
    );
    const written = (await Promise.all(writes)).filter((result) => result !== undefined);
    equal(written.length, 1);
    equal((await store.values.get("a"))?.version, written[0]);
  },

  async "leaves time to live and group as they were when a condition does not hold"({ store, passes }) {
    await store.values.put("a", "1", { ttlMs: SHORT, group: "g" });
    await store.values.put("a", "2", { version: "no version", group: "other" });
    equal(await store.values.list("other"), []);
    await passes(SHORT);
    await eventually(async () => equal(await store.values.get("a"), undefined));
    equal(await store.values.list("g"), []);
  },

  async "writes with a fence until there is a later lease on this name"({ store, second }) {
    equal(typeof (await store.values.put("a", "0", { fence: 0 })), "string");
    const first = given(await store.leases.acquire("a", LONG));
    equal(typeof (await store.values.put("a", "1", { fence: first.token })), "string");
    await first.release();
    equal(typeof (await store.values.put("a", "2", { fence: first.token })), "string");
    await second.leases.acquire("b", LONG);
    equal(typeof (await store.values.put("a", "3", { fence: first.token })), "string");

    const later = given(await second.leases.acquire("a", LONG));
    equal(await store.values.put("a", "4", { fence: first.token }), undefined);
    equal(await store.values.delete("a", { fence: first.token }), false);
    equal((await store.values.get("a"))?.text, "3");
    await later.release();
    equal(await store.values.put("a", "4", { fence: first.token }), undefined);
    equal(typeof (await second.values.put("a", "5", { fence: later.token })), "string");
    equal(typeof (await store.values.put("a", "6")), "string");
    equal(await second.values.delete("a", { fence: later.token }), true);
  },

  async "needs both the version and the fence"({ store }) {
    const lease = given(await store.leases.acquire("a", LONG));
    const version = given(await store.values.put("a", "1", { version: null, fence: lease.token }));
    equal(await store.values.put("a", "2", { version: "no version", fence: lease.token }), undefined);
    equal(await store.values.put("a", "2", { version, fence: lease.token - 1 }), undefined);
    equal(await store.values.delete("a", { version, fence: lease.token - 1 }), false);
    equal(typeof (await store.values.put("a", "2", { version, fence: lease.token })), "string");
  },
};

export const expiryCases: ContractCases = {
  async "forgets after that time, and takes a new value as the first"({ store, second, passes }) {
    await store.values.put("a", "1", { ttlMs: SHORT });
    await store.values.put("b", "1", { ttlMs: LONG });
    await passes(SHORT);
    await eventually(async () => equal(await second.values.get("a"), undefined));
    equal(await store.values.touch("a", LONG), false);
    equal(await store.values.delete("a"), false);
    equal(typeof (await second.values.put("a", "2", { version: null })), "string");
    equal((await store.values.get("b"))?.text, "1");
  },

  async "gives a value another time to live and the same version with touch"({ store, second, passes }) {
    const version = await store.values.put("kept", "1", { ttlMs: SHORT });
    await store.values.put("gone", "1", { ttlMs: SHORT });
    await store.values.put("shortened", "1");
    // On a slow machine it may be gone already: then it is put anew, which touch must keep as well.
    const again = (await second.values.touch("kept", LONG))
      ? version
      : await store.values.put("kept", "1", { ttlMs: LONG });
    equal(await second.values.touch("shortened", SHORT), true);
    await passes(SHORT);
    await eventually(async () => {
      equal(await store.values.get("gone"), undefined);
      equal(await store.values.get("shortened"), undefined);
    });
    equal(await store.values.get("kept"), { text: "1", version: again });
  },

  async "keeps for ever what was put without one, also over a value that had one"({ store, passes }) {
    await store.values.put("a", "1", { ttlMs: SHORT });
    await store.values.put("a", "2");
    await store.values.put("gone", "1", { ttlMs: SHORT });
    await passes(SHORT);
    await eventually(async () => equal(await store.values.get("gone"), undefined));
    equal((await store.values.get("a"))?.text, "2");
  },
};

export const groupCases: ContractCases = {
  async "lists what was put with it, in the order of UTF-16 units"({ store, second }) {
    const names = ["b", "a", "B", "10", "9", "é", "\uffff", "😀", "", "aa", "a\0"];
    for (const name of names) await store.values.put(name, `text of ${name}`, { group: "g" });
    await store.values.put("not listed", "1");
    await store.values.put("elsewhere", "1", { group: "other" });
    const listed = await second.values.list("g");
    equal(
      listed.map(({ name }) => name),
      names.toSorted(),
    );
    for (const { name, text, version } of listed) {
      equal(text, `text of ${name}`);
      equal(await store.values.get(name), { text, version });
    }
  },

  async "lists a name once, with its newest text"({ store }) {
    await store.values.put("a", "1", { group: "g" });
    const version = await store.values.put("a", "2", { group: "g" });
    equal(await store.values.list("g"), [{ name: "a", text: "2", version }]);
  },

  async "lists page by page: at most `limit`, those after `after`"({ store }) {
    const names = Array.from({ length: 250 }, (_, i) => `name ${i}`).toSorted();
    await Promise.all(names.map((name) => store.values.put(name, "1", { group: "g" })));
    const pages: string[][] = [];
    for (let after: string | undefined; ; after = pages.at(-1)?.at(-1)) {
      const page = await store.values.list("g", after === undefined ? {} : { after });
      if (page.length === 0) break;
      pages.push(page.map(({ name }) => name));
    }
    equal(
      pages.map(({ length }) => length),
      [100, 100, 50],
    );
    equal(pages.flat(), names);
    equal(
      (await store.values.list("g", { limit: 3 })).map(({ name }) => name),
      names.slice(0, 3),
    );
    equal(
      (await store.values.list("g", { limit: 250 })).map(({ name }) => name),
      names,
    );
    const between = await store.values.list("g", { after: `${names[99]}!`, limit: 1 });
    equal(
      between.map(({ name }) => name),
      [names[100]],
    );
    equal(await store.values.list("g", { after: "z" }), []);
  },

  async "lists no more what was deleted or has expired, and fills the page with others"({ store, second, passes }) {
    for (const name of ["a", "c"]) await store.values.put(name, "1", { group: "g", ttlMs: SHORT });
    for (const name of ["b", "d", "e", "f"]) await store.values.put(name, "1", { group: "g", ttlMs: LONG });
    await second.values.delete("d");
    await passes(SHORT);
    const names = async (): Promise<readonly string[]> =>
      (await store.values.list("g", { limit: 2 })).map(({ name }) => name);
    await eventually(async () => equal(await names(), ["b", "e"]));
    await second.values.put("a", "2", { group: "g" });
    equal(await names(), ["a", "b"]);
  },

  async "lists what was touched as long as it lives"({ store, passes }) {
    await store.values.put("a", "1", { group: "g" });
    await store.values.touch("a", LONG);
    equal((await store.values.list("g")).length, 1);
    await store.values.touch("a", SHORT);
    await passes(SHORT);
    await eventually(async () => equal(await store.values.list("g"), []));
  },
};
