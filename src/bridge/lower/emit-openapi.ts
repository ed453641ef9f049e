import { inclusiveLimits, limitHints } from "./emit-json-schema.ts";
import { describe, hintsFor, type Notes } from "./notes.ts";
import { isPortablePattern } from "./rewrite.ts";
import {
  type ArrayOption,
  type Described,
  type ObjectOption,
  type Option,
  type Shape,
  type StringOption,
  unite,
} from "./shape.ts";

/** What Gemini calls a schema: a subset of OpenAPI 3.0, in which counts are texts. */
export interface OpenApiSchema {
  readonly type?: "STRING" | "NUMBER" | "INTEGER" | "BOOLEAN" | "ARRAY" | "OBJECT" | "NULL";
  readonly description?: string;
  readonly nullable?: boolean;
  readonly format?: string;
  readonly enum?: string[];
  readonly pattern?: string;
  readonly minLength?: string;
  readonly maxLength?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: OpenApiSchema;
  readonly minItems?: string;
  readonly maxItems?: string;
  readonly properties?: Record<string, OpenApiSchema>;
  readonly required?: string[];
  readonly anyOf?: OpenApiSchema[];
}

/** Arguments without references, as Gemini has them. */
export function emitOpenApi(root: ObjectOption, notes: Notes): OpenApiSchema {
  return emitOption(root, notes, root);
}

/** A choice is `anyOf` and nothing else: some endpoints refuse anything beside it. */
function emitShape(shape: Shape, notes: Notes): OpenApiSchema {
  if (shape.kind === "anything") return emitAnything(shape, notes);
  const [only] = shape.options;
  const nullable = shape.nullable ? { nullable: true } : {};
  if (only === undefined) return { type: "NULL", ...describe(shape) };
  if (shape.options.length === 1) return { ...emitOption(only, notes, shape), ...nullable };
  return {
    anyOf: shape.options.map((option, index) => ({
      ...emitOption(option, notes, index === 0 ? shape : undefined),
      ...nullable,
    })),
  };
}

/** The format requires a type, so a schema that accepts any value becomes a choice of all types. */
function emitAnything(shape: Shape, notes: Notes): OpenApiSchema {
  notes.add(shape.at, "type", `said as any type; arrays in arrays no deeper than ${maxNesting}`);
  return anyType(maxNesting, describe(shape));
}

const maxNesting = 2;

function anyType(nesting: number, about: { readonly description?: string }): OpenApiSchema {
  const scalars: readonly OpenApiSchema[] = [
    { type: "STRING" },
    { type: "NUMBER" },
    { type: "BOOLEAN" },
    { type: "OBJECT" },
  ];
  const array: readonly OpenApiSchema[] = nesting === 0 ? [] : [{ type: "ARRAY", items: anyType(nesting - 1, {}) }];
  return { anyOf: [...scalars, ...array].map((one, index) => ({ ...one, nullable: true, ...(index === 0 && about) })) };
}

function emitOption(option: Option, notes: Notes, whole?: Described): OpenApiSchema {
  const about = (...hints: readonly string[]) =>
    describe(...(whole === undefined || whole === option ? [] : [whole]), option, { hints });
  switch (option.kind) {
    case "object":
      return { ...emitObject(option, notes), ...about() };
    case "array":
      return { ...emitArray(option, notes), ...about() };
    case "string":
      return { ...emitString(option), ...about(...unsaidOf(option, notes)) };
    case "boolean":
      return { type: "BOOLEAN", ...about(...listHint(option.values, option.at, notes)) };
    case "reference":
      return {};
    default:
      return {
        type: option.kind === "integer" ? "INTEGER" : "NUMBER",
        ...inclusiveLimits(option),
        ...about(...listHint(option.values, option.at, notes), ...limitHints(option, notes)),
      };
  }
}

function emitObject({ at, properties, further, undeclared }: ObjectOption, notes: Notes): OpenApiSchema {
  if (undeclared.length > 0)
    notes.add(at, "required", `left out for ${undeclared.join(", ")}: nothing says what that is`);
  if (further !== "unsaid" && (further !== "some" || properties.size === 0))
    notes.add(at, "additionalProperties", "left out");
  const members = [...properties].map(([key, { shape }]) => [key, emitShape(shape, notes)] as const);
  const required = [...properties].filter(([, property]) => property.required).map(([key]) => key);
  return {
    type: "OBJECT",
    ...(members.length > 0 && { properties: Object.fromEntries(members) }),
    ...(required.length > 0 && { required }),
  };
}

function emitArray({ at, prefix, items, minItems, maxItems }: ArrayOption, notes: Notes): OpenApiSchema {
  const most = items === undefined ? Math.min(prefix.length, maxItems ?? prefix.length) : maxItems;
  if (prefix.length > 0) notes.add(at, "prefixItems", "said as items that are any of them");
  return {
    type: "ARRAY",
    items: emitShape(unite([...prefix, ...(items ? [items] : [])], at), notes),
    ...(minItems !== undefined && { minItems: String(minItems) }),
    ...(most !== undefined && { maxItems: String(most) }),
  };
}

function emitString({ values, minLength, maxLength, pattern, format }: StringOption): OpenApiSchema {
  const isListable = values?.every((value) => value !== "") ?? false;
  return {
    type: "STRING",
    ...(values && isListable && { format: "enum", enum: [...values] }),
    ...(!isListable && format === "date-time" && { format }),
    ...(pattern !== undefined && isPortablePattern(pattern) && { pattern }),
    ...(minLength !== undefined && { minLength: String(minLength) }),
    ...(maxLength !== undefined && { maxLength: String(maxLength) }),
  };
}

function unsaidOf({ at, values, pattern, format }: StringOption, notes: Notes): readonly string[] {
  const isListed = values?.every((value) => value !== "") ?? true;
  return hintsFor(at, notes, [
    ["enum", isListed ? undefined : JSON.stringify(values)],
    ["pattern", pattern !== undefined && !isPortablePattern(pattern) ? pattern : undefined],
    ["format", format === "date-time" && values === undefined ? undefined : format],
  ]);
}

/** Only texts can be listed. */
function listHint(values: readonly (number | boolean)[] | undefined, at: string, notes: Notes): readonly string[] {
  return hintsFor(at, notes, [["enum", values && JSON.stringify(values)]]);
}
