import { invalidConfig, type Locate, type SourceLocation } from "./problem.ts";
import { addMember, type Budget, type ConfigNode, createBudget, limits, type Member, tooDeep } from "./tree.ts";

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

/** The parser's message continues with lines of the file, which may contain secrets. */
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
  /** The location of the enclosing node, for nodes without one. */
  readonly at: SourceLocation;
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

function placeOf(path: TomlPath, part: keyof TomlPlace, { at, source }: Context): SourceLocation {
  const place = source.places.get(placeKey(path));
  return place === undefined ? at : source.locate(place[part]);
}

/** Where the names and values of a TOML text are, by their path: offsets into the text. */
type TomlPlaces = ReadonlyMap<string, TomlPlace>;

interface TomlPlace {
  readonly name: number;
  readonly value: number;
}

export type TomlPath = readonly (string | number)[];

/** The key of a path in {@link TomlPlaces}. */
export function placeKey(path: TomlPath): string {
  return JSON.stringify(path);
}

/**
 * Finds the locations that the parser does not report. The text has to be valid TOML: this only looks for the start and
 * end of items.
 */
export function findTomlPlaces(text: string): TomlPlaces {
  return scanToml(text).places;
}

/** The headers of tables in the order of the text: `[a.b]` and `[[a.b]]`. */
export function findTomlHeaders(text: string): readonly TomlHeader[] {
  return scanToml(text).headers;
}

interface TomlHeader {
  readonly at: number;
  readonly path: TomlPath;
}

function scanToml(text: string): Scan {
  const scan: Scan = {
    text,
    at: text.startsWith("\ufeff") ? 1 : 0,
    places: new Map(),
    headers: [],
    lengths: new Map(),
  };
  let table: TomlPath = [];
  for (skip(scan, blank); scan.at < text.length; skip(scan, blank)) {
    const { at } = scan;
    if (text[at] === "[") {
      table = readHeader(scan);
      scan.headers.push({ at, path: table });
    } else readPair(scan, table);
  }
  return scan;
}

interface Scan {
  readonly text: string;
  at: number;
  readonly places: Map<string, TomlPlace>;
  readonly headers: TomlHeader[];
  /** How many tables each list of tables has by now. */
  readonly lengths: Map<string, number>;
}

/** White space, line breaks and comments. */
const blank = /(?:\s|#[^\n]*)*/y;
const inLine = /[ \t]*/y;
const bareKey = /[\w-]+/y;
const quotedKey = /"[^"\\]*(?:\\.[^"\\]*)*"|'[^']*'/y;
const longText = /"""(?:[^\\]|\\[\s\S])*?"{3,5}(?!")|'''[\s\S]*?'{3,5}(?!')/y;
const scalar = /[^,\]}\n#]*/y;

function skip(scan: Scan, pattern: RegExp): string {
  pattern.lastIndex = scan.at;
  const found = pattern.exec(scan.text)?.[0] ?? "";
  scan.at += found.length;
  return found;
}

/** `[a.b]` or `[[a.b]]`: the path of the table that follows. */
function readHeader(scan: Scan): TomlPath {
  const name = scan.at;
  const isList = scan.text.startsWith("[[", scan.at);
  scan.at += isList ? 2 : 1;
  let path: TomlPath = [];
  const keys = readKeys(scan);
  for (const [index, key] of keys.entries()) {
    path = [...path, key];
    note(scan, path, { name, value: name });
    const place = placeKey(path);
    const length = scan.lengths.get(place) ?? 0;
    const grows = isList && index === keys.length - 1;
    if (grows) scan.lengths.set(place, length + 1);
    if (grows || length > 0) path = [...path, grows ? length : length - 1];
  }
  note(scan, path, { name, value: name });
  scan.at += isList ? 2 : 1;
  return path;
}

/** `a.b = value` */
function readPair(scan: Scan, table: TomlPath): void {
  const name = scan.at;
  let path = table;
  const keys = readKeys(scan);
  scan.at++;
  skip(scan, inLine);
  for (const key of keys) {
    path = [...path, key];
    note(scan, path, { name, value: scan.at });
  }
  readValue(scan, path);
}

function readKeys(scan: Scan): readonly string[] {
  const keys: string[] = [];
  do {
    if (scan.text[scan.at] === ".") scan.at++;
    skip(scan, inLine);
    const quoted = skip(scan, quotedKey);
    keys.push(quoted === "" ? skip(scan, bareKey) : unquote(quoted));
    skip(scan, inLine);
  } while (scan.text[scan.at] === ".");
  return keys;
}

function readValue(scan: Scan, path: TomlPath): void {
  const { text, at } = scan;
  if (text[scan.at] === "[") readList(scan, path);
  else if (text[scan.at] === "{") readInline(scan, path);
  else if (text.startsWith('"""', scan.at) || text.startsWith("'''", scan.at)) skip(scan, longText);
  else if (skip(scan, quotedKey) === "") skip(scan, scalar);
  // Whatever was not understood cannot stop the search.
  if (scan.at === at) scan.at++;
}

function readList(scan: Scan, path: TomlPath): void {
  scan.at++;
  for (let index = 0; more(scan, "]"); index++) {
    const item = [...path, index];
    note(scan, item, { name: scan.at, value: scan.at });
    readValue(scan, item);
  }
}

function readInline(scan: Scan, path: TomlPath): void {
  scan.at++;
  while (more(scan, "}")) readPair(scan, path);
}

/** Whether another item follows. Passes the comma before it, or the bracket after the last. */
function more(scan: Scan, end: "]" | "}"): boolean {
  skip(scan, blank);
  if (scan.text[scan.at] === ",") scan.at++;
  skip(scan, blank);
  if (scan.at < scan.text.length && scan.text[scan.at] !== end) return true;
  scan.at++;
  return false;
}

/** The first mention counts. */
function note(scan: Scan, path: TomlPath, place: TomlPlace): void {
  const key = placeKey(path);
  if (!scan.places.has(key)) scan.places.set(key, place);
}

/** Escapes of TOML that JSON lacks cannot be told apart here; such a name has the place of its table. */
function unquote(key: string): string {
  if (key.startsWith("'")) return key.slice(1, -1);
  try {
    return JSON.parse(key);
  } catch {
    return key;
  }
}
