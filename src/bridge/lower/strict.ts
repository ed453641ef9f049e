import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { entries } from "../../schema/vocabulary.ts";
import { describe, hintsFor, type Notes } from "./notes.ts";
import { isPortablePattern } from "./rewrite.ts";
import {
  type ArrayOption,
  type Definitions,
  isNullable,
  type NumberOption,
  type ObjectOption,
  type Option,
  type Outline,
  type Property,
  type Shape,
  type StringOption,
  unite,
} from "./shape.ts";

/**
 * Arguments in the subset of JSON Schema that OpenAI enforces token by token.
 *
 * All properties are required, and there are no others; what was optional may be
 * `null` instead. There must be no obstacle.
 */
export function emitStrict({ root, definitions }: Outline, notes: Notes): JsonObject {
  const $defs = Object.fromEntries([...definitions].map(([name, shape]) => [name, emitShape(shape, notes)]));
  return {
    ...emitObject(root, notes),
    ...describe(root),
    ...(definitions.size > 0 && { $defs }),
  };
}

function emitShape(shape: Shape, notes: Notes, optional = false): JsonObject {
  if (shape.kind === "anything") return {};
  const nullable = shape.nullable || optional;
  const [only] = shape.options;
  if (only === undefined) return { type: "null", ...describe(shape) };
  if (shape.options.length === 1 && only.kind !== "reference") {
    const emitted = emitOption(only, notes);
    return { ...(nullable ? withNull(emitted) : emitted), ...describe(shape, only, left(only, notes)) };
  }
  const anyOf = shape.options.map((option) => ({
    ...emitOption(option, notes),
    ...describe(option, left(option, notes)),
  }));
  const whole = describe(shape);
  if (anyOf.length === 1 && !nullable && whole.description === undefined) return { ...anyOf[0] };
  return { anyOf: nullable ? [...anyOf, { type: "null" }] : anyOf, ...whole };
}

function withNull({ type, enum: values, ...others }: JsonObject): JsonObject {
  return { ...others, type: [type ?? null, "null"], ...(Array.isArray(values) && { enum: [...values, null] }) };
}

function emitOption(option: Option, notes: Notes): JsonObject {
  switch (option.kind) {
    case "object":
      return emitObject(option, notes);
    case "array":
      return emitArray(option, notes);
    case "reference":
      return { $ref: `#/$defs/${option.name}` };
    case "string":
      return emitString(option);
    case "boolean":
      return { type: "boolean", ...(option.values && { enum: option.values }) };
    default:
      return emitNumber(option);
  }
}

function emitObject({ at, properties, further }: ObjectOption, notes: Notes): JsonObject {
  if (further === "unsaid") notes.add(at, "additionalProperties", "closed: only declared properties can be given");
  const members = [...properties].map(
    ([key, { shape, required }]) => [key, emitShape(shape, notes, !required)] as const,
  );
  return {
    type: "object",
    properties: Object.fromEntries(members),
    required: [...properties.keys()],
    additionalProperties: false,
  };
}

function emitArray({ at, prefix, items, minItems, maxItems }: ArrayOption, notes: Notes): JsonObject {
  const most = items === undefined ? Math.min(prefix.length, maxItems ?? prefix.length) : maxItems;
  if (prefix.length > 0) notes.add(at, "prefixItems", "said as items that are any of them");
  return {
    type: "array",
    items: emitShape(unite([...prefix, ...(items ? [items] : [])], at), notes),
    ...(minItems !== undefined && { minItems }),
    ...(most !== undefined && { maxItems: most }),
  };
}

function emitString({ values, pattern, format }: StringOption): JsonObject {
  return {
    type: "string",
    ...(values && { enum: values }),
    ...(pattern !== undefined && isPortablePattern(pattern) && { pattern }),
    ...(format !== undefined && formats.has(format) && { format }),
  };
}

