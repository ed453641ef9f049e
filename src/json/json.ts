/** A value that `JSON.parse(JSON.stringify(value))` returns unchanged. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** A JSON object. A member with the value `undefined` counts as absent. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** Whether a value is an object that is neither an array nor `null`. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Casts a value to {@link JsonObject}. Only for interfaces of the protocol model, all of whose members are JSON. */
export function asJson(value: object): JsonObject {
  return value as JsonObject;
}
