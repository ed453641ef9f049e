/**
 * What a reader does not see, or sees in another order: control and format
 * characters (zero width, directions, tags), variation selectors, fillers,
 * blanks that are no space, and characters for private use.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** A text on which nothing is hidden: `a\u{200b}b`. */
export function visible(text: string): string {
  return text.replaceAll(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

const hiddenInJson = new RegExp(`(?!\\n)(?:${hidden.source})`, "gu");

/** The same JSON text, in which nothing is hidden but its line ends: `"a\u200bb"`. */
export function visibleJson(text: string): string {
  return text.replaceAll(hiddenInJson, escapesOf);
}

function escapesOf(char: string): string {
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
