import type { Json } from "./json.ts";

/** A JSON text that is the same for equal values: members are sorted, absent ones left out. */
export function canonicalText(value: Json | undefined): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonicalText(item)).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalText(member)}`);
  return `{${members.join(",")}}`;
}
