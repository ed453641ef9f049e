import type { JsonObject } from "../../json/json.ts";
import { describe, hintsFor, type Notes } from "./notes.ts";
import type {
  AdditionalProperties,
  ArrayOption,
  Described,
  NumberOption,
  ObjectOption,
  Option,
  Shape,
} from "./shape.ts";

/** Arguments without references, in the part of JSON Schema that Gemini reads. */
export function emitJsonSchema(root: ObjectOption, notes: Notes): JsonObject {
  return emitOption(root, notes, root);
}

function emitShape(shape: Shape, notes: Notes): JsonObject {
  if (shape.kind === "anything") return describe(shape);
  const [only] = shape.options;
  if (only === undefined) return { type: "null", ...describe(shape) };
  if (shape.options.length === 1) {
    const emitted = emitOption(only, notes, shape);
    return shape.nullable ? withNull(emitted) : emitted;
  }
  const anyOf = shape.options.map((option) => emitOption(option, notes));
  return { anyOf: shape.nullable ? [...anyOf, { type: "null" }] : anyOf, ...describe(shape) };
}

/** Lists hold texts and numbers only, so `null` beside one needs a branch of its own. */
function withNull({ description, ...schema }: JsonObject): JsonObject {
  const about = description === undefined ? {} : { description };
  if (schema.enum !== undefined) return { anyOf: [schema, { type: "null" }], ...about };
  return { ...schema, type: [schema.type ?? null, "null"], ...about };
}

function emitOption(option: Option, notes: Notes, whole?: Described): JsonObject {
  const about = (...hints: readonly string[]) =>
    describe(...(whole === undefined || whole === option ? [] : [whole]), option, { hints });
  switch (option.kind) {
    case "object":
      return { ...emitObject(option, notes), ...about() };
    case "array":
      return { ...emitArray(option, notes), ...about() };
    case "string": {
      const { at, values, format, minLength, maxLength, pattern } = option;
      const hints = hintsFor(at, notes, Object.entries({ minLength, maxLength, pattern }));
      return { type: "string", ...(values && { enum: values }), ...(format && { format }), ...about(...hints) };
    }
    case "boolean":
      return { type: "boolean", ...about(...hintsFor(option.at, notes, [["enum", option.values]])) };
    case "reference":
      return {};
    default: {
      const { kind, values } = option;
      return {
        type: kind,
        ...(values && { enum: values }),
        ...inclusiveLimits(option),
        ...about(...limitHints(option, notes)),
      };
    }
  }
}

function emitObject({ at, properties, further, undeclared }: ObjectOption, notes: Notes): JsonObject {
  if (undeclared.length > 0)
    notes.add(at, "required", `left out for ${undeclared.join(", ")}: nothing says what that is`);
  const members = [...properties].map(([key, { shape }]) => [key, emitShape(shape, notes)] as const);
  const required = [...properties].filter(([, property]) => property.required).map(([key]) => key);
  return {
    type: "object",
    properties: Object.fromEntries(members),
    ...(required.length > 0 && { required }),
    ...emitFurther(further, notes),
  };
}

function emitFurther(further: AdditionalProperties, notes: Notes): JsonObject {
  if (further === "unsaid" || further === "some") return {};
  return { additionalProperties: further === "none" ? false : emitShape(further, notes) };
}

function emitArray({ prefix, items, minItems, maxItems }: ArrayOption, notes: Notes): JsonObject {
  const most = items === undefined ? Math.min(prefix.length, maxItems ?? prefix.length) : maxItems;
  return {
    type: "array",
    ...(prefix.length > 0 && { prefixItems: prefix.map((shape) => emitShape(shape, notes)) }),
    items: items === undefined ? {} : emitShape(items, notes),
    ...(minItems !== undefined && { minItems }),
    ...(most !== undefined && { maxItems: most }),
  };
}

/**
 * The limits of a number where only inclusive ones can be said. Integers have
 * nothing between them, so for those it is exact.
 */
export function inclusiveLimits(option: NumberOption): { readonly minimum?: number; readonly maximum?: number } {
  const { kind, minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = option;
  const isWhole = kind === "integer";
  const lowest = [minimum, above !== undefined && isWhole ? Math.floor(above) + 1 : above];
  const highest = [maximum, below !== undefined && isWhole ? Math.ceil(below) - 1 : below];
  return { ...limit("minimum", lowest, Math.max), ...limit("maximum", highest, Math.min) };
}

function limit(
  keyword: "minimum" | "maximum",
  values: readonly (number | undefined)[],
  choose: (...values: number[]) => number,
): { readonly minimum?: number; readonly maximum?: number } {
  const said = values.filter((value) => value !== undefined);
  return said.length === 0 ? {} : { [keyword]: choose(...said) };
}

/** Hints for limits that the emitted keywords approximate or leave out. */
export function limitHints(option: NumberOption, notes: Notes): readonly string[] {
  const { at, kind, exclusiveMinimum, exclusiveMaximum, multipleOf } = option;
  const isWhole = kind === "integer";
  return hintsFor(at, notes, [
    ["exclusiveMinimum", isWhole ? undefined : exclusiveMinimum],
    ["exclusiveMaximum", isWhole ? undefined : exclusiveMaximum],
    ["multipleOf", multipleOf],
  ]);
}
