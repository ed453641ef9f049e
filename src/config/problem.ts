import { McpError } from "../model/errors.ts";
import { formatPlace, type Place } from "./place.ts";

/** Something that is wrong with one server, or with one file as a whole. It never has the value of a setting in it. */
export interface ConfigProblem {
  /** An `error` makes its server unusable; a `warning` does not. */
  readonly level: "error" | "warning";
  readonly place: Place;
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
export function formatProblem({ place, server, message, hint }: ConfigProblem): string {
  const who = server === undefined ? "" : `${shownName(server)}: `;
  return `${formatPlace(place)}: ${who}${message}${hint === undefined ? "" : ` (${hint})`}`;
}

/** The error of a file that cannot be understood. Its message begins with the place. */
export function invalidConfig(place: Place, message: string): McpError {
  const { path, line, column } = place;
  const data = { path, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  return new McpError("invalid-config", `${formatPlace(place)}: ${message}`, { data });
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
