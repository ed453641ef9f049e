import { expect, it } from "vitest";
import { splitWords } from "./words.ts";

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
