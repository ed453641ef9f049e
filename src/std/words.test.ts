import fc from "fast-check";
import { expect, it } from "vitest";
import { splitWords } from "./text.ts";

it.each([
  ["node server.js", ["node", "server.js"]],
  ["  node\t'my server.js'  ", ["node", "my server.js"]],
  [`npx -y "a b"c 'd"e'`, ["npx", "-y", "a bc", 'd"e']],
  ["echo $HOME `id`", ["echo", "$HOME", "`id`"]],
  ["", []],
  [`say ""`, ["say", ""]],
  ["say 'oops", undefined],
  [`say "it's"`, ["say", "it's"]],
])("splits %j", (line, words) => {
  expect(splitWords(line)).toEqual(words);
});

it("gives back the words of a line that quotes them", () => {
  const plain = fc.string().filter((text) => !text.includes("'"));
  fc.assert(
    fc.property(fc.array(plain), fc.constantFrom(" ", "\t", "  "), (words, gap) => {
      expect(splitWords(words.map((word) => `'${word}'`).join(gap))).toEqual(words);
    }),
  );
});

it("never throws, and is done in no time", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("'", '"', " ", "a", "\\") }), (line) => {
      const words = splitWords(line);
      expect(words === undefined || words.every((word) => typeof word === "string")).toBe(true);
    }),
  );
  expect(splitWords(`${"a'".repeat(50_000)}"`)).toBeUndefined();
});
