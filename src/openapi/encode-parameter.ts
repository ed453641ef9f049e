import type { Json } from "../json/json.ts";
import { isObject } from "../json/json.ts";
import { toolError } from "../protocol/errors.ts";
import type { ParameterPlace } from "./operation.ts";
import { type Located, objectAt } from "./references.ts";

/** How a parameter is written. */
export interface ParameterStyle {
  readonly style: string;
  readonly explode: boolean;
  /** Query parameters may have reserved characters as they are. */
  readonly allowReserved: boolean;
  /** The parameter is described by a media type: its value is JSON. */
  readonly isJson: boolean;
}

/** The style of a parameter, or of a member of a form: what it says, else what OpenAPI says. */
export function styleOf(source: Located, place: ParameterPlace): ParameterStyle {
  const { style, explode, allowReserved, content } = objectAt(source);
  const standard = place === "query" || place === "cookie" ? "form" : "simple";
  const used = typeof style === "string" ? style : standard;
  return {
    style: used,
    explode: typeof explode === "boolean" ? explode : used === "form" || used === "deepObject",
    allowReserved: allowReserved === true,
    isJson: content !== undefined,
  };
}

/** The part of a path that a parameter stands for. Throws `tool-error` for a value that would lead to another path. */
export function encodePath(name: string, value: Json, { style, explode, isJson }: ParameterStyle): string {
  const separator = style === "label" ? "." : style === "matrix" ? ";" : ",";
  const write = (item: Json): string => encode(textOf(item));
  if (isJson) return prefix(style, name) + encode(JSON.stringify(value));
  const parts = partsOf(value);
  if (parts === undefined) return prefix(style, name) + write(value);
  if (!explode)
    return (
      prefix(style, name) +
      parts.flatMap(([key, item]) => (key === "" ? [write(item)] : [encode(key), write(item)])).join(",")
    );
  const exploded = parts.map(([key, item]) => {
    if (key !== "") return `${encode(key)}=${write(item)}`;
    return style === "matrix" ? `${encode(name)}=${write(item)}` : write(item);
  });
  return (style === "simple" ? "" : separator) + exploded.join(separator);
}

function prefix(style: string, name: string): string {
  return style === "label" ? "." : style === "matrix" ? `;${encode(name)}=` : "";
}

/** Names and values of a query, or of a form, that are not encoded yet. */
export function queryPairs(name: string, value: Json, { style, explode, isJson }: ParameterStyle): readonly Pair[] {
  if (value === null) return [];
  if (isJson) return [[name, [JSON.stringify(value)], ","]];
  const parts = partsOf(value);
  if (parts === undefined) return [[name, [textOf(value)], ","]];
  if (parts.length === 0) return [];
  if (style === "deepObject") return deepPairs(name, value);
  if (explode) return parts.map(([key, item]) => [key === "" ? name : key, [textOf(item)], ","]);
  const words = parts.flatMap(([key, item]) => (key === "" ? [textOf(item)] : [key, textOf(item)]));
  return [[name, words, separators[style] ?? ","]];
}

/** A name, and values that are joined by a separator, which is not encoded where it is a comma. */
export type Pair = readonly [name: string, values: readonly string[], separator: string];

const separators: Readonly<Record<string, string>> = { spaceDelimited: "%20", pipeDelimited: "%7C" };

/** Members by names in brackets, as deep as they go. Items of arrays repeat the name. */
function deepPairs(name: string, value: Json): readonly Pair[] {
  const parts = partsOf(value);
  if (parts === undefined) return value === null ? [] : [[name, [textOf(value)], ","]];
  return parts.flatMap(([key, item]) => deepPairs(key === "" ? name : `${name}[${key}]`, item));
}

/** A query from its pairs. */
export function encodePairs(pairs: readonly Pair[], allowReserved = false): readonly string[] {
  const write = allowReserved ? encodeReserved : encode;
  return pairs.map(([name, values, separator]) => `${encode(name)}=${values.map(write).join(separator)}`);
}

/** The value of a header, which has no encoding of its own. Throws `tool-error` for what no header can have. */
export function encodeHeader(name: string, value: Json, { explode, isJson }: ParameterStyle): string {
  const parts = isJson ? undefined : partsOf(value);
  const text =
    parts === undefined
      ? isJson
        ? JSON.stringify(value)
        : textOf(value)
      : parts
          .flatMap(([key, item]) =>
            key === "" ? [textOf(item)] : explode ? [`${key}=${textOf(item)}`] : [key, textOf(item)],
          )
          .join(",");
  if (/[^\t\x20-\x7e\x80-\xff]/.test(text)) throw toolError(`${name} has a character that a header cannot have`);
  return text;
}

/** Items without a name, or members with theirs. Undefined for a value that is one text. What is null is left out. */
function partsOf(value: Json): readonly (readonly [name: string, item: Json])[] | undefined {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map((item: Json) => ["", item] as const);
  if (!isObject(value)) return undefined;
  return Object.entries(value).flatMap(([key, item]) =>
    item === undefined || item === null ? [] : [[key, item] as const],
  );
}

function textOf(value: Json): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/** Percent-encodes everything but letters, digits and `-._~`. Throws `tool-error` for half a character. */
export function encode(text: string): string {
  try {
    return encodeURIComponent(text).replaceAll(
      /[!'()*]/g,
      (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  } catch {
    throw toolError("a text has half a character in it, which no URL can have");
  }
}

/** Leaves reserved characters as they are, but for those that would end the value. */
function encodeReserved(text: string): string {
  return encode(text).replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|3D|5B|5D)/g, decodeURIComponent);
}
