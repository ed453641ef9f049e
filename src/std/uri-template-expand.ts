import { type Expression, type OperatorRule, operatorRules, type Part, type Variable } from "./uri-template-syntax.ts";

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
export function expandParts(parts: readonly Part[], values: TemplateValues): string {
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
