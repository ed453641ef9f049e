import type { Json, JsonObject } from "./json.ts";
import { defaultJsonLimits, type JsonLimits, type JsonShape, measureJson } from "./shape.ts";

/** The parsed value, or the reason why the text was rejected. The reason never quotes the text. */
export type ParsedJson =
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false;
      readonly reason: string;
      /** Set when a short text is valid JSON that exceeds a limit. Only its outermost members may be read. */
      readonly value?: Json;
    };

/** Characters. Longer texts are measured before they are parsed; the values of a shorter text always fit in memory. */
const LONG_TEXT = 16_384;

/** Measures a text that is longer than {@link LONG_TEXT}. Undefined for a shorter one. */
export function measureLongText(text: string, limits: JsonLimits = defaultJsonLimits): JsonShape | undefined {
  return text.length > LONG_TEXT ? measureJson(text, limits) : undefined;
}

/**
 * Parses a JSON text within limits. Never throws. `shape` is the result of {@link measureLongText} when the caller has
 * measured the text already.
 *
 * A `__proto__` member becomes an ordinary own property, as in `JSON.parse`; it does not change the prototype.
 */
export function parseJson(
  text: string,
  limits: JsonLimits = defaultJsonLimits,
  shape: JsonShape | undefined = measureLongText(text, limits),
): ParsedJson {
  const exceeded = shape && findExceededShapeLimit(shape, limits);
  if (exceeded !== undefined) return { ok: false, reason: exceeded };
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return { ok: false, reason: "not valid JSON" };
  }
  const reason = shape === undefined ? findExceededLimit(value, limits, text.length) : undefined;
  return reason === undefined ? { ok: true, value } : { ok: false, reason, value };
}

function findExceededShapeLimit(
  { depth, nodes }: JsonShape,
  { maxJsonDepth, maxJsonNodes }: JsonLimits,
): string | undefined {
  if (maxJsonDepth > 0 && depth > maxJsonDepth) return tooDeep(maxJsonDepth);
  return maxJsonNodes > 0 && nodes > maxJsonNodes ? tooMany(maxJsonNodes) : undefined;
}

function tooDeep(max: number): string {
  return `nested deeper than ${max} levels (maxJsonDepth)`;
}

function tooMany(max: number): string {
  return `more than ${max} values (maxJsonNodes)`;
}

/** The limit that `value` exceeds, if any. With the `length` of its JSON text, most values need not be walked. */
export function findExceededLimit(
  value: Json,
  { maxJsonDepth, maxJsonNodes }: JsonLimits,
  length: number = Number.POSITIVE_INFINITY,
): string | undefined {
  // A text of n characters nests at most n/2 deep, and has at most n/2 + 1 values.
  const mayBeTooDeep = maxJsonDepth > 0 && length > 2 * maxJsonDepth;
  const mayHaveTooMany = maxJsonNodes > 0 && length > 2 * (maxJsonNodes - 1);
  if (!isContainer(value) || (!mayBeTooDeep && !mayHaveTooMany)) return undefined;
  if (mayBeTooDeep && isDeeper(value, maxJsonDepth)) return tooDeep(maxJsonDepth);
  return mayHaveTooMany && hasMore(value, maxJsonNodes) ? tooMany(maxJsonNodes) : undefined;
}

type Container = JsonObject | readonly Json[];

/** Levels that are walked recursively, which is the fastest way. So few cannot exhaust the stack. */
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

/** The depth of a value, counted level by level. Stops at `maxDepth + 1`. */
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

/** Whether a value holds more than `maxNodes` values. Stops counting soon after the limit. */
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
