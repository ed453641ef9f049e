const MAX_CHARS = 120;

/** The first sentence of a text, on one line and not longer than one. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, 1000)
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  const [sentence = line] = /^.*?[.!?](?= )/u.exec(line) ?? [];
  const chars = [...sentence];
  return chars.length <= MAX_CHARS
    ? sentence
    : `${chars
        .slice(0, MAX_CHARS - 1)
        .join("")
        .trimEnd()}…`;
}
