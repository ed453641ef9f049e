import type { Json } from "../../json/json.ts";
import { own, pointerKeys } from "../../schema/json-pointer.ts";
import { entries } from "../../schema/vocabulary.ts";
import { hintOf } from "./notes.ts";
import {
  type Choice,
  type Described,
  type ObjectOption,
  type Outline,
  type Property,
  type Shape,
  unite,
} from "./shape.ts";
import { generalKeywords, leaveOut, type OptionMaker, objectOption, optionsOf } from "./shape-options.ts";
import { type LocatedSchema, locatedSchemas, type Source, variantsOf } from "./variants.ts";

/** More shapes than this are not made of one schema, nor deeper ones; what is left then counts as anything. */
const maxShapes = 3000;
const maxDepth = 64;

/** The outline of a schema for arguments. Undefined when no object can be valid. */
export function toOutline(source: Source): Outline | undefined {
  const names = createDefinitionNames(source.targets);
  const definitions = new Map<string, Shape>();
  const keyOf = createKeys();
  /** What is being made, with the name it got if it turned out to be inside of itself. */
  const making = new Map<string, string | undefined>();
  let made = 0;

  const shapeOf = (schemas: readonly LocatedSchema[]): Shape => {
    const [{ at } = { at: "" }] = schemas;
    const lone = loneReference(schemas, names.refer);
    if (lone !== undefined) return lone;
    const key = keyOf(schemas);
    if (making.has(key)) {
      const name = making.get(key) ?? names.invent();
      making.set(key, name);
      return referenceTo(name, at);
    }
    if (++made > maxShapes || making.size >= maxDepth) {
      source.notes.add(at, "$ref", "left open: the schema is too large");
      return { kind: "anything", at, hints: [] };
    }
    making.set(key, undefined);
    const shape = composed(schemas, maker);
    const name = making.get(key);
    making.delete(key);
    if (name !== undefined) definitions.set(name, shape);
    return shape;
  };
  const maker: OptionMaker = { ...source, shapeOf };

  const variants = rootVariants(maker);
  const root = rootOf(variants, maker);
  if (root === undefined) return undefined;
  // Grows while it is read: what is referred to may refer to more.
  for (const [target, { name, at }] of names.known) {
    const schemas = locatedSchemas([[at, target]]);
    definitions.set(name, schemas === undefined ? { kind: "anything", at, hints: [] } : shapeOf(schemas));
  }
  return { root, variants, definitions };
}

/** The same text for the same schemas, whatever their order. */
function createKeys(): (schemas: readonly LocatedSchema[]) => string {
  const numbers = new Map<LocatedSchema["schema"], number>();
  const numberOf = (schema: LocatedSchema["schema"]): number => {
    const number = numbers.get(schema) ?? numbers.size;
    numbers.set(schema, number);
    return number;
  };
  return (schemas) => [...new Set(schemas.map(({ schema }) => numberOf(schema)))].toSorted((a, b) => a - b).join();
}

function referenceTo(name: string, at: string): Choice {
  return { kind: "choice", at, hints: [], options: [{ kind: "reference", name, at, hints: [] }], nullable: false };
}

function composed(schemas: readonly LocatedSchema[], maker: OptionMaker): Shape {
  const about = aboutOf(schemas);
  const found = variantsOf(schemas, maker).map((variant) => optionsOf(variant, maker));
  const choices = found.flatMap((made) => (made === "anything" || isEmpty(made) ? [] : [made]));
  if (found.includes("anything")) return { ...about, kind: "anything" };
  if (choices.length === 0) {
    maker.notes.add(about.at, "type", "left out: nothing is valid");
    return { ...about, kind: "anything" };
  }
  const shape = unite(
    choices.map((choice) => ({ ...choice, kind: "choice" as const, at: about.at, hints: [] })),
    about.at,
  );
  return { ...shape, ...about, hints: [...about.hints, ...shape.hints] };
}

function isEmpty({ options, nullable }: Pick<Choice, "options" | "nullable">): boolean {
  return options.length === 0 && !nullable;
}

/** A schema that is nothing but a reference stays one. */
function loneReference(schemas: readonly LocatedSchema[], refer: (reference: string) => string): Shape | undefined {
  const [located] = schemas;
  if (located === undefined || schemas.length > 1) return undefined;
  const reference = own(located.schema, "$ref") ?? own(located.schema, "$dynamicRef");
  if (typeof reference !== "string") return undefined;
  if (entries(located.schema).some(([keyword]) => !annotations.has(keyword))) return undefined;
  const about = aboutOf(schemas);
  return { ...referenceTo(refer(reference), located.at), ...about };
}

const annotations: ReadonlySet<string> = new Set([
  ...["$ref", "$dynamicRef", "$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$comment"],
  ...["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"],
]);

