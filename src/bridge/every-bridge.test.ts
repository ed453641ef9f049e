import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readExports } from "../../scripts/entries.mjs";

/** The folders of `src/bridge` with an entry: one for each provider. */
const bridges = readdirSync("src/bridge").filter((name) => existsSync(`src/bridge/${name}/index.ts`));

const read = (file: string): string => readFileSync(file, "utf8");

describe("every bridge", () => {
  it("is found", () => {
    expect(bridges).toContain("anthropic");
    expect(bridges).not.toContain("lower");
  });

  it.each(bridges)("is exported as plugbay/bridge/%s", (name) => {
    const isExported = `./bridge/${name}` in readExports();
    expect(isExported, `add "./bridge/${name}" to "exports" in package.json`).toBe(true);
  });

  it.each(bridges)("has a row in docs/bridges.md: %s", (name) => {
    const hasRow = read("docs/bridges.md").includes(`| \`plugbay/bridge/${name}\` |`);
    expect(hasRow, `add plugbay/bridge/${name} to the tables of docs/bridges.md`).toBe(true);
  });

  it.each(bridges)("sends random schemas and arguments both ways: %s", (name) => {
    const isTested = read("src/bridge/round-trip.test.ts").includes(`from "./${name}/index.ts"`);
    expect(isTested, `add ${name} to \`ways\` in src/bridge/round-trip.test.ts`).toBe(true);
  });

  it.each(bridges)("takes options that are undefined: %s", (name) => {
    const isTested = read("test/undefined-options.test.ts").includes(`from "../src/bridge/${name}/index.ts"`);
    expect(isTested, `add ${name} to the list of bridges in test/undefined-options.test.ts`).toBe(true);
  });
});
