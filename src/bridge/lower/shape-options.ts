import { canonicalText } from "../../json/canonical.ts";
import { isObject, type Json } from "../../json/json.ts";
import { own } from "../../schema/json-pointer.ts";
import { entries, token } from "../../schema/vocabulary.ts";
import { hintOf, type Notes } from "./notes.ts";
import type {
  AdditionalProperties,
  ArrayOption,
  Choice,
  NumberOption,
  ObjectOption,
  Option,
  Property,
  Shape,
  StringOption,
} from "./shape.ts";
import { first, greatest, type LocatedSchema, least, locatedSchemas, type Source, type Variant } from "./variants.ts";

/** The types that a variant allows, each with what applies to it. */
export function optionsOf(
  variant: Variant,
  maker: OptionMaker,
): Pick<Choice, "options" | "nullable" | "description"> | "anything" {
  const { schemas } = variant;
  const types = typesOf(schemas);
  const values = valuesOf(schemas, types);
  const hints = [...variant.hints, ...leaveOut(schemas, generalKeywords, maker.notes)];
  if (values === undefined && types === undefined && !schemas.some(isTelling)) return "anything";
  const typed: Variant = { ...variant, hints };
  const kinds = types ?? everyType;
  const options =
    values === undefined ? kinds.flatMap((type) => typedOption(type, typed, maker)) : listed(values, typed, maker);
  return {
    options,
    nullable: values === undefined ? kinds.includes("null") : values.includes(null),
    ...described(schemas),
  };
}

/** Keywords that apply to every type and that no provider takes everywhere. */
export const generalKeywords: readonly string[] = ["not", "if", "then", "else"];

const everyType: readonly JsonType[] = ["object", "array", "string", "number", "boolean", "null"];

/** True if something is said about one of the types. */
function isTelling({ schema }: LocatedSchema): boolean {
  return telling.some((keyword) => own(schema, keyword) !== undefined);
}

