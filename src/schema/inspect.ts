import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { compositionProblem } from "./composition.ts";
import { entries } from "./entries.ts";
import { pointerKeys, token } from "./pointer.ts";
import { vocabulary } from "./vocabulary.ts";

/** Bounds on one plain JSON Schema. */
export interface SchemaLimits {
  /** Nesting of subschemas, and references in a row. */
  readonly maxDepth: number;
  /** Subschemas in all, and subschemas applied to one value when references are followed. */
  readonly maxSubschemas: number;
}

export const defaultSchemaLimits: SchemaLimits = { maxDepth: 64, maxSubschemas: 10_000 };

/** A plain JSON Schema that is known to be well-formed, closed and bounded. */
export interface Inspected {
  readonly root: JsonObject;
  /** What every `$ref` and `$dynamicRef` leads to. */
  readonly targets: ReadonlyMap<string, Json>;
  /** Every pattern, and where it is. All are regular expressions; how long matching can take is not known yet. */
  readonly patterns: ReadonlyMap<string, string>;
  /** True if it names a format. */
  readonly formats: boolean;
  /** True if it names a property that every JavaScript object inherits, like `toString`. */
  readonly inherited: boolean;
  /** True if it asks for what no other keyword has looked at. */
  readonly unevaluated: boolean;
}

export type Inspection =
  | { readonly ok: true; readonly value: Inspected }
  | { readonly ok: false; readonly problem: string };

/**
 * Inspects a plain JSON Schema before anything is done with it.
 *
 * Keywords must have values of the right shape, references must stay in the
 * document and lead somewhere, patterns must be regular expressions, and nothing
 * may exceed the limits. A problem names the place as `#` and a JSON Pointer.
 */
export function inspectSchema(root: JsonObject, limits: SchemaLimits = defaultSchemaLimits): Inspection {
  const walk: Walk = {
    limits,
    draft7: String(root.$schema).startsWith(draft7),
    schemas: new Map(),
    references: new Map(),
    anchors: new Map(),
    targets: new Map(),
    patterns: new Map(),
    formats: false,
    inherited: false,
    unevaluated: false,
    count: 0,
  };
  const problem = visit(walk, root, "#", 0) ?? resolve(walk, root) ?? compositionProblem({ ...walk, ...limits });
  if (problem !== undefined) return { ok: false, problem };
  const { targets, patterns, formats, inherited, unevaluated } = walk;
  return { ok: true, value: { root, targets, patterns, formats, inherited, unevaluated } };
}

interface Walk {
  readonly limits: SchemaLimits;
  readonly draft7: boolean;
  /** Everything below is filled on the way. Schemas, references and patterns with the place where they were first met. */
  readonly schemas: Map<Json, string>;
  readonly references: Map<string, string>;
  readonly anchors: Map<string, Json>;
  readonly targets: Map<string, Json>;
  readonly patterns: Map<string, string>;
  formats: boolean;
  inherited: boolean;
  unevaluated: boolean;
  count: number;
}

