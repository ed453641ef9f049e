import type { JsonObject } from "../../json/json.ts";
import { describe, hintsFor, type Notes } from "./notes.ts";
import { isPortablePattern } from "./portable-pattern.ts";
import type { ArrayOption, NumberOption, ObjectOption, Option, Outline, Shape, StringOption } from "./shape.ts";
import { unite } from "./shape.ts";

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
