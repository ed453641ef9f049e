import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { vocabulary } from "../schema/vocabulary.ts";
import { withDiscriminator } from "./discriminator.ts";
import {
  type Documents,
  followed,
  type Located,
  member,
  members,
  OperationProblem,
  objectAt,
  targetOf,
} from "./references.ts";

/** Writes schemas of a document as JSON Schema 2020-12 that stands for itself. */
export interface SchemaWriter {
  /** The schema, with what it refers to as references to `$defs`. One that is nothing but a reference is written out. */
  write(schema: Located): JsonObject;
  /** Everything that was referred to, for the root of the schema. Undefined when there is nothing. */
  definitions(): JsonObject | undefined;
}

export interface SchemaWriterOptions {
  readonly documents: Documents;
  /** Whether the schemas are in the dialect of OpenAPI 3.0. */
  readonly isOld: boolean;
  /** What callers pass, or what they get: what is `readOnly` is not passed, what is `writeOnly` is not got. */
  readonly direction: "input" | "output";
  /** Takes one schema of those that all tools of a document may have. Throws when there are no more. */
  take?(): void;
}

/** Schemas of one tool. The limit on its whole schema is the same. */
const MAX_SCHEMAS = 5_000;
/** Levels of schemas that are written in each other. */
const MAX_DEPTH = 48;

export function createSchemaWriter({ documents, isOld, direction, take }: SchemaWriterOptions): SchemaWriter {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const definitions: [string, Json][] = [];
  const waiting: (readonly [string, Located])[] = [];
  let count = 0;

  /** The name of what a reference leads to. It is written later, so that circles end. */
  const nameOf = (target: Located): string => {
    const key = `${target.document}#${target.at}`;
    const known = names.get(key);
    if (known !== undefined) return known;
    const last = target.at.split("/").at(-1) ?? "";
    const name = freeName(last.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, 60) || "schema", taken);
    names.set(key, name);
    waiting.push([name, target]);
    return name;
  };

  const referenceTo = (reference: string, from: Located): JsonObject => ({
    $ref: `#/$defs/${nameOf(followed(targetOf(reference, from, documents), documents))}`,
  });

  const write = (schema: Located, depth: number): Json => {
    take?.();
    if (++count > MAX_SCHEMAS) throw new OperationProblem(`its schemas at #${schema.at} are more than ${MAX_SCHEMAS}`);
    if (depth > MAX_DEPTH)
      throw new OperationProblem(`its schemas at #${schema.at} are nested deeper than ${MAX_DEPTH}`);
    if (typeof schema.value === "boolean") return schema.value;
    const source = objectAt(schema);
    const reference = typeof source.$ref === "string" ? referenceTo(source.$ref, schema) : {};
    if (isOld && typeof source.$ref === "string") return reference;
    const below = (inner: Located): Json => write(inner, depth + 1);
    const keywords = members(schema).flatMap(([name, value]) => keyword(name, value, below));
    return finish({ ...Object.fromEntries(keywords), ...reference }, schema);
  };

  const finish = (written: JsonObject, schema: Located): JsonObject => {
    const told = direction === "input" ? withDiscriminator(written, schema) : written;
    const used = withoutOneWay(told, schema, direction, documents);
    return isOld ? inNewWords(used, objectAt(schema)) : used;
  };

  return {
    write(schema) {
      const target = followed(schema, documents);
      const written = write(target, 0);
      return isObject(written) ? written : {};
    },
    definitions() {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        definitions.push([next[0], write(next[1], 1)]);
      }
      return definitions.length === 0 ? undefined : Object.fromEntries(definitions);
    },
  };
}

function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}_${number}`;
  taken.add(free);
  return free;
}

type Below = (schema: Located) => Json;

/** A keyword in the words of 2020-12. What is none, or has a value of the wrong kind, is left out. */
function keyword(name: string, located: Located, below: Below): readonly (readonly [string, Json])[] {
  const { value } = located;
  if (value === undefined) return [];
  if (name === "example") return [["examples", [value]]];
  if (name === "format" && (value === "binary" || value === "byte")) return [["contentEncoding", "base64"]];
  if (annotations.has(name)) return [[name, value]];
  const known = vocabulary.get(name);
  if (known === undefined || name.startsWith("$") || !(known.fits(value, 2020) || isOldBound(name, value))) return [];
  if (maps.has(name)) return [[name, Object.fromEntries(members(located).map(([key, at]) => [key, below(at)]))]];
  if (Array.isArray(value) && lists.has(name)) return [[name, members(located).map(([, item]) => below(item))]];
  return [[name, single.has(name) ? below(located) : value]];
}

const annotations: ReadonlySet<string> = new Set([
  ...["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding"],
  "contentMediaType",
]);
const maps: ReadonlySet<string> = new Set(["properties", "patternProperties", "dependentSchemas"]);
const lists: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const single: ReadonlySet<string> = new Set([
  ...["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"],
  ...["unevaluatedItems", "unevaluatedProperties"],
]);

/** In OpenAPI 3.0 these are switches of `minimum` and `maximum`. */
function isOldBound(name: string, value: Json): boolean {
  return (name === "exclusiveMinimum" || name === "exclusiveMaximum") && typeof value === "boolean";
}

/** Leaves out what only goes the other way. */
function withoutOneWay(
  written: JsonObject,
  schema: Located,
  direction: "input" | "output",
  documents: Documents,
): JsonObject {
  const flag = direction === "input" ? "readOnly" : "writeOnly";
  const one = members(member(schema, "properties")).filter(([, at]) => isFlagged(at, flag, documents));
  if (one.length === 0) return written;
  const gone = new Set(one.map(([name]) => name));
  const { properties, required, ...rest } = written;
  const kept = Object.entries(isObject(properties) ? properties : {}).filter(([name]) => !gone.has(name));
  const needed = (Array.isArray(required) ? (required as readonly string[]) : []).filter((name) => !gone.has(name));
  return { ...rest, properties: Object.fromEntries(kept), ...(needed.length > 0 && { required: needed }) };
}

function isFlagged(schema: Located, flag: string, documents: Documents): boolean {
  return objectAt(schema)[flag] === true || objectAt(followed(schema, documents))[flag] === true;
}

/** What the dialect of OpenAPI 3.0 says in other words: `nullable`, and bounds that are switches. */
function inNewWords(written: JsonObject, source: JsonObject): JsonObject {
  const bounded = bound(bound(written, "exclusiveMinimum", "minimum"), "exclusiveMaximum", "maximum");
  if (source.nullable !== true) return bounded;
  const { type, enum: values } = bounded;
  if (typeof type !== "string") return { anyOf: [bounded, { type: "null" }] };
  const all = Array.isArray(values) && !values.includes(null) ? { enum: [...(values as readonly Json[]), null] } : {};
  return { ...bounded, type: [type, "null"], ...all };
}

function bound(written: JsonObject, exclusive: string, inclusive: string): JsonObject {
  const flag = written[exclusive];
  if (typeof flag !== "boolean") return written;
  const { [exclusive]: _, [inclusive]: limit, ...rest } = written;
  if (limit === undefined) return rest;
  return { ...rest, [flag ? exclusive : inclusive]: limit };
}
