const MAX_QUOTED = 100;

/** A foreign text for a message or a log: in quotes, shortened, without invisible characters. */
export function quote(value: string | undefined): string {
  if (value === undefined) return "(none)";
  const end = value.length > MAX_QUOTED ? "…" : "";
  return `"${value.slice(0, MAX_QUOTED).replaceAll(/\p{C}/gu, "")}${end}"`;
}

const word = /(?:[^\s"']|"[^"]*"|'[^']*')+/g;
const quoted = /"([^"]*)"|'([^']*)'/g;

/**
 * The words of a command line: separated by white space, kept together by
 * single or double quotes. Nothing is expanded. Undefined when a quote is open.
 */
export function splitWords(line: string): readonly string[] | undefined {
  if (/["']/.test(line.replaceAll(quoted, ""))) return undefined;
  return (line.match(word) ?? []).map((text) => text.replaceAll(quoted, "$1$2"));
}
