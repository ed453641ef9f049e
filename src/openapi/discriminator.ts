import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { type Located, objectAt } from "./references.ts";

/**
 * The schema with what its `discriminator` says as a part of its alternatives: each has the values of the member that
 * choose it. Without a discriminator, or where an alternative is no reference, the schema is as it was.
 */
export function withDiscriminator(written: JsonObject, schema: Located): JsonObject {
  const { discriminator, oneOf, anyOf } = objectAt(schema);
  const given = oneOf ?? anyOf;
  const key = oneOf === undefined ? "anyOf" : "oneOf";
  const alternatives = written[key];
  if (!isObject(discriminator) || !Array.isArray(given) || !Array.isArray(alternatives)) return written;
  const { propertyName, mapping } = discriminator;
  if (typeof propertyName !== "string") return written;
  const chosen = alternatives.map((alternative: Json, index) => {
    const reference: unknown = isObject(given[index]) ? given[index].$ref : undefined;
    if (typeof reference !== "string" || !isObject(alternative)) return alternative;
    const properties = Object.fromEntries([[propertyName, { enum: valuesOf(reference, mapping) }]]);
    return { ...alternative, properties, required: [propertyName] };
  });
  return { ...written, [key]: chosen };
}

/** The values that choose what a reference leads to: those of `mapping`, else the name of its schema. */
function valuesOf(reference: string, mapping: Json | undefined): readonly string[] {
  const named = Object.entries(isObject(mapping) ? mapping : {})
    .filter(([, target]) => target === reference || `#/components/schemas/${String(target)}` === reference)
    .map(([value]) => value);
  return named.length > 0 ? named : [reference.split("/").at(-1) ?? reference];
}
