import { limits } from "./limits.ts";
import type { Locate, Place } from "./place.ts";
import { invalidConfig } from "./problem.ts";
import { findTomlPlaces, placeKey, type TomlPath, type TomlPlace, type TomlPlaces } from "./toml-places.ts";
import { addMember, type Budget, type ConfigNode, createBudget, type Member, tooDeep } from "./tree.ts";

/** Reads TOML 1.0. Throws `invalid-config`. */
export async function parseTomlTree(text: string, locate: Locate): Promise<ConfigNode> {
  const { parse, TomlError } = await import("smol-toml");
  let value: unknown;
  try {
    value = parse(text, { maxDepth: limits.maxDepth });
  } catch (error) {
    if (!(error instanceof TomlError)) throw invalidConfig(locate(0), "this is not TOML");
    throw invalidConfig({ path: locate(0).path, line: error.line, column: error.column }, wordsOf(error.message));
  }
  checkDepth(value, locate, 0);
  const source = { places: findTomlPlaces(text), locate, budget: createBudget() };
  return toNode(value, [], { at: locate(0), source });
}

/** Dotted names nest without a bound of the parser. */
function checkDepth(value: unknown, locate: Locate, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > limits.maxDepth) throw tooDeep(locate(0));
  for (const member of Object.values(value)) checkDepth(member, locate, depth + 1);
}

/** The message goes on with lines of the file, which may have secrets in them. */
function wordsOf(message: string): string {
  const [first = ""] = message.split("\n");
  return first.replace(/^Invalid TOML document: /, "");
}

interface Source {
  readonly places: TomlPlaces;
  readonly locate: Locate;
  readonly budget: Budget;
}

interface Context {
  /** The place of whatever is around, for what has none of its own. */
  readonly at: Place;
  readonly source: Source;
}

function toNode(value: unknown, path: TomlPath, { at: around, source }: Context): ConfigNode {
  const at = placeOf(path, "value", { at: around, source });
  source.budget.take(path.length, at);
  if (Array.isArray(value)) {
    return { kind: "array", at, items: value.map((item, index) => toNode(item, [...path, index], { at, source })) };
  }
  switch (typeof value) {
    case "string":
      return { kind: "text", at, text: value };
    case "boolean":
      return { kind: "flag", at, value };
    case "number":
      return { kind: "number", at, value, text: String(value) };
    default:
      // Dates and times are the only objects with a prototype of their own.
      if (value instanceof Date) return { kind: "text", at, text: value.toISOString() };
      return { kind: "object", at, members: membersOf(Object.entries(value ?? {}), path, { at, source }) };
  }
}

function membersOf(
  entries: readonly (readonly [string, unknown])[],
  path: TomlPath,
  { at, source }: Context,
): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>();
  for (const [name, value] of entries) {
    const inner = [...path, name];
    const place = placeOf(inner, "name", { at, source });
    addMember(members, name, { at: place, value: toNode(value, inner, { at: place, source }) });
  }
  return members;
}

function placeOf(path: TomlPath, part: keyof TomlPlace, { at, source }: Context): Place {
  const place = source.places.get(placeKey(path));
  return place === undefined ? at : source.locate(place[part]);
}
