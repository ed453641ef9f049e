import type { Document, Node, Pair, YAMLError } from "yaml";
import { invalidConfig, type Locate, type SourceLocation } from "./problem.ts";
import {
  addMember,
  type Budget,
  type ConfigNode,
  createBudget,
  type Member,
  type ObjectNode,
  tooDeep,
} from "./tree.ts";

type Yaml = typeof import("yaml");

/** Reads YAML 1.2, with aliases and merge keys. Throws `invalid-config`. */
export async function parseYamlTree(text: string, locate: Locate): Promise<ConfigNode> {
  const yaml = await import("yaml");
  const document = compose(yaml, text, locate);
  const [error] = document.errors;
  if (error !== undefined) throw invalidConfig(locate(error.pos[0]), wordsOf(error));
  const source = { yaml, targets: targetsOf(yaml, document), locate, budget: createBudget() };
  return document.contents === null ? { kind: "nothing", at: locate(0) } : toNode(document.contents, source, 0);
}

/** The parser recurses without a bound of its own. */
function compose(yaml: Yaml, text: string, locate: Locate): Document.Parsed {
  try {
    // Names that are there twice are found below: the parser compares every name with every other.
    return yaml.parseDocument(text, { prettyErrors: false, uniqueKeys: false, logLevel: "error" });
  } catch (error) {
    throw error instanceof RangeError ? tooDeep(locate(0)) : invalidConfig(locate(0), "this is not YAML");
  }
}

/** The target of every alias: the last node before it that has the anchor. */
function targetsOf(yaml: Yaml, document: Document.Parsed): ReadonlyMap<Node, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Node, Node>();
  yaml.visit(document, {
    Node(_, node) {
      if (!yaml.isAlias(node)) {
        if (node.anchor !== undefined) anchors.set(node.anchor, node);
        return;
      }
      const target = anchors.get(node.source);
      if (target !== undefined) targets.set(node, target);
    },
  });
  return targets;
}

interface Source {
  readonly yaml: Yaml;
  readonly targets: ReadonlyMap<Node, Node>;
  readonly locate: Locate;
  readonly budget: Budget;
}

function toNode(node: Node, source: Source, depth: number): ConfigNode {
  const at = source.locate(node.range?.[0] ?? 0);
  source.budget.take(depth, at);
  const { isAlias, isMap, isScalar, isSeq } = source.yaml;
  if (isAlias(node)) return aliasNode(node, at, source, depth);
  if (isMap(node)) return { kind: "object", at, members: membersOf(node.items, source, depth + 1) };
  if (isSeq(node)) {
    return { kind: "array", at, items: node.items.map((item) => childOf(item, at, source, depth + 1)) };
  }
  return isScalar(node) ? scalarNode(node.value, node.source, at) : { kind: "nothing", at };
}

/** The value of an alias has the location of the alias. */
function aliasNode(alias: Node, at: SourceLocation, source: Source, depth: number): ConfigNode {
  const target = source.targets.get(alias);
  if (target === undefined) throw invalidConfig(at, "this alias has no anchor before it");
  return { ...toNode(target, source, depth + 1), at };
}

function childOf(child: unknown, at: SourceLocation, source: Source, depth: number): ConfigNode {
  return source.yaml.isNode(child) ? toNode(child, source, depth) : { kind: "nothing", at };
}

function scalarNode(value: unknown, written: string | undefined, at: SourceLocation): ConfigNode {
  switch (typeof value) {
    case "string":
      return { kind: "text", at, text: value };
    case "boolean":
      return { kind: "flag", at, value };
    case "number":
    case "bigint":
      return { kind: "number", at, value: Number(value), text: written ?? String(value) };
    default:
      return value === null ? { kind: "nothing", at } : { kind: "text", at, text: written ?? "" };
  }
}

function membersOf(pairs: readonly Pair[], source: Source, depth: number): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>();
  const merged: ObjectNode[] = [];
  for (const { key, value } of pairs) {
    const { name, at } = nameOf(key, source);
    const node = childOf(value, at, source, depth);
    if (name === "<<" && node.kind !== "text") merged.push(...mergedBy(node));
    else addMember(members, name, { at, value: node });
  }
  for (const [name, member] of merged.flatMap((node) => [...node.members])) {
    if (!members.has(name)) members.set(name, member);
  }
  return members;
}

function nameOf(key: unknown, { yaml, locate }: Source): { readonly name: string; readonly at: SourceLocation } {
  const at = locate((yaml.isNode(key) ? key.range?.[0] : undefined) ?? 0);
  if (!yaml.isScalar(key) || key.value === null) throw invalidConfig(at, "a name has to be text");
  return { name: typeof key.value === "string" ? key.value : (key.source ?? String(key.value)), at };
}

/** The objects that `<<` puts in: one, or a list in which the first counts most. */
function mergedBy(node: ConfigNode): readonly ObjectNode[] {
  const nodes = node.kind === "array" ? node.items : [node];
  return nodes.map((item) => {
    if (item.kind === "object") return item;
    throw invalidConfig(item.at, "<< needs an object, or a list of objects");
  });
}

/** Messages of the parser repeat the text, which may be a secret. */
function wordsOf({ code }: YAMLError): string {
  return mistakes[code] ?? "this is not YAML";
}

const mistakes: Readonly<Partial<Record<YAMLError["code"], string>>> = {
  BAD_ALIAS: "this is not a valid alias",
  BAD_DQ_ESCAPE: "there is no such escape; write \\\\ for a backslash, or use single quotes",
  BAD_INDENT: "the indentation does not fit",
  BAD_SCALAR_START: "this character needs quotes around the text",
  BLOCK_AS_IMPLICIT_KEY: "a name and its value are not allowed here; is a line break missing?",
  BLOCK_IN_FLOW: "inside of [ ] and { } values are separated by commas, not by lines",
  DUPLICATE_KEY: "this name is there twice",
  MISSING_CHAR: "something is missing here: a closing quote, bracket, comma or colon",
  MULTILINE_IMPLICIT_KEY: "a name has to be on one line; is a colon missing?",
  MULTIPLE_DOCS: "there is more than one document in the file",
  RESOURCE_EXHAUSTION: "values are nested too deeply",
  TAB_AS_INDENT: "tabs cannot indent; use spaces",
  UNEXPECTED_TOKEN: "this is not expected here",
};
