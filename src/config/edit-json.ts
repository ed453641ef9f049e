import type { Node } from "jsonc-parser";
import type { Json } from "../json/json.ts";
import type { RootedEdit } from "./server-entry.ts";

/**
 * Changes one server in JSON that may have comments. Only the server itself is
 * written: what is around it keeps its form.
 */
export async function editJson(text: string, edit: RootedEdit): Promise<string> {
  const { createScanner, findNodeAtLocation, parseTree } = await import("jsonc-parser");
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) return text;
  const path = [...edit.root, edit.name];
  const file: File = {
    text,
    style: styleOf(text),
    comma: (from, to) => findComma(createScanner(text, true), from, to),
  };
  const found = findNodeAtLocation(root, path)?.parent;
  if (found !== undefined) return edit.type === "set" ? replace(file, found, edit.entry) : remove(file, found);
  if (edit.type === "remove") return text;
  // As much of the path as there is; what is missing is put in with the server.
  let depth = edit.root.length;
  while (depth > 0 && findNodeAtLocation(root, path.slice(0, depth)) === undefined) depth--;
  const parent = depth === 0 ? root : (findNodeAtLocation(root, path.slice(0, depth)) ?? root);
  const value = path.slice(depth + 1).reduceRight<Json>((inner, name) => ({ [name]: inner }), edit.entry);
  return insert(file, parent, { name: path[depth] ?? edit.name, value, depth: depth + 1 });
}

interface File {
  readonly text: string;
  readonly style: Style;
  /** Where a comma is between two offsets, outside of comments. */
  readonly comma: (from: number, to: number) => number | undefined;
}

interface Style {
  /** One level of indentation. */
  readonly indent: string;
  readonly lineBreak: string;
}

function styleOf(text: string): Style {
  const [, indent = "  "] = /^([ \t]+)["/]/m.exec(text) ?? [];
  return { indent, lineBreak: text.includes("\r\n") ? "\r\n" : "\n" };
}

const commaToken = 5;
const endOfFile = 17;

function findComma(
  scanner: { setPosition(at: number): void; scan(): number; getTokenOffset(): number },
  from: number,
  to: number,
): number | undefined {
  scanner.setPosition(from);
  for (let token = scanner.scan(); token !== endOfFile && scanner.getTokenOffset() < to; token = scanner.scan()) {
    if (token === commaToken) return scanner.getTokenOffset();
  }
  return undefined;
}

function replace({ text, style }: File, property: Node, value: Json): string {
  const [, old] = property.children ?? [];
  if (old === undefined) return text;
  const written = write(value, lineIndent(text, property.offset), style);
  return text.slice(0, old.offset) + written + text.slice(endOf(old));
}

/** Takes a property out with the comma that belongs to it, and its lines if nothing else is on them. */
function remove({ text, comma }: File, property: Node): string {
  const siblings = property.parent?.children ?? [];
  const index = siblings.indexOf(property);
  const [before, after] = [siblings[index - 1], siblings[index + 1]];
  const end = property.parent === undefined ? text.length : endOf(property.parent);
  const behind = comma(endOf(property), after?.offset ?? end);
  const ahead = behind === undefined && before !== undefined ? comma(endOf(before), property.offset) : undefined;
  const [from, to] = widen(text, property.offset, (behind ?? endOf(property) - 1) + 1);
  const rest = text.slice(0, from) + text.slice(to);
  return ahead === undefined ? rest : rest.slice(0, ahead) + rest.slice(ahead + 1);
}

/** Takes the line break before a piece along, when it has lines of its own. */
function widen(text: string, from: number, to: number): readonly [number, number] {
  const isAlone = startsLine(text, from) && /^[ \t]*(?:\r?\n|$)/.test(text.slice(to));
  const start = lineStart(text, from);
  return isAlone && start > 0 ? [start - (text[start - 2] === "\r" ? 2 : 1), to] : [from, to];
}

interface Property {
  readonly name: string;
  readonly value: Json;
  /** How deep it is in the file. */
  readonly depth: number;
}

/** Puts a property in as the last one, on lines of its own. */
function insert(file: File, parent: Node, { name, value, depth }: Property): string {
  const { text, style, comma } = file;
  const last = parent.children?.at(-1);
  const close = endOf(parent) - 1;
  const usual = style.indent.repeat(depth);
  const indent = last !== undefined && startsLine(text, last.offset) ? lineIndent(text, last.offset) : usual;
  const written = `${style.lineBreak}${indent}${JSON.stringify(name)}: ${write(value, indent, style)}`;
  const end = last === undefined ? parent.offset + 1 : endOf(last);
  const trailing = last === undefined ? undefined : comma(end, close);
  const at = endOfLine(text, trailing === undefined ? end : trailing + 1, close);
  const separator = last === undefined || trailing !== undefined ? "" : ",";
  const head = text.slice(0, end) + separator + text.slice(end, at);
  if (startsLine(text, close)) return head + written + text.slice(at);
  return `${head}${written}${style.lineBreak}${style.indent.repeat(depth - 1)}${text.slice(at).trimStart()}`;
}

/** After a comment on the same line. */
function endOfLine(text: string, from: number, to: number): number {
  const [comment = ""] = /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/)/.exec(text.slice(from, to)) ?? [];
  return from + comment.length;
}

function write(value: Json, indent: string, { indent: unit, lineBreak }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", `${lineBreak}${indent}`);
}

function lineIndent(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset)))?.[0] ?? "";
}

function startsLine(text: string, offset: number): boolean {
  return text.slice(lineStart(text, offset), offset).trim() === "";
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}
