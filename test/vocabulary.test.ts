import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript-5.9";
import { describe, expect, it } from "vitest";

/** Words that no name in `src` has: each stood for something that MCP, HTTP or Node has a word for. */
const retired = [
  ...["afterlife", "desk", "dialogue", "goodbye", "hello", "keepsake", "keepsakes", "outlet", "passage", "pulse"],
  ...["roster", "seat", "shelf", "twin", "welcome"],
];

/** The same, outside of the folders that have yet to follow. */
const retiredHere = [
  ...["exchanges", "farewell", "farewells", "greeting", "hearer", "hearers", "recollection", "whoever"],
  ...["comeBack", "goOn", "letRunOut", "isPutOff", "toldMs"],
];

const yetToFollow = /^(host|gateway|cli)[\\/]/;

const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) =>
  /(?<!\.test)\.ts$/.test(file),
);

/** The identifiers of a source text, without those in comments and strings. */
function identifiersOf(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) found.add(node.text.replace(/^#/, ""));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest));
  return found;
}

/** A name in lower case, with the words it is made of: `sendFarewell` gives `sendfarewell`, `send` and `farewell`. */
function wordsOf(name: string): readonly string[] {
  const parts = name.split(/_|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/);
  return [name, ...parts].map((part) => part.toLowerCase());
}

/** The names of a source text that have a retired word. */
function retiredNames(text: string, words: readonly string[]): readonly string[] {
  const banned = new Set(words.map((word) => word.toLowerCase()));
  return [...identifiersOf(text)].filter((name) => wordsOf(name).some((word) => banned.has(word)));
}

describe("names in the source", () => {
  it("have no retired words", { timeout: 60_000 }, () => {
    const found = sources.flatMap((file) => {
      const words = yetToFollow.test(file) ? retired : [...retired, ...retiredHere];
      return retiredNames(readFileSync(`src/${file}`, "utf8"), words).map((name) => `src/${file}: ${name}`);
    });
    expect(sources.length).toBeGreaterThan(500);
    expect(found).toEqual([]);
  });

  it("are read without comments and strings, as a whole and word by word", () => {
    const text = 'const sendHello = (GOOD_SEAT: string) => "welcome"; // the roster\nclass A { #goOn = 1; seats = 2; }';
    expect(retiredNames(text, ["hello", "seat", "goOn", "welcome", "roster"])).toEqual([
      "sendHello",
      "GOOD_SEAT",
      "goOn",
    ]);
  });
});
