import { resolve } from "node:path";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import type { CommandContext, OptionSpec, OptionSpecs } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { readText } from "./read-text.ts";
import { fieldsOf, formatType } from "./signature.ts";

/** Arguments of a tool as they were typed. */
export interface TypedArguments {
  /** `key=value`, `key:=json`, or a whole JSON object. */
  readonly words: readonly string[];
  /** Options made of the schema, by the name of their argument. */
  readonly options?: Readonly<Record<string, boolean | string | readonly string[]>>;
  /** A file with a JSON object, or `-` for stdin. */
  readonly file?: string | undefined;
}

/** Reads the arguments of a tool by its schema: the file first, then words and options, which win. */
export async function readToolArguments(
  { words, options = {}, file }: TypedArguments,
  schema: JsonObject,
  context: Pick<CommandContext, "stdin" | "cwd">,
): Promise<JsonObject> {
  const properties = new Map(fieldsOf(schema).map(({ name, field }) => [name, field]));
  const fromFile = file === undefined ? {} : await readArgumentFile(file, context);
  const given = new Map<string, Json | undefined>(Object.entries(fromFile));
  const seen = new Set<string>();
  const put = (name: string, value: Json): void => {
    const before = given.get(name);
    const isMore = seen.has(name) && Array.isArray(before);
    given.set(name, isMore ? [...before, ...(Array.isArray(value) ? value : [value])] : value);
    seen.add(name);
  };
  for (const word of words) {
    for (const [name, value] of readWord(word, properties)) put(name, value);
  }
  for (const [name, value] of Object.entries(options)) {
    const field = properties.get(name);
    if (typeof value === "boolean") put(name, value);
    else for (const text of [value].flat()) put(name, coerce(name, text, field));
  }
  return Object.fromEntries(given);
}

function readWord(word: string, properties: ReadonlyMap<string, JsonObject>): readonly (readonly [string, Json])[] {
  if (word.trimStart().startsWith("{")) {
    const members = Object.entries(readObject(word, "the arguments"));
    return members.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  }
  const [, name, exact, text] = /^([^=:]+?)(:)?=(.*)$/s.exec(word) ?? [];
  if (name === undefined || text === undefined) {
    throw new UsageError(`${JSON.stringify(word)} is no argument of a tool`, "write key=value, or key:=json");
  }
  return [[name, exact === undefined ? coerce(name, text, properties.get(name)) : readValue(name, text)]];
}

function readValue(name: string, text: string): Json {
  const parsed = parseJson(text);
  if (parsed.ok) return parsed.value;
  throw new UsageError(`${name}:= is not followed by JSON`, `write ${name}:=2, ${name}:='["a"]', or ${name}=text`);
}

/** The value that a text stands for, by the type that the schema asks for. Without one it is the text. */
function coerce(name: string, text: string, field: JsonObject | undefined): Json {
  if (field?.type === undefined) return text;
  const types = [field.type].flat();
  if (types.includes("string")) return text;
  for (const type of types) {
    const value = typeof type === "string" ? readAs[type]?.(text, name, field) : undefined;
    if (value !== undefined) return value;
  }
  throw new UsageError(`${name} is ${JSON.stringify(text)}`, `the tool wants ${formatType(field)}`);
}

/** How a text is read as a value of a type. Undefined where it is none. */
const readAs: Readonly<Record<string, (text: string, name: string, field: JsonObject) => Json | undefined>> = {
  integer: readNumber,
  number: readNumber,
  boolean: (text) => (text === "true" || text === "false" ? text === "true" : undefined),
  null: (text) => (text === "null" ? null : undefined),
  array: (text, name, field) => (text.startsWith("[") ? readValue(name, text) : [coerceItem(name, text, field)]),
  object: (text, name) => readValue(name, text),
};

function readNumber(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? value : undefined;
}

function coerceItem(name: string, text: string, { items }: JsonObject): Json {
  return coerce(name, text, isObject(items) ? items : undefined);
}

async function readArgumentFile(
  file: string,
  { stdin, cwd }: Pick<CommandContext, "stdin" | "cwd">,
): Promise<JsonObject> {
  if (file !== "-") return readObject(await readText(resolve(cwd, file)), file);
  let text = "";
  stdin.setEncoding("utf8");
  for await (const chunk of stdin) text += chunk;
  return readObject(text, "stdin");
}

function readObject(text: string, what: string): JsonObject {
  const parsed = parseJson(text);
  if (parsed.ok && isObject(parsed.value)) return parsed.value;
  throw new UsageError(`${what} is not a JSON object`, 'write {"key": "value"}');
}

/** Options for the arguments of a tool: `--sku`, and `--max-items` for `maxItems`. */
export function optionsOf(schema: JsonObject): OptionSpecs {
  return Object.fromEntries(
    fieldsOf(schema).flatMap(({ name, field }) => {
      if (!/^[\w.-]+$/.test(name)) return [];
      return [...new Set([name, toKebab(name)])].map((option) => [option, toOption(field)] as const);
    }),
  );
}

function toOption(field: JsonObject): OptionSpec {
  const type = field.type === "boolean" ? "flag" : field.type === "array" ? "texts" : "text";
  return { type, meaning: "an argument of the tool", value: formatType(field) };
}

function toKebab(name: string): string {
  return name
    .replaceAll(/[_.]/g, "-")
    .replaceAll(/(?<=[a-z\d])[A-Z]/g, (letter) => `-${letter}`)
    .toLowerCase();
}

/** The options that were given, by the names of their arguments. */
export function givenOptions(
  schema: JsonObject,
  { options, given }: { readonly options: Readonly<Record<string, unknown>>; readonly given: ReadonlySet<string> },
  own: OptionSpecs,
): NonNullable<TypedArguments["options"]> {
  const found: Record<string, boolean | string | readonly string[]> = {};
  for (const { name } of fieldsOf(schema)) {
    for (const option of new Set([name, toKebab(name)])) {
      // What the command itself understands is not for the tool.
      if (!given.has(option) || Object.hasOwn(own, option)) continue;
      const value = options[option];
      if (typeof value === "boolean" || typeof value === "string") found[name] = value;
      else if (Array.isArray(value)) found[name] = value.map(String);
    }
  }
  return found;
}

/** What the schema wants and nobody gave. */
export function missingArguments(schema: JsonObject, args: JsonObject): readonly string[] {
  return fieldsOf(schema).flatMap(({ name, required }) => (required && args[name] === undefined ? [name] : []));
}

/** Throws for arguments that the schema does not allow, and returns those that it just does not name. */
export function unknownArguments(schema: JsonObject, args: JsonObject): readonly string[] {
  const known = fieldsOf(schema).map(({ name }) => name);
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  const [first] = unknown;
  if (first === undefined || schema.additionalProperties !== false) {
    const isOpen = ["additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref"].some(
      (keyword) => schema[keyword] !== undefined,
    );
    return isOpen || known.length === 0 ? [] : unknown;
  }
  throw new UsageError(`the tool has no argument ${JSON.stringify(first)}`, undefined, { name: first, known });
}
