import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

type Exports = string | { readonly [condition: string]: Exports };

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { exports: Readonly<Record<string, Exports>> };
const checked = readFileSync("test/options.test-d.ts", "utf8");
/** What a provider says, which happens to be called so. */
const foreign = ["ProviderOptions"];
const entries = Object.entries(manifest.exports).filter(([, entry]) => typeof entry !== "string");

it.each(entries)("every exported type of options of %s is checked to take undefined (T4)", (_name, entry) => {
  const sources = sourcesOf(entry);
  const spaces = sources.flatMap((source) => spaceOf(source) ?? []);
  expect(spaces).toHaveLength(1);
  const names = sources.flatMap(optionTypesOf).filter((name) => !foreign.includes(name));
  expect(names.filter((name) => !checked.includes(`Refusing<${spaces[0]}.${name}`))).toEqual([]);
});

it("finds the types of options of an entry (T4)", () => {
  expect(optionTypesOf("src/connect/index.ts")).toContain("ConnectOptions");
  expect(optionTypesOf("src/transport/node/stdio.ts")).toEqual(["ServeStdioOptions"]);
});

/** The sources of an entry: under one condition or another, it is one of these. */
function sourcesOf(entry: Exports): readonly string[] {
  const files = typeof entry === "string" ? [entry] : Object.values(entry).flatMap(sourcesOf);
  const sources = files.map((file) => file.replace(/^\.\/dist\//, "src/").replace(/(?:\.d\.ts|\.js)$/, ".ts"));
  return [...new Set(sources.filter((file) => file.startsWith("src/") && !file.startsWith("src/node/")))];
}

/** What the test of types imports an entry as. */
function spaceOf(source: string): string | undefined {
  return new RegExp(String.raw`import type \* as (\w+) from "\.\./${source}"`).exec(checked)?.[1];
}

/** The names that a file exports and that end in `Options`. */
function optionTypesOf(source: string): readonly string[] {
  const text = readFileSync(source, "utf8");
  const own = [...text.matchAll(/^export (?:interface|type) (\w+Options)\b/gm)].map(([, name = ""]) => name);
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = ""]) => list.split(","));
  const named = lists.flatMap((item) => /\b(\w+Options)\s*$/.exec(item)?.[1] ?? []);
  const stars = [...text.matchAll(/^export (?:type )?\* from "([^"]+)"/gm)];
  return [...own, ...named, ...stars.flatMap(([, file = ""]) => optionTypesOf(join(dirname(source), file)))];
}
