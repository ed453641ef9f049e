import type { Json, JsonObject } from "./json.ts";

/** Bounds on one JSON text. A bound of 0 is off. */
export interface JsonLimits {
  /** Nesting of containers. */
  readonly maxDepth: number;
  /** Members of one object, or elements of one array. */
  readonly maxWidth: number;
}

export const defaultJsonLimits: JsonLimits = { maxDepth: 64, maxWidth: 65_536 };

/** A value, or why the text holds none. The reason never repeats the text. */
export type ParsedJson =
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false;
      readonly reason: string;
      /** There when the text is JSON and only breaks a limit. Look at its outermost members, no further. */
      readonly value?: Json;
    };

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
  const reason = excessOf(value, limits, text.length);
  return reason === undefined ? { ok: true, value } : { ok: false, reason, value };
}

/** The limit that `value` breaks, if any. The length of its text rules most of them out without a look. */
export function excessOf(
  value: Json,
  { maxDepth, maxWidth }: JsonLimits,
  length: number = Infinity,
): string | undefined {
  const deep = maxDepth > 0 && length > 2 * maxDepth;
  const wide = maxWidth > 0 && length > 2 * maxWidth;
  if (!isContainer(value) || (!deep && !wide)) return undefined;
  if (deep && isDeeper(value, maxDepth)) return `nested deeper than ${maxDepth} levels (maxDepth)`;
  if (wide && isWider(value, maxWidth)) return `a container has more than ${maxWidth} elements (maxWidth)`;
  return undefined;
}

type Container = JsonObject | readonly Json[];

/** Recursion is the fastest walk, and this deep it cannot exhaust the stack. */
const MAX_RECURSION = 512;

function isDeeper(root: Container, maxDepth: number): boolean {
  return maxDepth <= MAX_RECURSION ? nestsBeyond(root, maxDepth) : levelsOf(root, maxDepth) > maxDepth;
}

function nestsBeyond(container: Container, levels: number): boolean {
  if (levels === 0) return true;
  if (Array.isArray(container)) {
    return container.some((item: Json) => isContainer(item) && nestsBeyond(item, levels - 1));
  }
  for (const key in container) {
    const member = (container as JsonObject)[key];
    if (isContainer(member) && nestsBeyond(member, levels - 1)) return true;
  }
  return false;
}

/** Counts level by level, and not much further than asked. */
function levelsOf(root: Container, maxDepth: number): number {
  let level: readonly Container[] = [root];
  let depth = 0;
  for (; level.length > 0 && depth <= maxDepth; depth++) level = containersIn(level);
  return depth;
}

function containersIn(level: readonly Container[]): readonly Container[] {
  const found: Container[] = [];
  for (const container of level) {
    for (const item of itemsOf(container)) if (isContainer(item)) found.push(item);
  }
  return found;
}

function isWider(root: Container, maxWidth: number): boolean {
  const open: Container[] = [root];
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    const items = itemsOf(container);
    if (items.length > maxWidth) return true;
    for (const item of items) if (isContainer(item)) open.push(item);
  }
  return false;
}

function itemsOf(container: Container): readonly (Json | undefined)[] {
  return Array.isArray(container) ? container : Object.values(container);
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === "object" && value !== null;
}
