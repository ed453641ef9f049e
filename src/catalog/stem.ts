/**
 * An English word without its plural, `-ing` or `-ed`, and without a final `e`,
 * so that `creates`, `creating` and `created` are the same as `create`.
 *
 * What comes out need not be a word. Words of other alphabets and short ones
 * stay as they are. Takes lower case.
 */
export function stemOf(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  return withoutE(withoutTense(withoutPlural(word)));
}

function withoutPlural(word: string): string {
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|zz)es$/.test(word)) return word.slice(0, -2);
  return /[^siu]s$/.test(word) ? word.slice(0, -1) : word;
}

/** Only where something with a vowel is left: `string` and `feed` have no tense. */
function withoutTense(word: string): string {
  const [, start = "", ending] = /^(.*[aeiouy].*?)(ing|ed)$/.exec(word) ?? [];
  if (ending === undefined || start.length < 3 || start.endsWith("e")) return word;
  return /([bdgmnprt])\1$/.test(start) ? start.slice(0, -1) : start;
}

function withoutE(word: string): string {
  return word.length > 3 && word.endsWith("e") ? word.slice(0, -1) : word;
}