const telling = [
  ...["properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems"],
  ...["minLength", "maxLength", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
];

/** The last schema is the branch; what comes before is said about the whole. */
function described(schemas: readonly LocatedSchema[]): { readonly description?: string } {
  const last = schemas.length > 1 ? schemas.at(-1) : undefined;
  const description = last === undefined ? undefined : own(last.schema, "description");
  return typeof description === "string" ? { description } : {};
}

function typedOption(type: JsonType, variant: Variant, maker: OptionMaker): readonly Option[] {
  switch (type) {
    case "object":
      return [objectOption(variant, maker) ?? []].flat();
    case "array":
      return [arrayOption(variant, maker)];
    case "string":
      return [stringOption(variant, maker)];
    case "number":
    case "integer":
      return [numberOption(type, variant, maker)];
    case "boolean":
      return [{ kind: "boolean", ...placed(variant) }];
    case "null":
      return [];
  }
}

function placed({ schemas, hints }: Variant): { readonly at: string; readonly hints: readonly string[] } {
  return { at: schemas.at(-1)?.at ?? "", hints };
}

function stringOption(variant: Variant, { notes }: OptionMaker): StringOption {
  const { schemas } = variant;
  return {
    kind: "string",
    ...placed(variant),
    ...greatest(schemas, "minLength"),
    ...least(schemas, "maxLength"),
    ...first<"pattern", string>(schemas, "pattern", notes),
    ...first<"format", string>(schemas, "format", notes),
  };
}

function numberOption(kind: "number" | "integer", variant: Variant, { notes }: OptionMaker): NumberOption {
  const { schemas } = variant;
  return {
    kind,
    ...placed(variant),
    ...greatest(schemas, "minimum"),
    ...least(schemas, "maximum"),
    ...greatest(schemas, "exclusiveMinimum"),
    ...least(schemas, "exclusiveMaximum"),
    ...first<"multipleOf", number>(schemas, "multipleOf", notes),
  };
}

/** Options for a list of values. Objects and arrays in it cannot be listed; their type is all that is said. */
function listed(values: readonly Json[], variant: Variant, maker: OptionMaker): readonly Option[] {
  const at = placed(variant);
  const strings = values.filter((value) => typeof value === "string");
  const numbers = values.filter((value) => typeof value === "number");
  const booleans = values.filter((value) => typeof value === "boolean");
  const containers = values.filter((value) => typeof value === "object" && value !== null);
  const isWhole = numbers.every((value) => Number.isInteger(value));
  if (containers.length > 0) maker.notes.add(at.at, "enum", "left out: it lists objects or arrays");
  return [
    ...(strings.length > 0 ? [{ kind: "string" as const, ...at, values: strings }] : []),
    ...(numbers.length > 0
      ? [{ kind: isWhole ? ("integer" as const) : ("number" as const), ...at, values: numbers }]
      : []),
    ...(booleans.length === 0
      ? []
      : [{ kind: "boolean" as const, ...at, ...(booleans.length < 2 && { values: booleans }) }]),
    ...(containers.some((value) => !Array.isArray(value)) ? [objectOf(variant, values)] : []),
    ...(containers.some((value) => Array.isArray(value)) ? [arrayOf(variant, values)] : []),
  ];
}

function objectOf({ schemas, hints }: Variant, values: readonly Json[]): Option {
  const at = schemas.at(-1)?.at ?? "";
  return {
    kind: "object",
    at,
    hints: [...hints, ...listHint(values)],
    properties: new Map(),
    further: "some",
    undeclared: [],
  };
}

function arrayOf({ schemas, hints }: Variant, values: readonly Json[]): Option {
  const at = schemas.at(-1)?.at ?? "";
  const items: Shape = { kind: "anything", at, hints: [] };
  return { kind: "array", at, hints: [...hints, ...listHint(values)], prefix: [], items };
}

function listHint(values: readonly Json[]): readonly string[] {
  const text = `one of ${JSON.stringify(values)}`;
  return text.length > 200 ? [] : [text];
}

/** What a variant says about arrays. */
function arrayOption(variant: Variant, maker: OptionMaker): ArrayOption {
  const { schemas } = variant;
  const hints = leaveOut(schemas, unsaid, maker.notes);
  const tuples = schemas.filter(({ schema }) => tupleOf(schema) !== undefined);
  const [tuple, ...others] = tuples;
  for (const { at } of others) maker.notes.add(at, "prefixItems", "left out: only one can be said");
  const at = schemas.at(-1)?.at ?? "";
  return {
    kind: "array",
    at,
    hints: [...variant.hints, ...hints],
    prefix: tuple === undefined ? [] : prefixOf(tuple, maker),
    items: itemsOf(tuple === undefined ? schemas : [tuple], at, maker),
    ...greatest(schemas, "minItems"),
    ...least(schemas, "maxItems"),
  };
}

const unsaid = ["uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"];

/** Where the tuple of a schema is: draft 7 has it in `items`. */
function tupleOf(schema: LocatedSchema["schema"]): "prefixItems" | "items" | undefined {
  if (own(schema, "prefixItems") !== undefined) return "prefixItems";
  return Array.isArray(own(schema, "items")) ? "items" : undefined;
}

function prefixOf({ schema, at }: LocatedSchema, maker: OptionMaker): readonly Shape[] {
  const keyword = tupleOf(schema) ?? "prefixItems";
  return entries(own(schema, keyword)).map(([index, item]) => {
    const pointer = `${at}/${keyword}${token(index)}`;
    const schemas = locatedSchemas([[pointer, item]]);
    return schemas === undefined ? { kind: "anything", at: pointer, hints: [] } : maker.shapeOf(schemas);
  });
}

/** The shape of all items, or of those after a tuple. Undefined when there may be none. */
function itemsOf(schemas: readonly LocatedSchema[], at: string, maker: OptionMaker): Shape | undefined {
  const found = schemas.flatMap(({ schema, at: pointer }) => {
    const keyword = tupleOf(schema) === "items" ? "additionalItems" : "items";
    const items = own(schema, keyword);
    return items === undefined ? [] : [[`${pointer}/${keyword}`, items] as const];
  });
  const inside = locatedSchemas(found);
  if (inside === undefined) return undefined;
  return inside.length === 0 ? { kind: "anything", at, hints: [] } : maker.shapeOf(inside);
}

/** The object option of a variant. Undefined when the variant allows no object. */
export function objectOption(variant: Variant, maker: OptionMaker): ObjectOption | undefined {
  const { schemas } = variant;
  if (!(typesOf(schemas) ?? ["object"]).includes("object")) return undefined;
  const required = new Set(schemas.flatMap(({ schema }) => [own(schema, "required") ?? []].flat().map(String)));
  const properties = propertiesOf(schemas, required, maker);
  const hints = leaveOut(schemas, unsaidOfObject, maker.notes);
  return {
    kind: "object",
    at: schemas.at(-1)?.at ?? "",
    hints: [...variant.hints, ...hints],
    properties,
    further: furtherOf(variant, maker),
    undeclared: [...required].filter((key) => !properties.has(key)),
  };
}

const unsaidOfObject = [
  ...["minProperties", "maxProperties", "propertyNames", "patternProperties"],
  ...["dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"],
];

/** Keywords that can bring in properties of which nothing is said here. */
const sources = ["patternProperties", "then", "else", "dependentSchemas", "dependencies"];

function propertiesOf(
  schemas: readonly LocatedSchema[],
  required: ReadonlySet<string>,
  maker: OptionMaker,
): ReadonlyMap<string, Property> {
  const keys = new Set(schemas.flatMap(({ schema }) => entries(own(schema, "properties")).map(([key]) => key)));
  const found = [...keys].flatMap((key): readonly (readonly [string, Property])[] => {
    const inside = locatedSchemas(schemas.flatMap((located) => declared(located, key)));
    if (inside !== undefined) {
      const [{ at } = { at: "" }] = inside;
      const shape = inside.length === 0 ? { kind: "anything" as const, at, hints: [] } : maker.shapeOf(inside);
      return [[key, { shape, required: required.has(key) }]];
    }
    maker.notes.add(schemas.at(-1)?.at ?? "", "properties", `left out: nothing is valid for ${JSON.stringify(key)}`);
    return [];
  });
  return new Map(found);
}

function declared(
  { schema, at }: LocatedSchema,
  key: string,
): readonly (readonly [string, LocatedSchema["schema"] | boolean])[] {
  const properties = own(schema, "properties");
  const property = isObject(properties) ? own(properties, key) : undefined;
  if (!isObject(property) && typeof property !== "boolean") return [];
  return [[`${at}/properties${token(key)}`, property]];
}

function furtherOf({ schemas, isPartial }: Variant, maker: OptionMaker): AdditionalProperties {
  const has = (keywords: readonly string[]) => (located: LocatedSchema) =>
    keywords.some((keyword) => own(located.schema, keyword) !== undefined);
  const closes = ({ schema }: LocatedSchema): boolean => own(schema, "additionalProperties") === false;
  if (schemas.some((located) => closes(located) && !has(["patternProperties"])(located))) return "none";
  if (isPartial || schemas.some(has(sources))) return "some";
  if (schemas.some(({ schema }) => own(schema, "unevaluatedProperties") === false)) return "none";
  const said = schemas.flatMap(({ schema, at }) => {
    const value = own(schema, "additionalProperties");
    return value === undefined ? [] : [[`${at}/additionalProperties`, value] as const];
  });
  if (said.length === 0) return "unsaid";
  const inside = locatedSchemas(said) ?? [];
  return inside.length === 0 ? "some" : maker.shapeOf(inside);
}

/** Notes the keywords that are left out, and gives hints in their place. Those that say nothing do not count. */
export function leaveOut(
  schemas: readonly LocatedSchema[],
  keywords: readonly string[],
  notes: Notes,
): readonly string[] {
  return schemas.flatMap(({ schema, at }) =>
    keywords.flatMap((keyword) => {
      const value = own(schema, keyword);
      if (value === undefined || value === (keyword !== "uniqueItems")) return [];
      notes.add(at, keyword, "left out");
      return hintOf(keyword, value);
    }),
  );
}

/** Makes shapes of what is inside of an option. */
export interface OptionMaker extends Source {
  shapeOf(schemas: readonly LocatedSchema[]): Shape;
}

type JsonType = "object" | "array" | "string" | "number" | "integer" | "boolean" | "null";

/**
 * The types that all schemas allow, in the order of the first schema that has a list. Undefined when no schema
 * restricts types.
 */
export function typesOf(schemas: readonly LocatedSchema[]): readonly JsonType[] | undefined {
  const lists = schemas.flatMap(({ schema }) => {
    const type = own(schema, "type");
    return type === undefined ? [] : [[type].flat() as readonly JsonType[]];
  });
  const [head, ...rest] = lists;
  if (head === undefined) return undefined;
  const common = rest.reduce(intersection, head);
  // Every integer is a number.
  return common.includes("number") ? common.filter((type) => type !== "integer") : common;
}

function intersection(a: readonly JsonType[], b: readonly JsonType[]): readonly JsonType[] {
  return a.flatMap((type): readonly JsonType[] => {
    if (b.includes(type)) return [type];
    if (type === "integer" && b.includes("number")) return ["integer"];
    return type === "number" && b.includes("integer") ? ["integer"] : [];
  });
}

/** The values that all schemas list, of the given types. Undefined when no schema lists values. */
function valuesOf(
  schemas: readonly LocatedSchema[],
  types: readonly JsonType[] | undefined,
): readonly Json[] | undefined {
  const lists = schemas.flatMap(({ schema }) => {
    const constant = own(schema, "const");
    const list = own(schema, "enum");
    return [...(constant === undefined ? [] : [[constant]]), ...(Array.isArray(list) ? [list as readonly Json[]] : [])];
  });
  const [head, ...rest] = lists;
  if (head === undefined) return undefined;
  const common = rest.reduce((values, list) => {
    const texts = new Set(list.map(canonicalText));
    return values.filter((value) => texts.has(canonicalText(value)));
  }, head);
  const distinct = [...new Map(common.map((value) => [canonicalText(value), value])).values()];
  return types === undefined ? distinct : distinct.filter((value) => types.some((type) => isOf(value, type)));
}

function isOf(value: Json, type: JsonType): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
