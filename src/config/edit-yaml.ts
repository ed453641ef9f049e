import type { Pair, YAMLMap } from "yaml";
import type { Json } from "../json/json.ts";
import type { RootedEdit } from "./server-entry.ts";

type Yaml = typeof import("yaml");

/**
 * Changes one server in YAML. Only its own lines are written: all others stay
 * as they are, whatever their form.
 */
export async function editYaml(text: string, edit: RootedEdit): Promise<string> {
  const yaml = await import("yaml");
  const { contents } = yaml.parseDocument(text, { uniqueKeys: false });
  const path = [...edit.root, edit.name];
  const file: File = { yaml, text, style: styleOf(text) };
  const found = yaml.isMap(contents) ? find(file, contents, path) : undefined;
  if (edit.type === "remove") {
    return found?.pair === undefined || found.rest.length > 0 ? text : remove(file, found.map, found.pair);
  }
  if (found === undefined) return contents === null ? append(file, path, edit.entry) : text;
  const value = nested(found.rest, edit.entry);
  if (found.pair !== undefined) return replace(file, found.map, found.pair, value);
  return insert(file, found.map, found.name, value);
}

interface File {
  readonly yaml: Yaml;
  readonly text: string;
  readonly style: Style;
}

/** How far a path leads into a document. */
interface Found {
  readonly map: YAMLMap;
  /** The last name that there is a map for. */
  readonly name: string;
  /** What has that name, if it is to be written anew: the end of the path, or something empty on the way. */
  readonly pair: Pair | undefined;
  /** The names that follow. */
  readonly rest: readonly string[];
}

function find(file: File, map: YAMLMap, [name = "", ...rest]: readonly string[]): Found | undefined {
  const { yaml } = file;
  const pair = map.items.find(({ key }) => yaml.isScalar(key) && String(key.value) === name);
  if (pair === undefined || rest.length === 0 || isEmpty(yaml, pair.value)) return { map, name, pair, rest };
  return yaml.isMap(pair.value) ? find(file, pair.value, rest) : undefined;
}

interface Style {
  /** One level. */
  readonly indent: number;
  readonly indentSeq: boolean;
  readonly flowCollectionPadding: boolean;
  readonly lineBreak: string;
}

