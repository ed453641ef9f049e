import type { Json, JsonObject } from "../json/json.ts";

/** The keys a JSON Pointer leads through. */
export function pointerKeys(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The keys that a reference into the same document leads through: `#/$defs/a%20b`. */
export function referenceKeys(reference: string): readonly string[] {
  try {
    return pointerKeys(decodeURIComponent(reference));
  } catch {
    return pointerKeys(reference);
  }
}

/** A member of an object, or an item of an array, that is its own: everything has a member `constructor`. */
export function own(value: Json | undefined, key: string): Json | undefined {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as JsonObject)[key]
    : undefined;
}
