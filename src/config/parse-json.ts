import type { Node, ParseError } from "jsonc-parser";
import { invalidConfig, type Locate } from "./problem.ts";
import { addMember, type Budget, type ConfigNode, createBudget, limits, type Member, tooDeep } from "./tree.ts";

/** Reads JSON that may have comments and trailing commas. Throws `invalid-config`. */
export async function parseJsonTree(text: string, locate: Locate): Promise<ConfigNode> {
  const { createScanner, parseTree, printParseErrorCode } = await import("jsonc-parser");
  if (text.trim() === "") throw invalidConfig(locate(0), "the file is empty");
  checkDepth(createScanner(text, true), locate);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    throw invalidConfig(locate(first.offset), wordsOf(printParseErrorCode(first.error)));
  }
  if (root === undefined) throw invalidConfig(locate(0), "the file holds no value");
  return toNode(root, { text, locate, budget: createBudget() }, 0);
}

/** The parser recurses, so depth is looked at first. */
function checkDepth(scanner: { scan(): number; getTokenOffset(): number }, locate: Locate): void {
  let depth = 0;
  for (let token = scanner.scan(); token !== endOfFile; token = scanner.scan()) {
    if (token === openBrace || token === openBracket) depth++;
    if (token === closeBrace || token === closeBracket) depth--;
    if (depth > limits.maxDepth) throw tooDeep(locate(scanner.getTokenOffset()));
  }
}

// The parser declares these as constants that other compilers cannot see.
const [openBrace, closeBrace, openBracket, closeBracket, endOfFile] = [1, 2, 3, 4, 17];

interface Source {
  readonly text: string;
  readonly locate: Locate;
  readonly budget: Budget;
}

function toNode(node: Node, source: Source, depth: number): ConfigNode {
  const at = source.locate(node.offset);
  source.budget.take(depth, at);
  switch (node.type) {
    case "object":
      return { kind: "object", at, members: membersOf(node.children ?? [], source, depth + 1) };
    case "array":
      return { kind: "array", at, items: (node.children ?? []).map((item) => toNode(item, source, depth + 1)) };
    case "string":
      return { kind: "text", at, text: node.value };
    case "number":
      return { kind: "number", at, value: node.value, text: source.text.slice(node.offset, node.offset + node.length) };
    case "boolean":
      return { kind: "flag", at, value: node.value };
    default:
      return { kind: "nothing", at };
  }
}

function membersOf(properties: readonly Node[], source: Source, depth: number): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>();
  for (const { children: [key, value] = [] } of properties) {
    if (key === undefined || value === undefined) continue;
    addMember(members, key.value, { at: source.locate(key.offset), value: toNode(value, source, depth) });
  }
  return members;
}

function wordsOf(code: string): string {
  return mistakes[code] ?? "this is not JSON";
}

const mistakes: Readonly<Record<string, string>> = {
  InvalidSymbol: "this is not a JSON value; text needs double quotes",
  InvalidNumberFormat: "this is not a number",
  PropertyNameExpected: "a name in double quotes is expected",
  ValueExpected: "a value is expected",
  ColonExpected: "a colon is missing",
  CommaExpected: "a comma is missing",
  CloseBraceExpected: "a closing } is missing",
  CloseBracketExpected: "a closing ] is missing",
  EndOfFileExpected: "nothing may follow the outermost value",
  InvalidCommentToken: "a comment is not allowed here",
  UnexpectedEndOfComment: "a comment is not closed",
  UnexpectedEndOfString: "a text is not closed",
  UnexpectedEndOfNumber: "a number is not finished",
  InvalidUnicode: "\\u needs four hexadecimal digits",
  InvalidEscapeCharacter: "there is no such escape; write \\\\ for a backslash",
  InvalidCharacter: "a control character has to be escaped",
};