const formats: ReadonlySet<string> = new Set([
  ...["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
]);

function emitNumber({ kind, values, at: _, hints: __, description: ___, ...limits }: NumberOption): JsonObject {
  return { type: kind, ...(values && { enum: values }), ...limits };
}

/** What an option cannot say here. */
function left(option: Option, notes: Notes): { readonly hints: readonly string[] } {
  if (option.kind !== "string") return { hints: [] };
  const { at, minLength, maxLength, pattern, format } = option;
  const hints = hintsFor(at, notes, [
    ["minLength", minLength],
    ["maxLength", maxLength],
    ["pattern", pattern !== undefined && !isPortablePattern(pattern) ? pattern : undefined],
    ["format", format !== undefined && !formats.has(format) ? format : undefined],
  ]);
  return { hints };
}

/** Why a schema cannot be expressed in strict mode, and where. */
interface Obstacle {
  readonly at: string;
  readonly keyword: string;
  readonly message: string;
}

/** What strict mode allows for one tool, with some room below what the documentation says. */
const limits = { depth: 10, properties: 5000, values: 1000, characters: 100_000 };

/**
 * The first thing in the way of strict mode, in which every object has exactly the
 * declared properties. An object that does not say whether there are others counts
 * as one without; one that says there are, or that declares none at all, does not fit.
 */
export function strictObstacle({ root, definitions }: Outline): Obstacle | undefined {
  const size: Size = { properties: 0, values: 0, characters: 0 };
  const starts: readonly (() => Obstacle | undefined)[] = [
    () => (root.properties.size === 0 && root.further === "unsaid" ? undefined : inObject(root, 1, size)),
    ...[...definitions.values()].map((shape) => () => inShape(shape, 1, size)),
    () => tooLarge(size),
  ];
  return firstOf(starts, (start) => start());
}

interface Size {
  properties: number;
  values: number;
  characters: number;
}

function inShape(shape: Shape, depth: number, size: Size): Obstacle | undefined {
  const { at } = shape;
  if (shape.kind === "anything") return { at, keyword: "type", message: "it can be anything" };
  if (depth > limits.depth)
    return { at, keyword: "properties", message: `it is nested deeper than ${limits.depth} levels` };
  return firstOf(shape.options, (option) => inOption(option, depth, size));
}

function inOption(option: Option, depth: number, size: Size): Obstacle | undefined {
  switch (option.kind) {
    case "object":
      return inObject(option, depth, size);
    case "array":
      return firstOf([...option.prefix, ...(option.items ? [option.items] : [])], (item) =>
        inShape(item, depth + 1, size),
      );
    case "reference":
      return undefined;
    default:
      size.values += option.values?.length ?? 0;
      size.characters += option.values?.join("").length ?? 0;
      return undefined;
  }
}

function inObject(
  { at, properties, further, undeclared }: ObjectOption,
  depth: number,
  size: Size,
): Obstacle | undefined {
  const [key] = undeclared;
  if (key !== undefined) return { at, keyword: "required", message: `nothing says what ${JSON.stringify(key)} is` };
  if (further !== "none" && further !== "unsaid") {
    return { at, keyword: "additionalProperties", message: "it can have properties that are not declared" };
  }
  if (properties.size === 0 && further === "unsaid") {
    return { at, keyword: "properties", message: "it declares no properties, so it can have any" };
  }
  size.properties += properties.size;
  size.characters += [...properties.keys()].join("").length;
  return firstOf(properties.values(), ({ shape }) => inShape(shape, depth + 1, size));
}

function tooLarge({ properties, values, characters }: Size): Obstacle | undefined {
  if (properties <= limits.properties && values <= limits.values && characters <= limits.characters) return undefined;
  return { at: "", keyword: "properties", message: "it has too many properties or values" };
}

function firstOf<T>(items: Iterable<T>, look: (item: T) => Obstacle | undefined): Obstacle | undefined {
  for (const item of items) {
    const obstacle = look(item);
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}

/** What `null` means for a property that may be absent, and also `null`. */
export type Reading = "null" | "absent";

/**
 * Converts arguments of strict mode back to arguments of the tool: `null` becomes an absent property where the property
 * is optional and not nullable. Where it is both, `reading` decides. Other values are unchanged.
 */
export function liftStrict(input: JsonObject, outline: Outline, reading: Reading = "null"): JsonObject {
  const { root, variants, definitions } = outline;
  const context: Context = { definitions, reading, work: { left: maxWork } };
  const found = variants
    .map((variant) => [variant, withoutForeign(input, variant)] as const)
    .find(([variant, own]) => fitsObject(own, variant, context));
  const [option, meant] = found ?? [root, input];
  return liftObject(meant, option, context);
}

interface Context {
  readonly definitions: Definitions;
  readonly reading: Reading;
  /** How many values may still be looked at. Branches in branches could take forever; then nothing more fits. */
  readonly work: { left: number };
}

const maxWork = 200_000;

/** Arguments without those that only other variants have. */
function withoutForeign(input: JsonObject, { properties }: ObjectOption): JsonObject {
  return Object.fromEntries(entries(input).filter(([key, value]) => value !== null || properties.has(key)));
}

function liftObject(value: JsonObject, { properties }: ObjectOption, context: Context): JsonObject {
  const members = entries(value).flatMap(([key, member]): readonly (readonly [string, Json])[] => {
    const property = properties.get(key);
    if (property === undefined) return [[key, member]];
    return isAbsent(member, property, context) ? [] : [[key, lift(member, property.shape, context)]];
  });
  return Object.fromEntries(members);
}

function isAbsent(member: Json, { shape, required }: Property, { definitions, reading }: Context): boolean {
  return member === null && !required && (reading === "absent" || !isNullable(shape, definitions));
}

function lift(value: Json, shape: Shape, context: Context): Json {
  const option = shape.kind === "choice" ? shape.options.find((one) => fits(value, one, context)) : undefined;
  if (option?.kind === "object" && isObject(value)) return liftObject(value, option, context);
  if (option?.kind === "array" && Array.isArray(value)) return liftItems(value, option, context);
  const target = option?.kind === "reference" ? context.definitions.get(option.name) : undefined;
  return target === undefined ? value : lift(value, target, context);
}

function liftItems(items: readonly Json[], option: Option & { kind: "array" }, context: Context): Json {
  return items.map((item) => {
    const fitting = shapesIn(option).find((shape) => fitsShape(item, shape, context));
    return fitting === undefined ? item : lift(item, fitting, context);
  });
}

function shapesIn({ prefix, items }: Option & { kind: "array" }): readonly Shape[] {
  return items === undefined ? prefix : [...prefix, items];
}

/**
 * True if a value has the structure of an option. Limits are not compared, because they do not distinguish branches.
 */
function fits(value: Json, option: Option, context: Context): boolean {
  if (--context.work.left < 0) return false;
  switch (option.kind) {
    case "object":
      return isObject(value) && fitsObject(value, option, context);
    case "array":
      return (
        Array.isArray(value) &&
        value.every((item: Json) => shapesIn(option).some((shape) => fitsShape(item, shape, context)))
      );
    case "reference": {
      const target = context.definitions.get(option.name);
      return target !== undefined && fitsShape(value, target, context);
    }
    case "integer":
      return Number.isInteger(value) && isListed(value, option.values);
    default:
      return typeof value === option.kind && isListed(value, option.values);
  }
}

function fitsShape(value: Json, shape: Shape, context: Context): boolean {
  if (shape.kind === "anything") return true;
  if (value === null && shape.nullable) return true;
  return shape.options.some((option) => fits(value, option, context));
}

function fitsObject(value: JsonObject, { properties }: ObjectOption, context: Context): boolean {
  if (Object.keys(value).some((key) => !properties.has(key))) return false;
  return [...properties].every(([key, property]) => {
    const member = Object.hasOwn(value, key) ? value[key] : undefined;
    if (member === undefined || (member === null && !property.required)) return !property.required;
    return fitsShape(member, property.shape, context);
  });
}

function isListed(value: Json, values: readonly Json[] | undefined): boolean {
  return values === undefined || values.includes(value);
}
