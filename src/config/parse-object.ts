import type { Place } from "./place.ts";
import { invalidConfig } from "./problem.ts";
import { addMember, type Budget, type ConfigNode, createBudget, type Member } from "./tree.ts";

/** A value of a program as a tree. What is not JSON is refused by `invalid-config`; a member that is undefined is absent. */
export function objectTree(value: unknown, at: Place): ConfigNode {
  return toNode(value, { at, budget: createBudget() }, 0);
}

interface Source {
  readonly at: Place;
  readonly budget: Budget;
}

function toNode(value: unknown, source: Source, depth: number): ConfigNode {
  const { at } = source;
  source.budget.take(depth, at);
  switch (typeof value) {
    case "string":
      return { kind: "text", at, text: value };
    case "number":
      return { kind: "number", at, value, text: String(value) };
    case "boolean":
      return { kind: "flag", at, value };
    case "object":
      if (value === null) return { kind: "nothing", at };
      if (Array.isArray(value))
        return { kind: "array", at, items: value.map((item) => toNode(item, source, depth + 1)) };
      return { kind: "object", at, members: membersOf(Object.entries(value), source, depth + 1) };
    default:
      throw invalidConfig(at, `a ${typeof value} cannot be part of a configuration`);
  }
}

function membersOf(
  entries: readonly (readonly [string, unknown])[],
  source: Source,
  depth: number,
): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>();
  for (const [name, value] of entries) {
    if (value !== undefined) addMember(members, name, { at: source.at, value: toNode(value, source, depth) });
  }
  return members;
}
