/** What a template consists of, in order. */
export type Part = Literal | Expression;

/** Text that stands in every URI of the template. */
interface Literal {
  readonly kind: "literal";
  readonly text: string;
}

/** One `{…}`. */
export interface Expression {
  readonly kind: "expression";
  readonly operator: Operator;
  readonly variables: readonly Variable[];
}

/** One variable of an expression, with its modifiers. */
export interface Variable {
  readonly name: string;
  /** At most so many code points of the value, as in `{name:3}`. */
  readonly prefix: number | undefined;
  /** `{name*}`: every member of a list on its own. */
  readonly explode: boolean;
}

/** The character behind the opening brace. None for `{name}`. */
export type Operator = "" | "+" | "#" | "." | "/" | ";" | "?" | "&";

/** How an operator writes its variables (RFC 6570 appendix A) and where their values end. */
export interface OperatorRule {
  /** Before the first variable. */
  readonly lead: string;
  /** Between variables, and between the members of an exploded one. */
  readonly separator: string;
  /** Whether a value follows its name, as in `?name=value`. */
  readonly named: boolean;
  /** What follows the name of an empty value. */
  readonly ifEmpty: "" | "=";
  /** Whether reserved characters and percent-encoded triplets of a value are kept. */
  readonly keepsReserved: boolean;
  /** The characters that end a value, unless they are encoded. */
  readonly stops: string;
  /** Whether a URI may lack the variables. */
  readonly optional: boolean;
}

const path = { named: false, ifEmpty: "", keepsReserved: false, stops: "/?#", optional: false } as const;
const query = { named: true, ifEmpty: "=", keepsReserved: false, stops: "&#", optional: true } as const;

/** The operators of RFC 6570, and none. */
export const operatorRules: { readonly [O in Operator]: OperatorRule } = {
  "": { ...path, lead: "", separator: "," },
  "+": { ...path, lead: "", separator: ",", keepsReserved: true, stops: "" },
  "#": { ...path, lead: "#", separator: ",", keepsReserved: true, stops: "" },
  ".": { ...path, lead: ".", separator: "." },
  "/": { ...path, lead: "/", separator: "/" },
  ";": { ...path, lead: ";", separator: ";", named: true, stops: ";/?#" },
  "?": { ...query, lead: "?", separator: "&" },
  "&": { ...query, lead: "&", separator: "&" },
};

type Parsed<T> = { readonly ok: true; readonly value: T } | Refusal;

interface Refusal {
  readonly ok: false;
  readonly problem: string;
}

/** A match costs the length of the template times the length of the URI, so a template of a peer is bounded. */
const maxLength = 4096;

/** Splits a template into its parts, or says what is wrong with it and where. Positions count from 0. */
export function parseParts(source: string): Parsed<readonly Part[]> {
  if (source.length > maxLength) return { ok: false, problem: `template longer than ${maxLength} characters` };
  const parts: Part[] = [];

  for (let at = 0; at < source.length; ) {
    const opens = source[at] === "{";
    const end = opens ? source.indexOf("}", at) : indexOrEnd(source, "{", at);
    if (end < 0) return refuse("unclosed {", at);
    const part = opens ? parseExpression(source.slice(at + 1, end), at + 1) : parseLiteral(source.slice(at, end), at);
    if (!part.ok) return part;
    parts.push(part.value);
    at = opens ? end + 1 : end;
  }
  return { ok: true, value: parts };
}

function indexOrEnd(text: string, search: string, from: number): number {
  const found = text.indexOf(search, from);
  return found < 0 ? text.length : found;
}

function parseLiteral(text: string, position: number): Parsed<Literal> {
  let at = position;
  for (const char of text) {
    if (char === "}") return refuse("unexpected }", at);
    if (!isLiteral(char)) return refuse(`character ${printable(char)} is not allowed`, at);
    if (char === "%" && !/^%[\da-f]{2}/i.test(text.slice(at - position))) return refuse("incomplete %-sequence", at);
    at += char.length;
  }
  return { ok: true, value: { kind: "literal", text } };
}

/** Controls, the space, lone surrogates and a few ASCII characters stand in no URI. */
function isLiteral(char: string): boolean {
  const code = char.codePointAt(0) ?? 0;
  if (code <= 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0xd800 && code <= 0xdfff)) return false;
  return !'"<>\\^`{|}'.includes(char);
}

