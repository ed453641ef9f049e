import { formatOf } from "../../config/parse-config.ts";
import { parseJsonTree } from "../../config/parse-json.ts";
import { parseYamlTree } from "../../config/parse-yaml.ts";
import { invalidConfig, locator } from "../../config/problem.ts";
import { type ConfigNode, limits, type ObjectNode } from "../../config/tree.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { readText } from "../values/read-text.ts";

/** What `plugbay test` reads. */
export interface TestFile {
  /** Where the server is, as it would be typed. */
  readonly target: string | undefined;
  /** The file of the snapshot, or undefined when the surface is not compared. */
  readonly snapshot: string | undefined;
  readonly tests: readonly TestCase[];
}

/** What one test does. */
export type TestAction =
  | { readonly kind: "call"; readonly name: string; readonly arguments: JsonObject }
  | { readonly kind: "read"; readonly name: string }
  | { readonly kind: "prompt"; readonly name: string; readonly arguments: Readonly<Record<string, string>> };

export interface TestCase {
  readonly name: string;
  readonly line: number;
  readonly action: TestAction;
  readonly expect: Expectation;
}

/** What is expected of a result. Absent members are not looked at. */
export interface Expectation {
  /** True: any failure. A text: a failure with this code, or whose message has this text. Default false: no failure. */
  readonly error: boolean | string;
  /** The whole text of the result. */
  readonly text?: string;
  /** A part of the text. */
  readonly contains?: readonly string[];
  /** A regular expression that matches somewhere in the text. */
  readonly matches?: RegExp;
  /** What the structured content has at least. */
  readonly structured?: Json;
  /** What the whole result has at least. */
  readonly result?: Json;
  /** Milliseconds that it may take. */
  readonly withinMs?: number;
}

/** Reads a test file: YAML, or JSON with comments. Throws `invalid-config`, whose message begins with the place. */
export async function readTestFile(path: string): Promise<TestFile> {
  const text = await readText(path);
  if (text.length > limits.maxTextLength)
    throw invalidConfig({ path }, `the file is longer than ${limits.maxTextLength} characters`);
  const parse = formatOf(path, text) === "json" ? parseJsonTree : parseYamlTree;
  const root = objectOf(await parse(text, locator(path, text)), "the file");
  checkNames(root, ["target", "snapshot", "tests"]);
  const tests = root.members.get("tests")?.value;
  if (tests?.kind !== "array" || tests.items.length === 0) {
    if (root.members.get("snapshot") === undefined || tests !== undefined)
      throw invalidConfig(tests?.at ?? root.at, "tests must be a list of tests");
  }
  const snapshot = root.members.get("snapshot")?.value;
  const cases = tests?.kind === "array" ? tests.items.map(readCase) : [];
  return {
    target: textIn(root, "target"),
    snapshot: snapshot?.kind === "flag" ? (snapshot.value ? `${path}.snapshot` : undefined) : textIn(root, "snapshot"),
    tests: cases,
  };
}

const kinds = ["call", "read", "prompt"] as const;

function readCase(node: ConfigNode): TestCase {
  const test = objectOf(node, "a test");
  checkNames(test, ["name", ...kinds, "arguments", "expect"]);
  const [kind, ...others] = kinds.filter((one) => test.members.has(one));
  if (kind === undefined || others.length > 0) throw invalidConfig(test.at, "a test has one of call, read and prompt");
  const name = textIn(test, kind) ?? "";
  const given = test.members.get("arguments")?.value;
  const args = given === undefined ? {} : toJson(objectOf(given, "arguments"));
  const expected = test.members.get("expect")?.value;
  return {
    name: textIn(test, "name") ?? `${kind} ${name}`,
    line: test.at.line ?? 1,
    action: toAction(kind, name, isObject(args) ? args : {}),
    expect: expected === undefined ? { error: false } : readExpectation(objectOf(expected, "expect")),
  };
}

function toAction(kind: TestAction["kind"], name: string, args: JsonObject): TestAction {
  if (kind === "read") return { kind, name };
  if (kind === "call") return { kind, name, arguments: args };
  const texts = Object.entries(args).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return { kind, name, arguments: Object.fromEntries(texts) };
}

function readExpectation(node: ObjectNode): Expectation {
  checkNames(node, ["error", "text", "contains", "matches", "structured", "result", "withinMs"]);
  const value = (name: string): Json | undefined => {
    const member = node.members.get(name)?.value;
    return member && toJson(member);
  };
  const [error, contains, withinMs] = [value("error"), value("contains"), value("withinMs")];
  const [text, structured, result] = [textIn(node, "text"), value("structured"), value("result")];
  if (withinMs !== undefined && typeof withinMs !== "number") throw invalidConfig(node.at, "withinMs must be a number");
  return {
    error: typeof error === "string" ? error : error === true,
    ...(text !== undefined && { text }),
    ...(contains !== undefined && { contains: [contains].flat().map(String) }),
    ...(node.members.has("matches") && { matches: readPattern(node) }),
    ...(structured !== undefined && { structured }),
    ...(result !== undefined && { result }),
    ...(withinMs !== undefined && { withinMs }),
  };
}

function readPattern(node: ObjectNode): RegExp {
  const pattern = textIn(node, "matches") ?? "";
  try {
    return new RegExp(pattern, "su");
  } catch {
    throw invalidConfig(node.members.get("matches")?.at ?? node.at, "matches must be a regular expression");
  }
}

function objectOf(node: ConfigNode, what: string): ObjectNode {
  if (node.kind === "object") return node;
  throw invalidConfig(node.at, `${what} must be an object`);
}

/** A misspelled member would be a test that cannot fail. */
function checkNames({ members }: ObjectNode, known: readonly string[]): void {
  for (const [name, { at }] of members) {
    if (!known.includes(name)) throw invalidConfig(at, `${name} is not known here; known are ${known.join(", ")}`);
  }
}

function textIn({ members }: ObjectNode, name: string): string | undefined {
  const node = members.get(name)?.value;
  if (node === undefined) return undefined;
  if (node.kind === "text" || node.kind === "number") return node.text;
  throw invalidConfig(node.at, `${name} must be a text`);
}

function toJson(node: ConfigNode): Json {
  switch (node.kind) {
    case "object":
      return Object.fromEntries([...node.members].map(([name, { value }]) => [name, toJson(value)]));
    case "array":
      return node.items.map(toJson);
    case "text":
      return node.text;
    case "number":
    case "flag":
      return node.value;
    case "nothing":
      return null;
  }
}
