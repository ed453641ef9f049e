import { expandParts, type TemplateValues } from "./uri-template-expand.ts";
import { type MatchedVariables, toMatcher } from "./uri-template-match.ts";
import { type Operator, parseParts } from "./uri-template-syntax.ts";

export type { TemplateValues } from "./uri-template-expand.ts";
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
