/** The syntax tree of a regular expression, reduced to the parts that determine the cost of matching. */
export type PatternNode =
  | { readonly kind: "chars"; readonly set: CharSet }
  | { readonly kind: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly options: readonly PatternNode[] }
  | Repeat
  /** `(?=…)`, `(?!…)`, `(?<=…)` and `(?<!…)`. */
  | { readonly kind: "look"; readonly body: PatternNode }
  /** `^` is a start; `$`, `\b` and `\B` are not. */
  | { readonly kind: "edge"; readonly start: boolean };

export interface Repeat {
  readonly kind: "repeat";
  readonly body: PatternNode;
  readonly min: number;
  readonly max: number;
  /** The text of this part, quantifier included. */
  readonly source: string;
}

type ParsedPattern =
  | { readonly ok: true; readonly value: PatternNode }
  | { readonly ok: false; readonly problem: string };

/**
 * Parses a pattern that `new RegExp(source, "u")` accepts; other patterns are not
 * reliably rejected. Back references and inline modifiers are a problem, because
 * their cost cannot be bounded.
 */
export function parsePattern(source: string): ParsedPattern {
  const cursor: Cursor = { source, at: 0, nesting: 0, problem: undefined };
  const value = readChoice(cursor);
  return cursor.problem === undefined ? { ok: true, value } : { ok: false, problem: cursor.problem };
}

interface Cursor {
  readonly source: string;
  at: number;
  nesting: number;
  /** The first problem. Parsing continues, so that callers need no error handling. */
  problem: string | undefined;
}

const maxNesting = 50;

function readChoice(cursor: Cursor): PatternNode {
  const first = readSequence(cursor);
  const options = [first];
  while (eat(cursor, "|")) options.push(readSequence(cursor));
  return options.length === 1 ? first : { kind: "choice", options };
}

function readSequence(cursor: Cursor): PatternNode {
  const items: PatternNode[] = [];
  while (cursor.at < cursor.source.length && !/[|)]/.test(cursor.source.charAt(cursor.at))) {
    const start = cursor.at;
    items.push(readQuantifier(cursor, readAtom(cursor), start));
  }
  return { kind: "sequence", items };
}

function readQuantifier(cursor: Cursor, body: PatternNode, start: number): PatternNode {
  const [text, least = "", comma, most = ""] = take(cursor, /[*+?]|\{(\d+)(,?)(\d*)\}/y) ?? [];
  if (text === undefined) return body;
  eat(cursor, "?");
  const min = least === "" ? Number(text === "+") : Number(least);
  const max = text === "?" ? 1 : comma === "" ? min : most === "" ? Infinity : Number(most);
  return { kind: "repeat", body, min, max, source: cursor.source.slice(start, cursor.at) };
}

function readAtom(cursor: Cursor): PatternNode {
  if (eat(cursor, "^")) return { kind: "edge", start: true };
  if (eat(cursor, "$") || eat(cursor, "\\b") || eat(cursor, "\\B")) return { kind: "edge", start: false };
  if (eat(cursor, "(")) return readGroup(cursor);
  if (eat(cursor, "[")) return { kind: "chars", set: readClass(cursor) };
  if (eat(cursor, ".")) return { kind: "chars", set: dot };
  const [reference] = take(cursor, /\\(?:[1-9]\d*|k<[^>]*>)/y) ?? [];
  if (reference === undefined) return { kind: "chars", set: readCharacter(cursor) };
  cursor.problem ??= `the back reference ${reference} is not supported`;
  return { kind: "chars", set: anyChar };
}

function readGroup(cursor: Cursor): PatternNode {
  const [opening = ""] = take(cursor, /\?(?:[:=!]|<[=!]|<[^>]*>|[a-z-]*:)/y) ?? [];
  if (/^\?[a-z-]/.test(opening)) cursor.problem ??= `the inline modifier (${opening} is not supported`;
  if (++cursor.nesting > maxNesting) {
    cursor.problem ??= `groups are nested deeper than ${maxNesting} levels`;
    cursor.at = cursor.source.length;
  }
  const body = readChoice(cursor);
  cursor.nesting--;
  eat(cursor, ")");
  return /^\?<?[=!]$/.test(opening) ? { kind: "look", body } : body;
}

function readClass(cursor: Cursor): CharSet {
  const negated = eat(cursor, "^");
  const ranges: Range[] = [];
  while (cursor.at < cursor.source.length && !eat(cursor, "]")) {
    const from = readCharacter(cursor);
    ranges.push(...from);
    if (take(cursor, /-(?!\])/y) === undefined) continue;
    const to = readCharacter(cursor);
    const [low, high] = [from[0]?.[0], to[0]?.[1]];
    if (low !== undefined && high !== undefined) ranges.push([low, high]);
  }
  return negated ? complement(charSet(ranges)) : charSet(ranges);
}

