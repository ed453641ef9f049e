import type { Json, JsonObject } from "../json/json.ts";

/** The keys of a JSON Pointer, unescaped. */
export function pointerKeys(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The keys of a reference into the same document, such as `#/$defs/a%20b`, decoded. */
export function referenceKeys(reference: string): readonly string[] {
  try {
    return pointerKeys(decodeURIComponent(reference));
  } catch {
    return pointerKeys(reference);
  }
}

/** An own member of an object, or an item of an array. Inherited members such as `constructor` are ignored. */
export function own(value: Json | undefined, key: string): Json | undefined {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as JsonObject)[key]
    : undefined;
}