function styleOf(text: string): Style {
  return {
    indent:
      /^[^\s#][^\n]*:[ \t]*(?:#[^\n]*)?(?:\r?\n[ \t]*(?:#[^\n]*)?)*\r?\n( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2,
    indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(text),
    flowCollectionPadding: /\{ /.test(text),
    lineBreak: text.includes("\r\n") ? "\r\n" : "\n",
  };
}

function nested(path: readonly string[], value: Json): Json {
  return path.reduceRight<Json>((inner, name) => ({ [name]: inner }), value);
}

/** Nothing behind a name, or `{}`. */
function isEmpty(yaml: Yaml, value: unknown): boolean {
  if (value === null || (yaml.isScalar(value) && value.value === null)) return true;
  return yaml.isMap(value) && value.items.length === 0;
}

/** Begins a file that has nothing but comments. */
function append(file: File, [first = "", ...rest]: readonly string[], entry: Json): string {
  return withLines(file, file.text.length, write(file, first, nested(rest, entry), 0));
}

/** Puts a pair behind the last one of a map. */
function insert(file: File, map: YAMLMap, name: string, value: Json): string {
  const { text } = file;
  const last = map.items.at(-1);
  if (map.flow === true || last === undefined) {
    const close = (map.range?.[1] ?? text.length) - 1;
    const end = last === undefined ? close : endOfPair(file, last);
    const written = writeFlow(file, { [name]: value }).replace(/^\{\s*|\s*\}$/g, "");
    return text.slice(0, end) + (last === undefined ? written : `, ${written}`) + text.slice(end);
  }
  return withLines(
    file,
    endOfLines(text, endOfPair(file, last)),
    write(file, name, value, columnOf(text, startOf(last))),
  );
}

/** Gives a pair another value. A comment behind its name stays. */
function replace(file: File, map: YAMLMap, pair: Pair, value: Json): string {
  const { text } = file;
  const colon = text.indexOf(":", endOfKey(pair)) + 1;
  const end = endOfPair(file, pair);
  if (map.flow === true) return `${text.slice(0, colon)} ${writeFlow(file, value)}${text.slice(end)}`;
  const lines = write(file, "_", value, columnOf(text, startOf(pair))).slice(1);
  if (end <= lineEnd(text, colon)) {
    // What follows on the line is a comment.
    const rest = text.slice(Math.max(end, colon), lineEnd(text, colon));
    const head = text.slice(0, colon) + rest;
    return withLines({ ...file, text: head + text.slice(lineEnd(text, colon)) }, head.length, lines);
  }
  const at = lineEnd(text, colon);
  return withLines({ ...file, text: text.slice(0, at) + text.slice(endOfLines(text, end)) }, at, lines);
}

/** Takes a pair out: its lines, or in a list between braces its part and a comma. */
function remove(file: File, map: YAMLMap, pair: Pair): string {
  const { text } = file;
  const [start, end] = [startOf(pair), endOfPair(file, pair)];
  if (map.flow !== true) return text.slice(0, lineStart(text, start)) + afterLine(text, endOfLines(text, end));
  const index = map.items.indexOf(pair);
  const [before, after] = [map.items[index - 1], map.items[index + 1]];
  if (after !== undefined) return text.slice(0, start) + text.slice(startOf(after));
  if (before !== undefined) return text.slice(0, endOfPair(file, before)) + text.slice(end);
  const [open = start, close = end] = map.range ?? [];
  return `${text.slice(0, open)}{}${text.slice(close)}`;
}

/** The lines of a pair, at this column. */
function write({ yaml, style }: File, name: string, value: Json, column: number): readonly string[] {
  const { indent, indentSeq, flowCollectionPadding } = style;
  const written = yaml.stringify({ [name]: value }, { lineWidth: 0, indent, indentSeq, flowCollectionPadding });
  const lines = written.trimEnd().split("\n");
  return lines.map((line) => (line === "" ? line : " ".repeat(column) + line));
}

function writeFlow({ yaml, style: { flowCollectionPadding } }: File, value: Json): string {
  return yaml.stringify(value, { collectionStyle: "flow", lineWidth: 0, flowCollectionPadding }).trimEnd();
}

/** Puts lines in at the end of a line, or at the end of the text. */
function withLines({ text, style: { lineBreak } }: File, at: number, lines: readonly string[]): string {
  const written = lines.join(lineBreak);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  const start = before === "" || before.endsWith("\n") ? "" : lineBreak;
  return before + start + written + (after === "" || start === "" ? lineBreak : "") + after;
}

function startOf({ key }: Pair): number {
  return rangeOf(key)[0];
}

function endOfKey({ key }: Pair): number {
  return rangeOf(key)[1];
}

/** Where the value of a pair ends, without the comments behind it. */
function endOfPair(file: File, pair: Pair): number {
  const { yaml, text } = file;
  const { value } = pair;
  if (yaml.isMap(value) && value.flow !== true && value.items.length > 0) {
    return endOfPair(file, value.items.at(-1) as Pair);
  }
  if (yaml.isSeq(value) && value.flow !== true && value.items.length > 0) return endOfItem(file, value.items.at(-1));
  const [start, end] = rangeOf(value);
  const colon = text.indexOf(":", endOfKey(pair)) + 1;
  return start === end ? colon : Math.max(end, colon);
}

function endOfItem(file: File, item: unknown): number {
  return endOfPair(file, { key: item, value: item } as Pair);
}

function rangeOf(node: unknown): readonly [number, number] {
  const { range } = (node ?? {}) as { readonly range?: readonly [number, number, number] };
  return range === undefined ? [0, 0] : [range[0], range[1]];
}

function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** The end of a line, before its line break. */
function lineEnd(text: string, offset: number): number {
  const rest = /[^\r\n]*/.exec(text.slice(offset))?.[0] ?? "";
  return offset + rest.length;
}

/** The end of the last line of a value: a text of several lines ends behind its line break. */
function endOfLines(text: string, end: number): number {
  const inLine = text[end - 1] === "\n" ? end - (text[end - 2] === "\r" ? 2 : 1) : end;
  return lineEnd(text, inLine);
}

/** What comes after the line break at this place. */
function afterLine(text: string, offset: number): string {
  return text.slice(offset).replace(/^\r?\n/, "");
}