/** The set of one character, or of a class escape such as `\d` or `\p{…}`. */
function readCharacter(cursor: Cursor): CharSet {
  const [property] = take(cursor, /\\p\{[^}]*\}/iy) ?? [];
  if (property !== undefined) return propertySet(property);
  const [, letter = ""] = take(cursor, /\\([dws])/iy) ?? [];
  const code = letter === "" ? readCodePoint(cursor) : 0;
  return classEscapes.get(letter) ?? [[code, code]];
}

function readCodePoint(cursor: Cursor): number {
  const [, lead = "", trail = ""] = take(cursor, /\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})/iy) ?? [];
  if (lead !== "") return String.fromCharCode(hex(lead), hex(trail)).codePointAt(0) ?? 0;
  const [, braced, four = braced, digits = four] =
    take(cursor, /\\(?:u\{([0-9a-f]+)\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/iy) ?? [];
  if (digits !== undefined) return hex(digits);
  const [, control] = take(cursor, /\\c([a-z])/iy) ?? [];
  if (control !== undefined) return control.charCodeAt(0) % 32;
  const escaped = eat(cursor, "\\");
  const code = cursor.source.codePointAt(cursor.at) ?? 0;
  const char = String.fromCodePoint(code);
  cursor.at += char.length;
  return escaped ? (controlEscapes.get(char) ?? code) : code;
}

/** Control characters by escape. `\b` is the backspace in a character class. */
const controlEscapes: ReadonlyMap<string, number> = new Map([
  ["0", 0],
  ["b", 8],
  ["t", 9],
  ["n", 10],
  ["v", 11],
  ["f", 12],
  ["r", 13],
]);

function hex(digits: string): number {
  return Number.parseInt(digits, 16);
}

function eat(cursor: Cursor, text: string): boolean {
  const found = cursor.source.startsWith(text, cursor.at);
  if (found) cursor.at += text.length;
  return found;
}

/** Matches a sticky expression at the cursor and moves the cursor behind the match. */
function take(cursor: Cursor, expression: RegExp): RegExpExecArray | undefined {
  expression.lastIndex = cursor.at;
  const found = expression.exec(cursor.source) ?? undefined;
  cursor.at += found?.[0].length ?? 0;
  return found;
}

/** Code points, as sorted and disjoint ranges with both ends included. */
export type CharSet = readonly Range[];

type Range = readonly [from: number, to: number];

const last = 0x10ffff;

export const anyChar: CharSet = [[0, last]];

/** The set of all code points in any of the ranges, which may overlap and come in any order. */
export function charSet(ranges: readonly Range[]): CharSet {
  const merged: [number, number][] = [];
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const previous = merged.at(-1);
    if (previous !== undefined && from <= previous[1] + 1) previous[1] = Math.max(previous[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function complement(set: CharSet): CharSet {
  const gaps: Range[] = [];
  let from = 0;
  for (const range of set) {
    if (range[0] > from) gaps.push([from, range[0] - 1]);
    from = range[1] + 1;
  }
  if (from <= last) gaps.push([from, last]);
  return gaps;
}

export function intersection(a: CharSet, b: CharSet): CharSet {
  return complement(charSet([...complement(a), ...complement(b)]));
}

/** The set with both cases of its ASCII letters. */
export function foldCase(set: CharSet): CharSet {
  const upper = intersection(set, [[0x41, 0x5a]]).map(([from, to]): Range => [from + 32, to + 32]);
  const lower = intersection(set, [[0x61, 0x7a]]).map(([from, to]): Range => [from - 32, to - 32]);
  return upper.length + lower.length === 0 ? set : charSet([...set, ...upper, ...lower]);
}

/** Whether some code point is in both sets. */
export function overlap(a: CharSet, b: CharSet): boolean {
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [left, right] = [a[i], b[j]];
    if (left === undefined || right === undefined) return false;
    if (left[1] < right[0]) i++;
    else if (right[1] < left[0]) j++;
    else return true;
  }
  return false;
}

const digits: readonly Range[] = [[0x30, 0x39]];
const words: readonly Range[] = [...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const spaces: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

/** The sets of `\d`, `\D`, `\w`, `\W`, `\s` and `\S` in a regular expression with the `u` flag. */
export const classEscapes: ReadonlyMap<string, CharSet> = new Map([
  ["d", charSet(digits)],
  ["D", complement(charSet(digits))],
  ["w", charSet(words)],
  ["W", complement(charSet(words))],
  ["s", charSet(spaces)],
  ["S", complement(charSet(spaces))],
]);

/** The set of `.`: all characters except line terminators. */
export const dot: CharSet = complement([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]);

/**
 * A superset of a property escape such as `\p{L}`: exact for ASCII, and all other code
 * points, to avoid the tables of Unicode.
 */
export function propertySet(source: string): CharSet {
  const property = new RegExp(`^${source}$`, "u");
  const ranges: Range[] = [[0x80, last]];
  for (let code = 0; code < 0x80; code++) {
    if (property.test(String.fromCharCode(code))) ranges.push([code, code]);
  }
  return charSet(ranges);
}
