import { formatLocation, invalidConfig, type SourceLocation, shownName } from "./problem.ts";

/** A value of a configuration, with where it was said. All formats become this. */
export type ConfigNode =
  | ObjectNode
  | ArrayNode
  | { readonly kind: "text"; readonly at: SourceLocation; readonly text: string }
  | {
      readonly kind: "number";
      readonly at: SourceLocation;
      readonly value: number /** As it was written. */;
      readonly text: string;
    }
  | { readonly kind: "flag"; readonly at: SourceLocation; readonly value: boolean }
  | { readonly kind: "nothing"; readonly at: SourceLocation };

export interface ObjectNode {
  readonly kind: "object";
  readonly at: SourceLocation;
  /** In the order of the file. A map, so that no name is special. */
  readonly members: ReadonlyMap<string, Member>;
}

export interface ArrayNode {
  readonly kind: "array";
  readonly at: SourceLocation;
  readonly items: readonly ConfigNode[];
}

export interface Member {
  /** Where its name is. */
  readonly at: SourceLocation;
  readonly value: ConfigNode;
}

/** Counts the nodes of a tree. Throws `invalid-config` when it is too deep or too large. */
export interface Budget {
  /** Takes one value at this depth; the outermost is at 0. */
  take(depth: number, at: SourceLocation): void;
}

export function createBudget(): Budget {
  let taken = 0;
  return {
    take(depth, at) {
      if (depth > limits.maxDepth) throw tooDeep(at);
      if (++taken > limits.maxNodes) throw invalidConfig(at, `there are more than ${limits.maxNodes} values`);
    },
  };
}

export function tooDeep(at: SourceLocation): Error {
  return invalidConfig(at, `values are nested deeper than ${limits.maxDepth} levels`);
}

/** Adds a member. Throws `invalid-config` when there is one of that name. */
export function addMember(members: Map<string, Member>, name: string, member: Member): void {
  const first = members.get(name);
  if (first !== undefined) {
    throw invalidConfig(member.at, `${shownName(name)} is there twice; the first is at ${formatLocation(first.at)}`);
  }
  members.set(name, member);
}

/** The object that a member holds, if it holds one. */
export function objectIn(node: ObjectNode, name: string): ObjectNode | undefined {
  const value = node.members.get(name)?.value;
  return value?.kind === "object" ? value : undefined;
}

/** What a node is, in words. */
export function kindOf(node: ConfigNode): string {
  return words[node.kind];
}

const words = {
  object: "an object",
  array: "a list",
  text: "text",
  number: "a number",
  flag: "true or false",
  nothing: "null",
} as const;

/** Bounds on one configuration. No file that people write comes near them. */
export const limits = {
  /** Characters of one file. */
  maxTextLength: 1_048_576,
  /** Characters of one YAML file: nothing else takes so long to be refused. */
  maxYamlLength: 262_144,
  maxServers: 1_000,
  /** Nesting of objects and arrays. */
  maxDepth: 32,
  /** Nodes of one file, with aliases replaced by their targets. */
  maxNodes: 100_000,
  /** Arguments, variables, headers, names of one server: each of them. */
  maxItems: 1_000,
  maxNameLength: 128,
  /** Characters of one value after its variables were put in. */
  maxValueLength: 262_144,
} as const;
