import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { decodeHeaderValue, encodeHeaderValue, type HeaderLookup, isHeaderFor } from "../std/header-value.ts";

/** An argument of a tool that is mirrored in an HTTP header. */
export interface ParamHeader {
  /** Name of the header in lower case, such as `mcp-param-region`. */
  readonly header: string;
  /** Names of the nested properties that lead from the arguments to the value. */
  readonly path: readonly string[];
  readonly type: "integer" | "string" | "boolean";
}

export type ParamHeaders =
  | { readonly ok: true; readonly headers: readonly ParamHeader[] }
  | { readonly ok: false; readonly problem: string };

/**
 * The `x-mcp-header` annotations of an input schema, or the first problem.
 *
 * The value of an annotation is an HTTP token, unique without regard to case. The
 * annotated schema has the type integer, string or boolean, and is reached through
 * `properties` only; an annotation anywhere else is a problem. So is a schema that
 * exceeds 128 levels or 100,000 objects and arrays.
 */
export function readParamHeaders(inputSchema: JsonObject): ParamHeaders {
  const search: Search = { found: new Map(), left: MAX_CONTAINERS };
  const problem = problemIn(inputSchema, { path: [], depth: 0 }, search);
  if (problem === undefined) return { ok: true, headers: [...search.found.values()] };
  return { ok: false, problem: tail(`inputSchema${problem}`) };
}

/**
 * The headers that a client sends for these arguments.
 *
 * An argument gets no header if it is absent or null, or if a header cannot carry
 * it: an unsafe integer, a fraction, an array or an object. The type in the schema
 * is ignored, so that the server can report an argument of the wrong type.
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
 * The mismatch between the headers and the arguments of a call, if there is one. It
 * names the header, and never a value.
 *
 * A header for an argument that is absent or null is a mismatch: an intermediary that
 * reads the header would see another call than the tool. So is an argument that a
 * header cannot carry.
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

/** Compares the arguments of calls of one tool with their headers. */
export interface HeaderCheck {
  /** The problem of an annotation. If there is one, calls are not compared. */
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
/** Keywords whose value is an object of schemas by name. */
const maps: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
  "$defs",
  "definitions",
]);
/** Keywords whose value is data, in which {@link ANNOTATION} has no meaning. */
const data: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", ANNOTATION]);

interface Search {
  readonly found: Map<string, ParamHeader>;
  /** Remaining number of objects and arrays to search. */
  left: number;
}

interface Place {
  /** Undefined if other keywords than `properties` lead to the schema. */
  readonly path: readonly string[] | undefined;
  readonly depth: number;
}

/** Searches a schema, or a list of schemas, for annotations. A problem begins with the rest of its path, such as `.items must …`. */
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

/** Keeps the end of a problem, because the names in its path have no maximum length. */
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

/** The text of a value in a header, or undefined if a header cannot carry it. */
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

/** The integer in a header value. Accepts `42.0` as 42, but no fraction that would be rounded. */
function integerIn(stated: string): number | undefined {
  const decoded = decodeHeaderValue(stated);
  return decoded.ok && /^-?[0-9]+(?:\.0+)?$/.test(decoded.value) ? Number(decoded.value) : undefined;
}
