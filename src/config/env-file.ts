import { limits } from "./tree.ts";

/** One variable of an env file, or a line that is none. */
export type EnvLine =
  | { readonly ok: true; readonly line: number; readonly name: string; readonly value: string }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/**
 * Reads lines of `NAME=value`, with `export` before and comments behind them.
 *
 * Quotes keep white space and `#`; double quotes also know `\n`, `\r`, `\t`,
 * `\"` and `\\`. Values may go over several lines in quotes. Nothing is expanded
 * and nothing is run. Of a name that is there twice the last counts.
 */
export function parseEnvFile(text: string): readonly EnvLine[] {
  const lines: EnvLine[] = [];
  let [at, line] = [0, 1];
  while (at < text.length && lines.length < limits.maxItems) {
    const match = matchAt(pair, text, at) ?? matchAt(anything, text, at);
    const whole = match?.[0] ?? "";
    const read = readLine(match?.groups ?? {}, whole, line);
    if (read !== undefined) lines.push(read);
    const end = at + whole.length + (matchAt(lineBreak, text, at + whole.length)?.[0].length ?? 0);
    line += text.slice(at, end).match(lineBreaks)?.length ?? 0;
    at = Math.max(end, at + 1);
  }
  return lines;
}

const pair =
  /[ \t]*(?:export[ \t]+)?(?<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*(?:"(?<double>[^"\\]*(?:\\[\s\S][^"\\]*)*)"|'(?<single>[^']*)'|(?<plain>(?!["'])(?:[^\r\n#]|(?<=\S)#)*))[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\r|$)/y;
const anything = /[^\r\n]*/y;
const lineBreak = /\r\n|\r|\n/y;
const lineBreaks = /\r\n|\r|\n/g;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function readLine(
  groups: Readonly<Record<string, string | undefined>>,
  whole: string,
  line: number,
): EnvLine | undefined {
  const { name, double, single, plain = "" } = groups;
  if (name === undefined) {
    const isEmpty = /^[ \t]*(?:#|$)/.test(whole);
    return isEmpty ? undefined : { ok: false, line, problem: "this line is not NAME=value" };
  }
  const value = double === undefined ? (single ?? plain.trim()) : withoutEscapes(double);
  return { ok: true, line, name, value };
}

function withoutEscapes(text: string): string {
  return text.replaceAll(/\\([nrt"\\])/g, (_, letter: string) => escapes[letter] ?? letter);
}

const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
