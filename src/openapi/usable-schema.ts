import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { toProvedValidator } from "../schema/to-validator.ts";
import type { Validator } from "../schema/validator.ts";

export type UsableSchema =
  | { readonly ok: true; readonly schema: JsonObject; readonly validator: Validator; readonly note?: string }
  | { readonly ok: false; readonly problem: string };

/** A schema that can be checked. Where a pattern cannot be matched safely, or is none, the schema is used without patterns. */
export async function toUsableSchema(schema: JsonObject): Promise<UsableSchema> {
  const read = await toProvedValidator(schema);
  if (read.ok) return { ok: true, schema, validator: read.value };
  const plain = withoutPatterns(schema) as JsonObject;
  const again = await toProvedValidator(plain);
  if (!again.ok) return { ok: false, problem: again.problem };
  return { ok: true, schema: plain, validator: again.value, note: `its patterns are not checked: ${read.problem}` };
}

function withoutPatterns(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((item: Json) => withoutPatterns(item));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).flatMap(([name, value = null]) => {
    const isPattern =
      (name === "pattern" && typeof value === "string") || (name === "patternProperties" && !("type" in Object(value)));
    return isPattern ? [] : [[name, withoutPatterns(value)] as const];
  });
  return Object.fromEntries(entries);
}
