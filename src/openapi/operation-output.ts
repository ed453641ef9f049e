import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { chooseMedia } from "./media.ts";
import type { Operation } from "./operation.ts";
import { type Documents, followed, type Located, member, members, OperationProblem, objectAt } from "./references.ts";
import { createSchemaWriter } from "./schema-writer.ts";

/** Schemas of one output schema. */
const MAX_SCHEMAS = 400;
/** Characters of an output schema as JSON: more would cost a model more than it tells. */
const MAX_OUTPUT_SCHEMA = 65_536;

/**
 * The schema of what an operation returns: of its one 2xx response, where that is JSON and an object. Formats and patterns
 * are left out, and further members allowed: servers say more and other things than their documents. Undefined also for
 * a schema that cannot be used: what a tool returns need not be described.
 */
export function readOutput(operation: Operation, options: OutputOptions): JsonObject | undefined {
  try {
    return outputOf(operation, options);
  } catch (error) {
    if (error instanceof OperationProblem) return undefined;
    throw error;
  }
}

export interface OutputOptions {
  readonly documents: Documents;
  readonly isOld: boolean;
}

function outputOf(operation: Operation, { documents, isOld }: OutputOptions): JsonObject | undefined {
  const good = operation.responses.filter(([status]) => /^2/.test(status));
  const [only, ...others] = good;
  if (only === undefined || others.length > 0) return undefined;
  const media = chooseMedia(only[1], documents);
  if (media?.schema === undefined || media.kind !== "json" || !isObjectSchema(media.schema, documents, 0))
    return undefined;
  let left = MAX_SCHEMAS;
  const take = (): void => {
    if (--left < 0) throw new OperationProblem("the output schema is too large");
  };
  const writer = createSchemaWriter({ documents, isOld, direction: "output", take });
  const root = loosened(writer.write(media.schema)) as JsonObject;
  const definitions = loosened(writer.definitions() ?? {});
  const schema: JsonObject = {
    ...root,
    type: "object",
    ...(isObject(definitions) && Object.keys(definitions).length > 0 && { $defs: definitions }),
  };
  return JSON.stringify(schema).length > MAX_OUTPUT_SCHEMA ? undefined : schema;
}

/** Whether values of a schema are objects, and nothing else. */
function isObjectSchema(schema: Located, documents: Documents, depth: number): boolean {
  if (depth > 16) return false;
  const target = followed(schema, documents);
  const { type, properties, nullable } = objectAt(target);
  if (nullable === true) return false;
  if (type !== undefined)
    return type === "object" || (Array.isArray(type) && type.length === 1 && type[0] === "object");
  const all = members(member(target, "allOf"));
  const any = [...members(member(target, "oneOf")), ...members(member(target, "anyOf"))];
  if (all.some(([, one]) => isObjectSchema(one, documents, depth + 1))) return true;
  if (any.length > 0) return any.every(([, one]) => isObjectSchema(one, documents, depth + 1));
  return isObject(properties);
}

/** A schema without what real responses break most. Members that are called like keywords are kept. */
function loosened(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((item: Json) => loosened(item));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).flatMap(([name, value = null]): readonly (readonly [string, Json])[] => {
    if ((name === "format" || name === "pattern") && typeof value === "string") return [];
    if (name === "additionalProperties" && value === false) return [];
    return [
      [
        name,
        name === "enum" || name === "const" || name === "examples" || name === "default" ? value : loosened(value),
      ],
    ];
  });
  return Object.fromEntries(entries);
}
