import type { Json, JsonObject } from "./json.ts";
import { defaultJsonLimits, type JsonLimits, type JsonShape, measureJson } from "./shape.ts";

/** A value, or why the text holds none. The reason never repeats the text. */
export type ParsedJson =
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false;
      readonly reason: string;
      /** There when a short text is JSON and only breaks a limit. Look at its outermost members, no further. */
      readonly value?: Json;
    };

/** Longer texts are measured before their values are built. A shorter one is small however it is built. */
const LONG_TEXT = 16_384;

/** The shape of a text that is long enough to be measured before it is parsed. */
export function shapeOfLong(text: string, limits: JsonLimits = defaultJsonLimits): JsonShape | undefined {
  return text.length > LONG_TEXT ? measureJson(text, limits) : undefined;
}

/**
 * Parses a JSON text within limits. Never throws. `shape` is that of a long text, where it is known already.
 *
 * A `__proto__` member becomes an ordinary own property, as `JSON.parse`
 * defines it; it changes no prototype.
 */
export function parseJson(
  text: string,
  limits: JsonLimits = defaultJsonLimits,
  shape: JsonShape | undefined = shapeOfLong(text, limits),
): ParsedJson {
  const excess = shape && excessOfShape(shape, limits);
  if (excess !== undefined) return { ok: false, reason: excess };
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return { ok: false, reason: "not valid JSON" };
  }
  const reason = shape === undefined ? excessOf(value, limits, text.length) : undefined;
  return reason === undefined ? { ok: true, value } : { ok: false, reason, value };
}

function excessOfShape({ depth, nodes }: JsonShape, { maxJsonDepth, maxJsonNodes }: JsonLimits): string | undefined {
  if (maxJsonDepth > 0 && depth > maxJsonDepth) return tooDeep(maxJsonDepth);
  return maxJsonNodes > 0 && nodes > maxJsonNodes ? tooMany(maxJsonNodes) : undefined;
}

function tooDeep(max: number): string {
  return `nested deeper than ${max} levels (maxJsonDepth)`;
}

function tooMany(max: number): string {
  return `more than ${max} values (maxJsonNodes)`;
}

/** The limit that `value` breaks, if any. The length of its text rules most of them out without a look. */
export function excessOf(
  value: Json,
  { maxJsonDepth, maxJsonNodes }: JsonLimits,
  length: number = Number.POSITIVE_INFINITY,
): string | undefined {
  // A text of n characters nests at most n/2 deep, and has at most n/2 + 1 values.
  const deep = maxJsonDepth > 0 && length > 2 * maxJsonDepth;
  const wide = maxJsonNodes > 0 && length > 2 * (maxJsonNodes - 1);
  if (!isContainer(value) || (!deep && !wide)) return undefined;
  if (deep && isDeeper(value, maxJsonDepth)) return tooDeep(maxJsonDepth);
  return wide && hasMore(value, maxJsonNodes) ? tooMany(maxJsonNodes) : undefined;
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

/** Counts not much further than asked. */
function hasMore(root: Container, maxNodes: number): boolean {
  const open: Container[] = [root];
  let nodes = 1;
  for (let container = open.pop(); container !== undefined && nodes <= maxNodes; container = open.pop()) {
    const items = itemsOf(container);
    nodes += items.length;
    for (const item of items) if (isContainer(item)) open.push(item);
  }
  return nodes > maxNodes;
}

function itemsOf(container: Container): readonly (Json | undefined)[] {
  return Array.isArray(container) ? container : Object.values(container);
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === "object" && value !== null;
}