/** What is said about a schema for people to read. A title stands in for a description. */
function aboutOf(schemas: readonly LocatedSchema[]): Described {
  const [first] = schemas;
  const said = (keyword: string): string | undefined => {
    const texts = schemas.map(({ schema }) => own(schema, keyword));
    return texts.find((text) => typeof text === "string" && text !== "") as string | undefined;
  };
  const description = said("description") ?? said("title");
  const defaults = schemas.flatMap(({ schema }) => {
    const value = own(schema, "default");
    return value === undefined ? [] : hintOf("default", value);
  });
  return { at: first?.at ?? "", ...(description !== undefined && { description }), hints: defaults.slice(0, 1) };
}

/** The objects that arguments can be. */
function rootVariants(maker: OptionMaker): readonly ObjectOption[] {
  return variantsOf(wholeOf(maker), maker).flatMap((variant) => {
    const hints = leaveOut(variant.schemas, [...generalKeywords, "enum", "const"], maker.notes);
    return objectOption({ ...variant, hints: [...variant.hints, ...hints] }, maker) ?? [];
  });
}

function wholeOf({ root }: Source): readonly LocatedSchema[] {
  return [{ schema: root, at: "" }];
}

/**
 * The one object that arguments are. Of several variants it has all properties,
 * and requires what all of them do.
 */
function rootOf(variants: readonly ObjectOption[], maker: OptionMaker): ObjectOption | undefined {
  const [only] = variants;
  if (only === undefined) return undefined;
  const about = aboutOf(wholeOf(maker));
  if (variants.length === 1) return { ...only, ...about, hints: [...about.hints, ...only.hints] };
  maker.notes.add("", "anyOf", oneForAll);
  return {
    ...mergedOption(variants),
    ...about,
    hints: [...about.hints, `either ${variants.map(outlined).join(" or ")}`],
  };
}

/** How several variants of the arguments are said where there can be only one object. */
export const oneForAll = "said as one object with the properties of all variants, as those that declare them have them";

function mergedOption(options: readonly ObjectOption[]): Omit<ObjectOption, "at" | "hints"> {
  const keys = new Set(options.flatMap(({ properties }) => [...properties.keys()]));
  const properties = [...keys].map((key): readonly [string, Property] => {
    const found = options.flatMap((option) => option.properties.get(key) ?? []);
    const required = found.length === options.length && found.every((property) => property.required);
    return [
      key,
      {
        shape: unite(
          found.map(({ shape }) => shape),
          found[0]?.shape.at ?? "",
        ),
        required,
      },
    ];
  });
  return {
    kind: "object",
    properties: new Map(properties),
    further: furtherOf(options),
    undeclared: (options[0]?.undeclared ?? []).filter((key) => options.every((one) => one.undeclared.includes(key))),
  };
}

function furtherOf(options: readonly ObjectOption[]): ObjectOption["further"] {
  const kinds = options.map(({ further }) => further);
  if (kinds.every((kind) => kind === "none")) return "none";
  return kinds.every((kind) => kind === "none" || kind === "unsaid") ? "unsaid" : "some";
}

/** A short summary of a variant: its required properties and its tags. */
function outlined({ properties, undeclared }: ObjectOption): string {
  const needed = [...properties].filter(([, { required }]) => required);
  const words = needed.map(([key, { shape }]) => key + tagOf(shape));
  return `{ ${[...words, ...undeclared].join(", ")} }`;
}

function tagOf(shape: Shape): string {
  const [option] = shape.kind === "choice" ? shape.options : [];
  const values = option !== undefined && "values" in option ? option.values : undefined;
  return values?.length === 1 ? ` ${JSON.stringify(values[0])}` : "";
}

/** Names for what references lead to, under which they are all put in one place. */
export interface DefinitionNames {
  /** The name of what a reference leads to. */
  refer(reference: string): string;
  /** A name for something that no reference leads to. */
  invent(): string;
  /** Everything that was referred to so far. Grows while it is read. */
  readonly known: ReadonlyMap<Json, Definition>;
}

interface Definition {
  readonly name: string;
  /** JSON Pointer to where it is; where that is not written down, the reference itself. */
  readonly at: string;
}

export function createDefinitionNames(targets: ReadonlyMap<string, Json>): DefinitionNames {
  const known = new Map<Json, Definition>();
  const taken = new Set<string>();
  const take = (reference: string): string => {
    const name = freeName(reference, taken);
    taken.add(name);
    return name;
  };
  return {
    known,
    refer(reference) {
      const target = targets.get(reference) ?? false;
      const definition = known.get(target) ?? { name: take(reference), at: reference.replace(/^#(?=\/|$)/, "") };
      known.set(target, definition);
      return definition.name;
    },
    invent: () => take("#"),
  };
}

/** The name that a definition has, made fit for a pointer, and different from all others. */
function freeName(reference: string, taken: ReadonlySet<string>): string {
  const last = pointerKeys(reference).at(-1) ?? reference;
  const base = last.replace(/[^A-Za-z0-9_-]/g, "_").replace(/^_+$/, "") || "schema";
  for (let count = 1; ; count++) {
    const name = count === 1 ? base.slice(0, 60) : `${base.slice(0, 55)}_${count}`;
    if (!taken.has(name)) return name;
  }
}
