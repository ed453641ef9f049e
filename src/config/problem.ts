import { McpError } from "../protocol/errors.ts";

/** Something that is wrong with one server, or with one file as a whole. It never has the value of a setting in it. */
export interface ConfigProblem {
  /** An `error` makes its server unusable; a `warning` does not. */
  readonly level: "error" | "warning";
  readonly place: SourceLocation;
  readonly server?: string;
  /** Such as `env.API_KEY` or `args[2]`. */
  readonly field?: string;
  /** The variable or input that is missing. */
  readonly variable?: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
}

/** A problem in one line: `mcp.json:7:9: shop: env.API_KEY needs the variable API_KEY, which is not set (…)`. */
export function formatConfigProblem({ place, server, message, hint }: ConfigProblem): string {
  const who = server === undefined ? "" : `${shownName(server)}: `;
  return `${formatLocation(place)}: ${who}${message}${hint === undefined ? "" : ` (${hint})`}`;
}

/** The error of a file that is invalid as a whole. Its message begins with the location. */
export function invalidConfig(place: SourceLocation, message: string): McpError {
  const { path, line, column } = place;
  const data = { path, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  return new McpError("invalid-config", `${formatLocation(place)}: ${message}`, { data });
}

/** A name as it can be shown in a line: as it is, or quoted where it could be misread. */
export function shownName(name: string): string {
  const short = name.length > maxShown ? `${name.slice(0, maxShown)}…` : name;
  return /^[\w.@/+-]+…?$/.test(short) ? short : JSON.stringify(short).replaceAll(invisible, escapeOf);
}

const maxShown = 64;
const invisible = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A location in a file. Lines and columns count from 1. */
export interface SourceLocation {
  /** The path of the file, as it was given. */
  readonly path: string;
  /** Not there for what was given in code. */
  readonly line?: number;
  readonly column?: number;
}

/** `mcp.json:3:5`, as editors and terminals understand it. */
export function formatLocation({ path, line, column }: SourceLocation): string {
  return line === undefined ? path : `${path}:${line}:${column ?? 1}`;
}

/** The location of an offset in a text. */
export type Locate = (offset: number) => SourceLocation;

/**
 * Finds locations in a text. Lines end with `
 * `, `\r
 * ` or `\r`.
 */
export function locator(path: string, text: string): Locate {
  const starts = [0];
  for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) starts.push(index + end.length);
  return (offset) => {
    const line = lineOf(starts, offset);
    return { path, line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

/** The last line that starts at or before the offset. */
function lineOf(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
