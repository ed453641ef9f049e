import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { dynamicReference, entries, vocabulary } from "./vocabulary.ts";

/** What {@link compositionProblem} needs to know about a schema in normal form. */
export interface Composition {
  /** Every schema, and where it comes from. */
  readonly schemas: ReadonlyMap<JsonObject, string>;
  /** What every reference leads to. */
  readonly targets: ReadonlyMap<string, Json>;
  readonly maxDepth: number;
  readonly maxSubschemas: number;
}

/**
 * Says which schema applies too many subschemas to one and the same value.
 *
 * Thirty pairs of `anyOf`, each referring to the next, are small to write down
 * and a thousand million checks to carry out. A schema that applies itself never
 * ends.
 */
export function compositionProblem(composition: Composition): string | undefined {
  const { schemas, targets, maxDepth, maxSubschemas } = composition;
  const known = new Map<Json, number>();

  const count = (schema: Json, depth: number): number => {
    if (!isObject(schema)) return 1;
    const counted = known.get(schema);
    if (counted !== undefined) return counted;
    if (depth > maxDepth) return Infinity;
    // Counts as endless until it is known, so meeting it again means that it applies itself.
    known.set(schema, Infinity);
    const total = applied(schema, targets).reduce<number>((sum, subschema) => sum + count(subschema, depth + 1), 1);
    known.set(schema, total);
    return total;
  };

  for (const [schema, at] of schemas) {
    const total = count(schema, 0);
    if (total === Infinity) return `${at} applies itself, or more than ${maxDepth} schemas in a row, to the same value`;
    if (total > maxSubschemas) return `${at} applies more than ${maxSubschemas} subschemas to the same value`;
  }
  return undefined;
}

function applied(schema: JsonObject, targets: ReadonlyMap<string, Json>): readonly Json[] {
  return entries(schema).flatMap(([name, value]) => {
    if (name === "$ref") return targets.get(String(value)) ?? [];
    if (name === dynamicReference)
      return entries(value).flatMap(([, reference]) => targets.get(String(reference)) ?? []);
    const keyword = vocabulary.get(name);
    return keyword?.inPlace ? keyword.subschemas(value).map(([, subschema]) => subschema) : [];
  });
}
