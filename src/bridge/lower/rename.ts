import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { own } from "../../schema/json-pointer.ts";
import { entries, vocabulary } from "../../schema/vocabulary.ts";
import { createAliases, type NameRule } from "../alias.ts";
import { describe, type Notes } from "./notes.ts";
import type { ObjectOption } from "./shape.ts";

/** Other names for the arguments whose names a provider refuses. */
export type Renames = ReadonlyMap<string, string>;

/** New names for those that need one, different from all others. */
export function createRenames(names: Iterable<string>, rule: NameRule): Renames {
  const distinct = [...names];
  const aliases = createAliases(distinct, rule);
  return new Map(
    distinct.map((name) => [name, aliases.aliasOf(name)] as const).filter(([name, alias]) => name !== alias),
  );
}

/** Arguments by their own names again. */
export function unrename(input: JsonObject, renames: Renames): JsonObject {
  if (renames.size === 0) return input;
  const names = new Map([...renames].map(([name, alias]) => [alias, name]));
  return Object.fromEntries(entries(input).map(([key, value]) => [names.get(key) ?? key, value]));
}

export function renameOption(option: ObjectOption, renames: Renames, notes: Notes): ObjectOption {
  noteAll(renames, notes);
  const properties = [...option.properties].map(([key, property]) => {
    const alias = renames.get(key);
    if (alias === undefined) return [key, property] as const;
    const { shape } = property;
    return [alias, { ...property, shape: { ...shape, hints: [...shape.hints, hintOn(key)] } }] as const;
  });
  return { ...option, properties: new Map(properties) };
}

/** Other root keywords refer to property names. They are left out when a property was renamed. */
export function renameRoot(root: JsonObject, renames: Renames, notes: Notes): JsonObject {
  if (renames.size === 0) return root;
  noteAll(renames, notes);
  const hasPatterns = own(root, "patternProperties") !== undefined;
  const isKept = (keyword: string): boolean =>
    indifferent.has(keyword) || !vocabulary.has(keyword) || (keyword === "additionalProperties" && !hasPatterns);
  for (const [keyword] of entries(root)) {
    if (!isKept(keyword)) notes.add("", keyword, "left out: it speaks of names that had to change");
  }
  const required = [own(root, "required") ?? []].flat().map((key) => renames.get(String(key)) ?? String(key));
  return {
    ...Object.fromEntries(entries(root).filter(([keyword]) => isKept(keyword))),
    properties: Object.fromEntries(entries(own(root, "properties")).map((member) => renameMember(member, renames))),
    ...(required.length > 0 && { required }),
  };
}

const indifferent: ReadonlySet<string> = new Set([
  "type",
  "properties",
  "required",
  "$defs",
  "minProperties",
  "maxProperties",
]);

function renameMember([key, schema]: readonly [string, Json], renames: Renames): readonly [string, Json] {
  const alias = renames.get(key);
  if (alias === undefined || !isObject(schema)) return [alias ?? key, schema];
  const said = typeof schema.description === "string" ? { description: schema.description } : {};
  return [alias, { ...schema, ...describe({ ...said, hints: [hintOn(key)] }) }];
}

function noteAll(renames: Renames, notes: Notes): void {
  for (const [name, alias] of renames) notes.add("", "properties", `${JSON.stringify(name)} is said as ${alias}`);
}

function hintOn(name: string): string {
  return `named ${JSON.stringify(name)}`;
}