function printable(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return code > 0x20 && code < 0x7f ? char : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

function parseExpression(body: string, position: number): Parsed<Expression> {
  const first = body.charAt(0);
  if (first === "") return refuse("empty expression", position);
  if ("=,!@|".includes(first)) return refuse(`operator ${first} is reserved`, position);

  const operator = isOperator(first) ? first : "";
  const variables: Variable[] = [];
  let at = position + operator.length;
  for (const text of body.slice(operator.length).split(",")) {
    const variable = parseVariable(text, at);
    if (!variable.ok) return variable;
    variables.push(variable.value);
    at += text.length + 1;
  }
  return { ok: true, value: { kind: "expression", operator, variables } };
}

function isOperator(char: string): char is Operator {
  return Object.hasOwn(operatorRules, char);
}

function parseVariable(text: string, position: number): Parsed<Variable> {
  const [name = ""] = text.split(/[:*]/, 1);
  const modifier = text.slice(name.length);
  const at = position + name.length;

  if (text === "") return refuse("missing variable name", position);
  if (!variableName.test(name)) return refuse(`invalid variable name "${name}"`, position);
  if (modifier === "") return { ok: true, value: { name, prefix: undefined, explode: false } };
  if (modifier === "*") return { ok: true, value: { name, prefix: undefined, explode: true } };
  if (/^:[1-9]\d{0,3}$/.test(modifier)) {
    return { ok: true, value: { name, prefix: Number(modifier.slice(1)), explode: false } };
  }
  if (/^(?::\d+\*|\*:\d+)$/.test(modifier)) return refuse(`prefix and explode together in "${text}"`, at);
  return refuse(`invalid modifier "${modifier}"`, at, ", expected * or :1 to :9999");
}

const variableName = /^(?:\w|%[\da-f]{2})(?:\.?(?:\w|%[\da-f]{2}))*$/i;

function refuse(problem: string, position: number, hint = ""): Refusal {
  return { ok: false, problem: `${problem} at position ${position}${hint}` };
}

/**
 * The characters of a URI, percent-decoded once, as code points.
 *
 * Spellings that RFC 3986 calls equivalent become equal: `%7E` is `~` and
 * `%C3%A9` is `é`. An encoded delimiter is marked, so that `%2F` in a value is
 * never taken for the `/` behind it.
 */
export type Units = readonly number[];

const encodedMark = 0x20_0000;

/** Reads a URI. Undefined if a `%` is not the start of percent-encoded UTF-8. */
export function toUnits(uri: string): Units | undefined {
  const units: number[] = [];
  for (let at = 0; at < uri.length; ) {
    const isEncoded = uri[at] === "%";
    const end = isEncoded ? endOfTriplets(uri, at) : endOfPlain(uri, at);
    const text = isEncoded ? decode(uri.slice(at, end)) : uri.slice(at, end);
    if (text === undefined) return undefined;
    for (const char of text) units.push(toUnit(char, isEncoded));
    at = end;
  }
  return units;
}

/** The units of a piece of a template. Triplets that are no UTF-8 equal nothing, as no such URI can be read. */
export function toTemplateUnits(text: string): Units {
  return toUnits(text) ?? [-1];
}

/** The text of some units, without a trace of what was encoded. */
export function fromUnits(units: Units): string {
  return units.map((unit) => String.fromCodePoint(unit & ~encodedMark)).join("");
}

function endOfTriplets(uri: string, start: number): number {
  let end = start;
  while (uri[end] === "%") end += 3;
  return end;
}

function endOfPlain(uri: string, start: number): number {
  const end = uri.indexOf("%", start);
  return end < 0 ? uri.length : end;
}

function decode(triplets: string): string | undefined {
  try {
    return decodeURIComponent(triplets);
  } catch {
    return undefined;
  }
}

function toUnit(char: string, isEncoded: boolean): number {
  const code = char.codePointAt(0) ?? 0;
  return isEncoded && isDelimiter(char) ? code | encodedMark : code;
}

/** Whether encoding the character changes what a URI means. */
function isDelimiter(char: string): boolean {
  return char <= "\x7f" && !/[\w.~-]/.test(char);
}
