import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { oneLine } from "../terminal/printable.ts";

/** The arguments of a tool in one line: `sku, quantity?=1`. */
export function formatSignature(schema: JsonObject): string {
  return fieldsOf(schema)
    .map(({ name, required, field }) => {
      const given = field.default === undefined ? "" : `=${oneLine(JSON.stringify(field.default), 20)}`;
      return `${oneLine(name)}${required ? "" : "?"}${given}`;
    })
    .join(", ");
}

/** One argument of a tool. */
export interface SchemaField {
  readonly name: string;
  readonly required: boolean;
  readonly field: JsonObject;
}

/** The arguments of a tool, as far as the top of its schema names them. */
export function fieldsOf(schema: JsonObject): readonly SchemaField[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  return properties.map(([name, field]) => ({
    name,
    required: required.includes(name),
    field: isObject(field) ? field : {},
  }));
}

/** The type of an argument in a few characters: `string`, `"a" | "b"`, `number[]`. */
export function formatType(schema: Json | undefined): string {
  if (!isObject(schema)) return "any";
  const choices = schema.enum ?? constsOf(schema.oneOf) ?? constsOf(schema.anyOf);
  if (Array.isArray(choices)) return oneLine(choices.map((one) => JSON.stringify(one)).join(" | "), 80);
  if (schema.const !== undefined) return oneLine(JSON.stringify(schema.const), 40);
  if (Array.isArray(schema.type)) return oneLine(schema.type.join(" | "));
  if (schema.type === "array") return `${formatType(schema.items)}[]`;
  return typeof schema.type === "string" ? oneLine(schema.type) : "any";
}

function constsOf(variants: Json | undefined): readonly Json[] | undefined {
  if (!Array.isArray(variants) || variants.length === 0) return undefined;
  const consts = variants.flatMap((one) => (isObject(one) && one.const !== undefined ? [one.const] : []));
  return consts.length === variants.length ? consts : undefined;
}
