import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { decodeHeaderValue, encodeHeaderValue, type HeaderLookup, isHeaderFor } from "../std/header-value.ts";

/** An argument of a tool that a header repeats. */
export interface ParamHeader {
  /** In lower case: `mcp-param-region`. */
  readonly header: string;
  /** The names that lead from the arguments to the value. */
  readonly path: readonly string[];
  readonly type: "integer" | "string" | "boolean";
}

export type ParamHeaders =
  | { readonly ok: true; readonly headers: readonly ParamHeader[] }
  | { readonly ok: false; readonly problem: string };

/**
 * The `x-mcp-header` annotations of an input schema, or what is wrong with one.
 *
 * An annotation names its header with a token, which no other one uses in any
 * case. It stands on an integer, a string or a boolean that `properties` alone
 * lead to; anywhere else it makes the schema invalid. So does a schema that is
 * too large to look through.
 */
export function readParamHeaders(inputSchema: JsonObject): ParamHeaders {
  const search: Search = { found: new Map(), left: MAX_CONTAINERS };
  const problem = problemIn(inputSchema, { path: [], depth: 0 }, search);
  if (problem === undefined) return { ok: true, headers: [...search.found.values()] };
  return { ok: false, problem: tail(`inputSchema${problem}`) };
}

/**
 * The headers that repeat these arguments, for a client to send.
 *
 * An argument that is absent or null has none, and neither has one that no
 * header can carry: an integer beyond what a double holds exactly, a fraction,
 * an array, an object. What the schema wants does not matter, so that a server
 * can say what is wrong with an argument of another type.
 */
export function paramHeaderValues(
  headers: readonly ParamHeader[],
  args: JsonObject | undefined,
): readonly (readonly [header: string, value: string])[] {
  return headers.flatMap(({ header, path }) => {
    const text = textOf(valueAt(args, path));
    return text === undefined ? [] : [[header, encodeHeaderValue(text)] as const];
  });
}

/**
 * Why the headers of a call do not repeat its arguments, if so. Tells the name
 * of the header and never a value.
 *
 * A header for an argument that is absent or null is a mismatch: whoever looked
 * at the header saw another call than the tool would. So is an argument that no
 * header can carry.
 */
export function paramHeaderProblem(
  headers: readonly ParamHeader[],
  args: JsonObject | undefined,
  header: HeaderLookup,
): string | undefined {
  for (const { header: name, path } of headers) {
    const problem = mismatch(valueAt(args, path), header(name));
    if (problem !== undefined) return `the ${name} header ${problem}`;
  }
  return undefined;
}

/** Compares calls of one tool with their headers. */
export interface HeaderCheck {
  /** What is wrong with an annotation: then no call is compared. */
  readonly problem: string | undefined;
  mismatch(args: JsonObject | undefined, header: HeaderLookup): string | undefined;
}

export function createHeaderCheck(inputSchema: JsonObject): HeaderCheck {
  const read = readParamHeaders(inputSchema);
  return {
    problem: read.ok ? undefined : read.problem,
    mismatch: (args, header) => (read.ok ? paramHeaderProblem(read.headers, args, header) : undefined),
  };
}

const ANNOTATION = "x-mcp-header";
const MAX_DEPTH = 128;
const MAX_CONTAINERS = 100_000;
const MAX_PROBLEM = 200;

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Keywords whose operand has schemas by names. */
const maps: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
  "$defs",
  "definitions",
]);
/** Keywords whose operand is data: what looks like an annotation there is none. */
const data: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", ANNOTATION]);

interface Search {
  readonly found: Map<string, ParamHeader>;
  /** Objects and arrays that may still be looked at. */
  left: number;
}

interface Place {
  /** Undefined where it is not `properties` alone that lead there. */
  readonly path: readonly string[] | undefined;
  readonly depth: number;
}

/** Looks at a schema, or at a list of them. A problem is worded to follow the name of what has it. */
function problemIn(schema: Json | undefined, place: Place, search: Search): string | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  if (place.depth > MAX_DEPTH || search.left-- === 0) return " is too large to look through";
  if (!isObject(schema)) return listProblem(schema, place, search);
  return annotationProblem(schema, place, search) ?? keywordProblem(schema, place, search);
}

function listProblem(schemas: readonly Json[], { depth }: Place, search: Search): string | undefined {
  for (const [index, schema] of schemas.entries()) {
    const problem = problemIn(schema, { path: undefined, depth: depth + 1 }, search);
    if (problem !== undefined) return `[${index}]${problem}`;
  }
  return undefined;
}

function keywordProblem(schema: JsonObject, place: Place, search: Search): string | undefined {
  for (const [keyword, operand] of Object.entries(schema)) {
    if (data.has(keyword)) continue;
    const problem =
      maps.has(keyword) && isObject(operand)
        ? mapProblem(operand, { ...place, path: keyword === "properties" ? place.path : undefined }, search)
        : problemIn(operand, { path: undefined, depth: place.depth + 1 }, search);
    if (problem !== undefined) return `.${keyword}${problem}`;
  }
  return undefined;
}

function mapProblem(schemas: JsonObject, { path, depth }: Place, search: Search): string | undefined {
  for (const [name, schema] of Object.entries(schemas)) {
    const problem = problemIn(schema, { path: path && [...path, name], depth: depth + 1 }, search);
    if (problem !== undefined) return `.${name}${problem}`;
  }
  return undefined;
}

function annotationProblem(schema: JsonObject, { path }: Place, { found }: Search): string | undefined {
  const { [ANNOTATION]: name, type } = schema;
  if (name === undefined) return undefined;
  if (path === undefined || path.length === 0) return ` must not have ${ANNOTATION}: only properties lead to arguments`;
  if (typeof name !== "string" || !token.test(name)) return `.${ANNOTATION} must be a token`;
  if (!isHeaderType(type)) return ` with ${ANNOTATION} must be of type integer, string or boolean`;
  const header = `mcp-param-${name.toLowerCase()}`;
  if (found.has(header)) return `.${ANNOTATION} must be unique`;
  found.set(header, { header, path, type });
  return undefined;
}

function isHeaderType(type: Json | undefined): type is ParamHeader["type"] {
  return type === "integer" || type === "string" || type === "boolean";
}

/** The names in a schema may be as long as they like. */
function tail(problem: string): string {
  return problem.length > MAX_PROBLEM ? `…${problem.slice(-MAX_PROBLEM)}` : problem;
}

function valueAt(args: JsonObject | undefined, path: readonly string[]): Json | undefined {
  let value: Json | undefined = args;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** The text that a header carries for a value, if one can. */
function textOf(value: Json | undefined): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "boolean" || Number.isSafeInteger(value) ? String(value) : undefined;
}

function mismatch(value: Json | undefined, stated: string | undefined): string | undefined {
  if (value === undefined || value === null) return stated === undefined ? undefined : "repeats no argument";
  const text = textOf(value);
  if (text === undefined) return "cannot carry the argument";
  if (stated === undefined) return "is missing";
  const same = isHeaderFor(text, stated) || (typeof value === "number" && integerIn(stated) === value);
  return same ? undefined : "does not match the argument";
}

/** Compared as text, `42.0` would not be 42. What is not an integer must not be rounded to one. */
function integerIn(stated: string): number | undefined {
  const decoded = decodeHeaderValue(stated);
  return decoded.ok && /^-?[0-9]+(?:\.0+)?$/.test(decoded.value) ? Number(decoded.value) : undefined;
}
