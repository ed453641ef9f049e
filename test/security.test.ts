import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { protections } from "../scripts/without-protection/protections.mjs";

const page = readFileSync("docs/security.md", "utf8");
const rows = [...page.matchAll(/^\| <a id="(\w+)"><\/a>([^|]+) \|(?:[^|]*\|){2}([^|]*)\|$/gm)].map(
  ([, anchor = "", ids = "", tests = ""]) => ({
    anchor,
    ids: ids.split(", "),
    files: [...tests.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file),
  }),
);
const known = rows.flatMap(({ ids }) => ids);
const promised = [...readFileSync("docs/contracts.md", "utf8").matchAll(/^\| ([A-Z]\d+) \|/gm)].map(
  ([, id = ""]) => id,
);

describe("docs/security.md", () => {
  it("has every row once", () => {
    expect(rows.length).toBeGreaterThan(70);
    expect(new Set(known).size).toBe(known.length);
    expect(rows.filter(({ anchor, ids }) => anchor.toUpperCase() !== ids[0])).toEqual([]);
    expect(page.match(/^\| <a /gm)?.length).toBe(rows.length);
  });

  it("has all attacks that once got through, all classes of attacks and the hardening list", () => {
    const all = [...series("S", 15), ...series("V", 41), ...series("H", 23)];
    expect(all.filter((id) => !known.includes(id))).toEqual([]);
  });

  it.each(rows)("$anchor names tests that carry its ids", ({ ids, files }) => {
    expect(files).not.toEqual([]);
    expect(files.filter((file) => !existsSync(file) || !ids.some((id) => carries(file, id)))).toEqual([]);
    expect(ids.filter((id) => !files.some((file) => carries(file, id)))).toEqual([]);
  });
});

describe("SECURITY.md", () => {
  const promises = readFileSync("SECURITY.md", "utf8").match(/^- \*\*.*(?:\n {2}.*)*/gm) ?? [];
  const linked = (text: string) => [...text.matchAll(/\]\(docs\/security\.md#(\w+)\)/g)].map(([, anchor]) => anchor);

  it("has promises", () => {
    expect(promises.length).toBeGreaterThan(8);
  });

  it.each(promises)("links each sentence to a row: %s", (promise) => {
    const sentences = promise.replace(/^- \*\*[^*]*\*\*/, "").split(/(?<=\.)\s+(?=[A-Z])/);
    expect(sentences.filter((sentence) => linked(sentence).length === 0)).toEqual([]);
  });

  it("links only to rows that there are, and that have a test", () => {
    const proved = rows.filter(({ files }) => files.length > 0).map(({ anchor }) => anchor);
    expect(promises.flatMap(linked).filter((anchor = "") => !proved.includes(anchor))).toEqual([]);
  });
});

describe("the protections that can be taken away by hand", () => {
  it.each(protections)("are where the list says: $name", ({ ids, file, from, test }) => {
    expect(readFileSync(file, "utf8").split(from)).toHaveLength(2);
    expect(existsSync(test)).toBe(true);
    expect(ids.filter((id) => !known.includes(id) && !promised.includes(id))).toEqual([]);
  });

  it("stand for every id of the page", () => {
    const covered = new Set(protections.flatMap(({ ids }) => ids));
    expect(known.filter((id) => !covered.has(id))).toEqual([]);
  });

  it("have names of their own", () => {
    const names = protections.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it.each(protections.filter(({ only }) => only !== undefined))(
    "name tests that are there: $name",
    ({ test, only }) => {
      expect(readFileSync(test, "utf8")).toContain(only);
    },
  );
});

/** Whether a test of this file has this id in its title. */
function carries(file: string, id: string): boolean {
  const inTitle = String.raw`\((?:[A-Z]+\d+, ?)*${id}[,)]|["'\`](?:[A-Z]+\d+, ?)*${id}[,:]`;
  return new RegExp(inTitle).test(readFileSync(file, "utf8"));
}

function series(letter: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${letter}${n + 1}`);
}
