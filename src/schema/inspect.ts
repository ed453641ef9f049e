import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { entries, isReference, token, vocabulary } from "./vocabulary.ts";

/** Bounds on one plain JSON Schema. */
export interface SchemaLimits {
  /** Maximum nesting of subschemas, and length of a chain of references. */
  readonly maxDepth: number;
  /** Maximum number of subschemas in total, and of subschemas applied to one value with references followed. */
  readonly maxSubschemas: number;
}

export const defaultSchemaLimits: SchemaLimits = { maxDepth: 64, maxSubschemas: 10_000 };

/** A plain JSON Schema that is well-formed and within the limits. Its references are not resolved yet. */
export interface Inspected {
  readonly root: JsonObject;
  readonly limits: SchemaLimits;
  /** The JSON Pointer of every pattern. All are valid regular expressions, not yet proved safe. */
  readonly patterns: Map<string, string>;
  /** Whether the schema has references. */
  readonly refers: boolean;
  /** Whether the schema has `format`. */
  readonly formats: boolean;
  /** Number of subschemas inspected so far. */
  readonly count: number;
}

export type Inspection =
  | { readonly ok: true; readonly value: Inspected }
  | { readonly ok: false; readonly problem: string };

/**
 * Inspects a plain JSON Schema when it is defined.
 *
 * Keywords must have values of the right type, patterns must be regular expressions,
 * and the limits must hold. A problem names the location as `#` and a JSON Pointer.
 */
export function inspectSchema(root: JsonObject, limits: SchemaLimits = defaultSchemaLimits): Inspection {
  const walk: Walk = { root, limits, patterns: new Map(), refers: false, formats: false, count: 0 };
  const problem = visit(walk, { schema: root, at: "#", depth: 0, draft: 2020 });
  if (problem !== undefined) return { ok: false, problem };
  // References may target schemas below unknown keywords, which the walk does not visit.
  walk.formats ||= walk.refers && JSON.stringify(root).includes('"format"');
  return { ok: true, value: walk };
}

/** Inspects a part of the same schema that is reached only by a reference. Returns its problem, if there is one. */
export function inspectTarget(inspected: Inspected, schema: Json, at: string, draft: number): string | undefined {
  return visit(inspected, { schema, at, depth: 1, draft });
}

type Walk = { -readonly [K in keyof Inspected]: Inspected[K] };

interface Visit<S = Json> {
  readonly schema: S;
  readonly at: string;
  readonly depth: number;
  readonly draft: number;
}

function visit(walk: Walk, { schema, at, depth, draft: around }: Visit): string | undefined {
  const { maxDepth, maxSubschemas } = walk.limits;
  if (++walk.count > maxSubschemas) return `${at} is one subschema too many: the limit is ${maxSubschemas}`;
  if (depth > maxDepth) return `${at} is nested deeper than ${maxDepth} levels`;
  if (typeof schema === "boolean") return undefined;
  if (!isObject(schema)) return `${at} must be a schema, which is an object or a boolean`;
  const draft = draftOf(schema, around);
  if (draft === undefined) {
    return `${at}/$schema names the dialect ${schema.$schema}; supported are ${[...drafts.keys()].join(", ")}`;
  }
  for (const [name, value] of entries(schema)) {
    const problem = visitKeyword(walk, { schema, name, value, at: at + token(name), depth, draft });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const drafts: ReadonlyMap<string, number> = new Map([
  ["https://json-schema.org/draft/2020-12/schema", 2020],
  ["https://json-schema.org/draft/2019-09/schema", 2019],
  ...[7, 6, 4].map((draft) => [`http://json-schema.org/draft-0${draft}/schema`, draft] as const),
]);

/** The draft that `$schema` names: 4, 6, 7, 2019 or 2020; the enclosing draft without `$schema`. Undefined for an unknown dialect. */
export function draftOf({ $schema }: JsonObject, around: number): number | undefined {
  return $schema === undefined ? around : drafts.get(String($schema).replace(/#$/, ""));
}

interface Use extends Visit<JsonObject> {
  readonly name: string;
  readonly value: Json;
}

function visitKeyword(walk: Walk, { name, value, at, depth, draft }: Use): string | undefined {
  const keyword = vocabulary.get(name);
  if (keyword === undefined) return undefined;
  if (!keyword.fits(value, draft)) return `${at} must be ${keyword.expected}`;
  walk.refers ||= isReference(name);
  walk.formats ||= name === "format";
  const problem = patternsProblem(walk, name, value, at);
  if (problem !== undefined) return problem;
  for (const [below, schema] of keyword.subschemas(value)) {
    const inner = visit(walk, { schema, at: at + below, depth: depth + 1, draft });
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function patternsProblem(walk: Walk, name: string, value: Json, at: string): string | undefined {
  if (name === "pattern") return patternProblem(walk, String(value), at);
  if (name !== "patternProperties") return undefined;
  for (const [source] of entries(value)) {
    const problem = patternProblem(walk, source, at + token(source));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function patternProblem({ patterns }: Walk, source: string, at: string): string | undefined {
  if (patterns.has(source)) return undefined;
  patterns.set(source, at);
  if (source.length > maxPatternLength) return `${at} cannot be used: it is longer than ${maxPatternLength} characters`;
  try {
    new RegExp(source, "u");
    return undefined;
  } catch (error) {
    return `${at} cannot be used: ${(error as SyntaxError).message}`;
  }
}

const maxPatternLength = 4096;
