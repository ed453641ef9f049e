/**
 * What is not seen, or changes how its neighbours are seen: controls, directions
 * of writing, blanks without width, tags, halves of pairs. Not the two that
 * emoji are made with.
 */
const trick = /(?![\u200d\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Writes characters that play tricks on readers as escapes, which mean the same in a string of the language. */
export function withoutTricks(text: string): string {
  return text.replaceAll(trick, escaped);
}

function escaped(character: string): string {
  if (character === "\t") return character;
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}