function visit(walk: Walk, schema: Json, at: string, depth: number): string | undefined {
  const { maxDepth, maxSubschemas } = walk.limits;
  if (walk.schemas.has(schema)) return undefined;
  if (++walk.count > maxSubschemas) return `${at} is one subschema too many: the limit is ${maxSubschemas}`;
  if (depth > maxDepth) return `${at} is nested deeper than ${maxDepth} levels`;
  if (typeof schema === "boolean") return undefined;
  if (!isObject(schema)) return `${at} must be a schema, which is an object or a boolean`;
  walk.schemas.set(schema, at);
  for (const [name, value] of entries(schema)) {
    const problem = visitKeyword(walk, { schema, name, value, at: at + token(name), depth });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

interface Use {
  readonly schema: JsonObject;
  readonly name: string;
  readonly value: Json;
  readonly at: string;
  readonly depth: number;
}

function visitKeyword(walk: Walk, use: Use): string | undefined {
  const keyword = vocabulary.get(use.name);
  if (keyword === undefined) return undefined;
  if (!keyword.fits(use.value)) return `${use.at} must be ${keyword.expected}`;
  const broken = rules.get(use.name)?.(walk, use);
  if (broken !== undefined) return broken;
  for (const [below, subschema] of keyword.subschemas(use.value)) {
    const problem = visit(walk, subschema, use.at + below, use.depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A rule beyond the shape of the value. Also notes what is needed later. */
type Rule = (walk: Walk, use: Use) => string | undefined;

const draft7 = "http://json-schema.org/draft-07/schema";
const dialects: readonly unknown[] = ["https://json-schema.org/draft/2020-12/schema", draft7];

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["$schema", dialectRule],
  ["$id", idRule],
  ["$ref", referenceRule],
  ["$dynamicRef", referenceRule],
  ["$anchor", anchorRule],
  ["$dynamicAnchor", anchorRule],
  ["pattern", (walk, { value, at }) => patternProblem(walk, String(value), at)],
  ["patternProperties", propertyPatternRule],
  ["format", formatRule],
  ["items", tupleRule],
  ["properties", nameRule],
  ["required", nameRule],
  ["dependentRequired", nameRule],
  ["dependentSchemas", nameRule],
  ["dependencies", nameRule],
  ["unevaluatedItems", unevaluatedRule],
  ["unevaluatedProperties", unevaluatedRule],
]);

function dialectRule(_: Walk, { value, at }: Use): string | undefined {
  if (dialects.includes(String(value).replace(/#$/, ""))) return undefined;
  return `${at} names the dialect ${value}; supported are ${dialects.join(" and ")}`;
}

function formatRule(walk: Walk): undefined {
  walk.formats = true;
}

/** Draft 7 writes an anchor as `$id: "#name"`. Any other inner `$id` would give `#…` another meaning below it. */
function idRule(walk: Walk, use: Use): string | undefined {
  if (use.depth === 0) return undefined;
  if (!String(use.value).startsWith("#")) return `${use.at} starts a document of its own; use $defs and "#/$defs/…"`;
  return anchorRule(walk, { ...use, value: String(use.value).slice(1) });
}

function referenceRule(walk: Walk, { value, at }: Use): string | undefined {
  const reference = String(value);
  if (!reference.startsWith("#")) return `${at} must point into this schema ("#…"), not to ${reference}`;
  if (!walk.references.has(reference)) walk.references.set(reference, at);
  return undefined;
}

function anchorRule(walk: Walk, { schema, value, at }: Use): string | undefined {
  const anchor = `#${value}`;
  if ((walk.anchors.get(anchor) ?? schema) !== schema) return `${at} gives the name ${value} to a second schema`;
  walk.anchors.set(anchor, schema);
  return undefined;
}

function propertyPatternRule(walk: Walk, { value, at }: Use): string | undefined {
  for (const [source] of entries(value)) {
    const problem = patternProblem(walk, source, at + token(source));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function patternProblem(walk: Walk, source: string, at: string): string | undefined {
  if (walk.patterns.has(source)) return undefined;
  walk.patterns.set(source, at);
  if (source.length > maxPatternLength) return `${at} cannot be used: it is longer than ${maxPatternLength} characters`;
  try {
    new RegExp(source, "u");
    return undefined;
  } catch (error) {
    return `${at} cannot be used: ${error instanceof Error ? error.message : "it is not a regular expression"}`;
  }
}

const maxPatternLength = 4096;

function tupleRule(walk: Walk, { value, at }: Use): string | undefined {
  return Array.isArray(value) && !walk.draft7 ? `${at} must be a schema; use prefixItems for a tuple` : undefined;
}

function nameRule(walk: Walk, { value }: Use): undefined {
  const names = entries(value).map(([key, member]) => (Array.isArray(value) ? String(member) : key));
  walk.inherited ||= names.some((name) => name in {});
}

function unevaluatedRule(walk: Walk): undefined {
  walk.unevaluated = true;
}

/** Finds what the references lead to. That may be a place no keyword knows, so it is visited, too. */
function resolve(walk: Walk, root: JsonObject): string | undefined {
  for (const [reference, at] of walk.references) {
    const target =
      reference === "#" || reference.startsWith("#/") ? follow(root, reference) : walk.anchors.get(reference);
    if (target === undefined) return `${at} leads nowhere: there is no ${reference}`;
    walk.targets.set(reference, target);
    const problem = visit(walk, target, reference, 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function follow(root: JsonObject, reference: string): Json | undefined {
  let target: Json | undefined = root;
  for (const key of pointerKeys(decode(reference))) {
    target = new Map(entries(target)).get(key);
  }
  return target;
}

function decode(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}
