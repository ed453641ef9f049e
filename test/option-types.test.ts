import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { readExports, sourcesOf } from "../scripts/entries.mjs";

const checked = readFileSync("test/options.test-d.ts", "utf8");
/** What a provider says, which happens to be called so. */
const foreign = ["ProviderOptions"];
const entries = Object.entries(readExports()).filter(([, entry]) => typeof entry !== "string");

it.each(entries)("every exported type of options of %s is checked to take undefined (T4)", (_name, entry) => {
  const sources = sourcesOf(entry);
  const spaces = sources.flatMap((source) => spaceOf(source) ?? []);
  const missing = `import type * as a name from "../${sources[0]}" in test/options.test-d.ts, and check its options there`;
  expect(spaces, missing).toHaveLength(1);
  const names = sources.flatMap(optionTypesOf).filter((name) => !foreign.includes(name));
  const unchecked = names.filter((name) => !new RegExp(`Refusing<\\w+\\.${name}\\b`).test(checked));
  expect(unchecked, "check each in test/options.test-d.ts, like the others").toEqual([]);
});

it("finds the types of options of an entry (T4)", () => {
  expect(optionTypesOf("src/connect/index.ts")).toContain("ConnectOptions");
  expect(optionTypesOf("src/transport/node/stdio.ts")).toEqual(["ServeStdioOptions"]);
});

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
