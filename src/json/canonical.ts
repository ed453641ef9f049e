import type { Json, JsonObject } from "./json.ts";

/** Canonical JSON text: equal values have equal texts. Members are sorted by name; `undefined` members are left out. */
export function canonicalText(value: Json | undefined): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonicalText(item)).join(",")}]`;
  let members = "";
  for (const key of Object.keys(value).sort()) {
    const member = (value as JsonObject)[key];
    if (member !== undefined) members += `${members && ","}${JSON.stringify(key)}:${canonicalText(member)}`;
  }
  return `{${members}}`;
}
