import type { Json } from "./json.ts";

/** Bounds on one JSON text. A bound of 0 is off. */
export interface JsonLimits {
  /** Nesting of containers. */
  readonly maxDepth: number;
  /** Members of one object, or elements of one array. */
  readonly maxWidth: number;
}

export const defaultJsonLimits: JsonLimits = { maxDepth: 64, maxWidth: 65_536 };

/** A value, or why the text holds none. The reason never repeats the text. */
export type ParsedJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly reason: string };

/**
 * Parses a JSON text within limits. Never throws.
 *
 * A `__proto__` member becomes an ordinary own property, as `JSON.parse`
 * defines it; it changes no prototype.
 */
export function parseJson(text: string, limits: JsonLimits = defaultJsonLimits): ParsedJson {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return { ok: false, reason: "not valid JSON" };
  }
  const reason = exceeded(value, text.length, limits);
  return reason === undefined ? { ok: true, value } : { ok: false, reason };
}

/** The limit that `value` breaks, if any. The length of its text rules most of them out without a look. */
function exceeded(value: Json, length: number, { maxDepth, maxWidth }: JsonLimits): string | undefined {
  const deep = maxDepth > 0 && length > 2 * maxDepth;
  const wide = maxWidth > 0 && length > 2 * maxWidth;
  if (!deep && !wide) return undefined;
  if (deep && isDeeper(value, maxDepth)) return `nested deeper than ${maxDepth} levels`;
  if (wide && isWider(value, maxWidth)) return `a container has more than ${maxWidth} elements`;
  return undefined;
}

/** Recursion is bounded by `levels`, so a hostile nesting cannot exhaust the stack. */
function isDeeper(value: Json | undefined, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeper(item, levels - 1));
  for (const key in value) {
    if (isDeeper((value as Record<string, Json | undefined>)[key], levels - 1)) return true;
  }
  return false;
}

function isWider(root: Json, maxWidth: number): boolean {
  const open: Json[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    const items = Array.isArray(value) ? (value as readonly Json[]) : Object.values(value);
    if (items.length > maxWidth) return true;
    for (const item of items) if (typeof item === "object" && item !== null) open.push(item);
  }
  return false;
}
