/** Any value that survives `JSON.parse(JSON.stringify(value))`. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** A JSON object. A member that is `undefined` counts as absent. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** True for `{…}`: not for arrays, not for `null`. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Sees a typed value as the JSON it is. For interfaces of the model, whose members are all JSON. */
export function asJson(value: object): JsonObject {
  return value as JsonObject;
}
