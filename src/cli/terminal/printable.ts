/** What moves the cursor, hides text or turns the writing around; tabs and line breaks stay. */
const unsafe = /[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** A text of somebody else that cannot do anything to a terminal: what would is shown as an escape. */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(unsafe, escapeOf);
}

/** The same in one line, cut after so many characters. */
export function oneLine(text: string, maxChars = 200): string {
  const line = printable(text).replaceAll(/\s+/g, " ").trim();
  return line.length > maxChars ? `${line.slice(0, maxChars - 1)}…` : line;
}

function escapeOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
