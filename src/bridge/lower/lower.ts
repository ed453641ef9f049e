import type { JsonObject } from "../../json/json.ts";
import { inspectSchema } from "../../schema/inspect.ts";
import { own } from "../../schema/json-pointer.ts";
import { resolveSchema } from "../../schema/resolve.ts";
import { entries } from "../../schema/vocabulary.ts";
import type { NameRule } from "../alias.ts";
import { emitJsonSchema } from "./emit-json-schema.ts";
import { emitOpenApi, type OpenApiSchema } from "./emit-openapi.ts";
import { createNotes, type Note, type Notes } from "./notes.ts";
import { createRenames, renameOption, renameRoot, unrename } from "./rename.ts";
import { lowerPlain, type PlainDialect } from "./rewrite.ts";
import type { ObjectOption } from "./shape.ts";
import { emitStrict, liftStrict, strictObstacle } from "./strict.ts";
import { toOutline } from "./to-shape.ts";
import { shallowly, unroll } from "./unroll.ts";
import { maxWork, type Source } from "./variants.ts";

/**
 * The parameters of a tool for a provider, and the conversion back. Arguments that are valid for the tool's schema are
 * valid for the parameters; the reverse does not hold.
 */
export interface Lowered<P> {
  readonly parameters: P;
  /** What the parameters leave out. */
  readonly notes: readonly Note[];
  /** Arguments as the schema of the tool has them, from arguments as the parameters have them. */
  lift(input: JsonObject): JsonObject;
  /** The same by another reading, where there are two. For arguments that do not fit by the first. */
  liftOtherwise?(input: JsonObject): JsonObject;
  /** True when the provider may be held to the parameters token by token. */
  readonly isStrict: boolean;
  readonly hasProperties: boolean;
}

/** Converts a schema for one provider. Undefined for a schema that no arguments can satisfy. */
export type Lowering<P> = (schema: JsonObject) => Lowered<P> | undefined;

/** For providers that read JSON Schema. */
export function plainLowering(dialect: PlainDialect, rule: NameRule): Lowering<JsonObject> {
  return (schema) => {
    const source = sourceOf(schema);
    const root = lowerPlain(source, dialect);
    if (root === undefined) return undefined;
    const keys = entries(own(root, "properties")).map(([key]) => key);
    const renames = createRenames(keys, rule);
    return {
      parameters: renameRoot(root, renames, source.notes),
      notes: source.notes.list,
      lift: (input) => unrename(input, renames),
      isStrict: false,
      hasProperties: keys.length > 0,
    };
  };
}

/**
 * Strict mode of OpenAI. A schema that strict mode cannot express is converted by `otherwise`, with a note that says
 * why.
 */
export function strictLowering(otherwise: Lowering<JsonObject>, rule: NameRule): Lowering<JsonObject> {
  return (schema) => {
    const source = sourceOf(schema);
    const outline = toOutline(source);
    if (outline === undefined) return undefined;
    const obstacle = strictObstacle(outline);
    if (obstacle !== undefined) {
      const { at, keyword, message } = obstacle;
      const note = { pointer: at, keyword, message: `not strict: ${message}` };
      const lowered = otherwise(schema);
      return lowered && { ...lowered, notes: [note, ...lowered.notes] };
    }
    const renames = createRenames(outline.root.properties.keys(), rule);
    const root = renameOption(outline.root, renames, source.notes);
    return {
      parameters: emitStrict({ ...outline, root }, source.notes),
      notes: source.notes.list,
      lift: (input) => liftStrict(unrename(input, renames), outline),
      liftOtherwise: (input) => liftStrict(unrename(input, renames), outline, "absent"),
      isStrict: true,
      hasProperties: outline.root.properties.size > 0,
    };
  };
}

/** For what Gemini calls a schema. */
export function openApiLowering(rule: NameRule): Lowering<OpenApiSchema> {
  return outlineLowering(emitOpenApi, rule);
}

/** For the part of JSON Schema that Gemini reads. */
export function jsonSchemaLowering(rule: NameRule): Lowering<JsonObject> {
  return outlineLowering(emitJsonSchema, rule);
}

type Emit<P> = (root: ObjectOption, notes: Notes) => P;

function outlineLowering<P>(emit: Emit<P>, rule: NameRule): Lowering<P> {
  return (schema) => {
    const source = sourceOf(schema);
    const outline = toOutline(source);
    if (outline === undefined) return undefined;
    const root = unroll(outline, source.notes);
    const renames = createRenames(root.properties.keys(), rule);
    return {
      parameters: emitBounded(renameOption(root, renames, source.notes), source.notes, emit),
      notes: source.notes.list,
      lift: (input) => unrename(input, renames),
      isStrict: false,
      hasProperties: root.properties.size > 0,
    };
  };
}

/** Without references a schema can become very large. Then only the types of arguments are said. */
function emitBounded<P>(root: ObjectOption, notes: Notes, emit: Emit<P>): P {
  const emitted = emit(root, notes);
  if (JSON.stringify(emitted).length <= maxLength) return emitted;
  notes.add("", "properties", "said only by their types: the schema is too large");
  return emit(shallowly(root), notes);
}

const maxLength = 200_000;

/** The schema must have been read before; one that cannot be read has no references. */
function sourceOf(root: JsonObject): Source {
  const inspection = inspectSchema(root);
  const resolution = inspection.ok ? resolveSchema(inspection.value) : inspection;
  const targets = resolution.ok ? resolution.value.targets : new Map();
  return { root, targets, notes: createNotes(), work: { left: maxWork } };
}
