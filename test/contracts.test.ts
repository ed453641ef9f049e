import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

/**
 * The id of a contract. In the name of a test it stands in brackets at the end, or before a colon: `(C25, F159)`, `C38: …`. Whatever
 * looks like an id there counts as one.
 */
const ID = /[A-Z]{1,3}-?\d+/g;
const IDS = String.raw`([A-Z]{1,3}-?\d+(?:(?:, ?| and |\.\.|/)(?:[A-Z]{1,3}-?)?\d+)*)`;
const ENDING = new RegExp(String.raw`\(${IDS}\)["'\x60]`, "g");
const BEGINNING = new RegExp(String.raw`["'\x60]${IDS}: `, "g");

const page = readFileSync("docs/contracts.md", "utf8");
const promised = [...page.matchAll(/^\| ([A-Z]\d+) \|/gm)].map(([, id]) => id ?? "");
/** Rows of the page on attacks, which has a test of its own. */
const attacks = [...readFileSync("docs/security.md", "utf8").matchAll(/^\| <a id="\w+"><\/a>([^|]+) \|/gm)];
const known = new Set([...promised, ...attacks.flatMap(([, ids = ""]) => ids.split(", "))]);
const rows = [...page.matchAll(/^\| ([A-Z]\d+) \|.*\|([^|]*)\|$/gm)].map(([, id = "", tests = ""]) => ({
  id,
  files: [...tests.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file),
}));
const tested = new Set(["src", "test"].flatMap(testFilesIn).flatMap(idsIn));

describe("contracts", () => {
  it("are all tested", () => {
    expect(promised.filter((id) => !tested.has(id))).toEqual([]);
  });

  it("are all on the page, or on that of attacks", () => {
    expect([...tested].filter((id) => !known.has(id))).toEqual([]);
  });

  it("name files with a test of theirs", () => {
    expect(rows.map(({ id }) => id)).toEqual(promised);
    const shows = (id: string, file: string): boolean => existsSync(file) && idsIn(file).includes(id);
    expect(rows.filter(({ id, files }) => files.length === 0 || !files.every((file) => shows(id, file)))).toEqual([]);
  });

  it("are on the page once", () => {
    expect(new Set(promised).size).toBe(promised.length);
  });
});

function testFilesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.test(-d)?\.ts$/.test(file) && !file.includes("node_modules"))
    .map((file) => join(folder, file));
}

/** The ids in the names of the tests of a file. */
function idsIn(file: string): readonly string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(ENDING), ...text.matchAll(BEGINNING)].flatMap(([, ids = ""]) => ids.match(ID) ?? []);
}
