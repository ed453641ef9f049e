import { type MatchedVariables, toMatcher } from "./uri-template-match.ts";
import {
  type Expression,
  type Operator,
  type OperatorRule,
  operatorRules,
  type Part,
  parseParts,
  type Variable,
} from "./uri-template-syntax.ts";

export type { MatchedVariables } from "./uri-template-match.ts";

/** A URI template of RFC 6570, level 4, that can be filled and read back. Immutable. */
export interface UriTemplate {
  readonly source: string;
  /** The names, in order of first appearance. */
  readonly variables: readonly string[];

  /**
   * Fills the template.
   *
   * Throws a {@link TypeError} for a list or a record behind a prefix such as
   * `{name:3}`, to which RFC 6570 gives no meaning.
   */
  expand(values: TemplateValues): string;

  /**
   * The variables of a URI, percent-decoded once, or undefined if it is none of this template.
   *
   * - `{a}`, `{.a}` and `{/a}` have at least one character, encoded or not, and
   *   end at `/`, `?` or `#`. `{+a}` and `{#a}` may go on behind those.
   * - `{?a,b}` and `{&a,b}` come in any order, and each may be missing or empty.
   *   `{;a,b}` too, but must be there. A parameter of another name is no match.
   * - `{a*}` is a list. That of `{.a*}`, `{/a*}` and `{;a*}` may be empty. A list
   *   that is not exploded is one text with commas; records are not read back.
   * - A name used twice has to say the same both times.
   * - Where a URI can be read in several ways, what may be missing is there if it
   *   can be, and each variable from left to right takes as little as it can:
   *   `{a}{b}` reads `xyz` as `x` and `yz`.
   *
   * Delimiters count only where they are not encoded, so a value may contain the
   * `/` of a `%2F`: look at it before it becomes a path. Takes time in proportion
   * to the length of the URI.
   */
  match(uri: string): MatchedVariables | undefined;
}

/** A template, or what is wrong with it and where. */
export type ParsedUriTemplate =
  | { readonly ok: true; readonly value: UriTemplate }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads a URI template. Never throws.
 *
 * ```ts
 * const parsed = parseUriTemplate("stock://{sku}{?page}");
 * if (parsed.ok) parsed.value.match("stock://a%20b?page=2"); // { sku: "a b", page: "2" }
 * ```
 */
export function parseUriTemplate(source: string): ParsedUriTemplate {
  const parsed = parseParts(source);
  if (!parsed.ok) return parsed;

  const parts = parsed.value;
  const names = parts.flatMap((part) => (part.kind === "expression" ? part.variables.map(({ name }) => name) : []));
  const template: UriTemplate = {
    source,
    variables: [...new Set(names)],
    expand: (values) => expandParts(parts, values),
    match: toMatcher(parts),
  };
  return { ok: true, value: template };
}

/**
 * The variables of a literal template, as {@link UriTemplate.match} returns them.
 *
 * `"stock://{sku}{?page}"` has `{ readonly sku: string; readonly page?: string }`.
 */
export type TemplateVariables<T extends string> = T extends string
  ? string extends T
    ? MatchedVariables
    : VariablesOf<Specs<T>>
  : never;

/** Each variable as it is written, with a `?` before those that may be missing. */
type Specs<T extends string, Found extends string = never> = T extends `${string}{${infer Body}}${infer Rest}`
  ? Specs<Rest, Found | SpecsOfExpression<Body>>
  : Found;

type SpecsOfExpression<Body extends string> = Body extends `${infer Op extends Exclude<Operator, "">}${infer List}`
  ? Op extends "?" | "&"
    ? `?${Split<List>}`
    : Split<List>
  : Split<Body>;

type Split<List extends string, Found extends string = never> = List extends `${infer Spec},${infer Rest}`
  ? Split<Rest, Found | Spec>
  : Found | List;

type VariablesOf<Spec extends string> = Flat<
  { readonly [S in Exclude<Spec, `?${string}`> as NameOf<S>]: ValueOf<S> } & {
    readonly [S in Extract<Spec, `?${string}`> as NameOf<S>]?: ValueOf<S>;
  }
>;

type NameOf<Spec extends string> = Spec extends `?${infer Rest}`
  ? NameOf<Rest>
  : Spec extends `${infer Name}*` | `${infer Name}:${string}`
    ? Name
    : Spec;

type ValueOf<Spec extends string> = Spec extends `${string}*` ? readonly string[] : string;

/** Shows one object instead of an intersection. */
type Flat<T> = { [K in keyof T]: T[K] };

/**
 * The values of a template, by name. Only own properties count.
 *
 * What is `undefined` or `null` is left out, also inside a list or a record.
 * Numbers and booleans are written as `String` writes them.
 */
export type TemplateValues = Readonly<Record<string, Value>>;

type Value = Scalar | readonly Scalar[] | Readonly<Record<string, Scalar>>;

type Scalar = string | number | boolean | undefined | null;

/** Fills a template as RFC 6570 section 3 says. */
function expandParts(parts: readonly Part[], values: TemplateValues): string {
  return parts
    .map((part) => (part.kind === "literal" ? encodeReserved(part.text) : expandExpression(part, values)))
    .join("");
}

function expandExpression({ operator, variables }: Expression, values: TemplateValues): string {
  const rule = operatorRules[operator];
  const written = variables.flatMap((variable) => {
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined;
    return expandVariable(variable, value, rule);
  });
  return written.length > 0 ? rule.lead + written.join(rule.separator) : "";
}

/** The pieces of one variable: none if it is undefined, several if it is exploded. */
function expandVariable(variable: Variable, value: Value, rule: OperatorRule): readonly string[] {
  if (value === undefined || value === null) return [];
  const encode = rule.keepsReserved ? encodeReserved : encodeUnreserved;
  const assign = (text: string): string => (rule.named ? withName(variable.name, text, rule) : text);

  if (typeof value !== "object") return [assign(encode(cut(String(value), variable.prefix)))];
  if (variable.prefix !== undefined) {
    throw new TypeError(`the prefix :${variable.prefix} of ${variable.name} does not apply to a list or a record`);
  }
  if (isList(value)) {
    const members = value.filter(isDefined).map((member) => encode(String(member)));
    if (variable.explode) return members.map(assign);
    return members.length > 0 ? [assign(members.join(","))] : [];
  }
  const pairs = Object.entries(value).flatMap(([key, member]) =>
    isDefined(member) ? [[encode(key), encode(String(member))] as const] : [],
  );
  if (variable.explode) return pairs.map(([key, text]) => (rule.named ? withName(key, text, rule) : `${key}=${text}`));
  return pairs.length > 0 ? [assign(pairs.flat().join(","))] : [];
}

function withName(name: string, text: string, { ifEmpty }: OperatorRule): string {
  return text === "" ? name + ifEmpty : `${name}=${text}`;
}

function cut(text: string, prefix: number | undefined): string {
  return prefix === undefined ? text : Array.from(text).slice(0, prefix).join("");
}

/** `Array.isArray` does not narrow readonly arrays. */
function isList(value: object): value is readonly Scalar[] {
  return Array.isArray(value);
}

function isDefined<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

function encodeUnreserved(text: string): string {
  return encodeURIComponent(wellFormed(text)).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** `encodeURI` knows neither the brackets of IPv6 nor triplets that are encoded already. */
function encodeReserved(text: string): string {
  return encodeURI(wellFormed(text))
    .replaceAll("%5B", "[")
    .replaceAll("%5D", "]")
    .replace(/%25([\da-f]{2})/gi, "%$1");
}

/** Replaces lone surrogates, which have no UTF-8, as `TextEncoder` does. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
