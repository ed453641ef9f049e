import { Ajv2020, type Options as AjvOptions } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Tool } from "../protocol/tool.ts";
import { inspectSchema } from "../schema/inspect.ts";
import { toValidator } from "../schema/to-validator.ts";
import { aiSdk } from "./ai-sdk/index.ts";
import { anthropic } from "./anthropic/index.ts";
import type { SchemaNote, SkippedTool, ToolCall } from "./bridge.ts";
import { gemini, type OpenApiSchema } from "./gemini/index.ts";
import { openaiChat, openaiResponses } from "./openai/index.ts";

// Random schemas and values. ajv judges what the providers are told; the values must all come back.

/** A few hundred documents take some seconds; for more, set `BRIDGE_RUNS`. */
const RUNS = Number(process.env.BRIDGE_RUNS ?? 120);
const timeout = 60_000 + RUNS * 500;

/** What ajv said before: several bridges tell the same. */
const judged = new Map<string, boolean | undefined>();

function isValid(schema: JsonObject, value: Json): boolean | undefined {
  const key = JSON.stringify([schema, value]);
  if (!judged.has(key)) judged.set(key, judge(schema, value));
  return judged.get(key);
}

function judge(schema: JsonObject, value: Json): boolean | undefined {
  try {
    return new Ajv2020(lenient).validate(schema, value);
  } catch {
    return undefined; // ajv cannot compile some references
  }
}

const lenient: AjvOptions = {
  ...{ strict: false, logger: false, ownProperties: true, validateSchema: false },
  code: { optimize: false },
};

/** One bridge, with the shape of its tools and calls evened out. */
interface Way {
  readonly skipped: readonly SkippedTool[];
  readonly notes: readonly SchemaNote[];
  readonly name: string | undefined;
  /** What the provider is told, as JSON Schema. */
  readonly parameters: JsonObject;
  readonly isStrict: boolean;
  call(name: string, input: Json): Promise<readonly ToolCall[]>;
}

const text = (value: Json): string => JSON.stringify(value);

function throughChat(tool: Tool, strict: boolean): Way {
  const kit = openaiChat([tool], { strict });
  const offered = kit.tools[0]?.function;
  return {
    ...kit,
    name: offered?.name,
    parameters: offered?.parameters ?? {},
    isStrict: offered?.strict === true,
    call(name, input) {
      const tool_calls = [{ id: "1", type: "function", function: { name, arguments: text(input) } }];
      return kit.calls({ model: "m", choices: [{ finish_reason: "tool_calls", message: { tool_calls } }] });
    },
  };
}

function throughResponses(tool: Tool, strict: boolean): Way {
  const kit = openaiResponses([tool], { strict });
  const [offered] = kit.tools;
  return {
    ...kit,
    name: offered?.name,
    parameters: (offered?.parameters ?? {}) as JsonObject,
    isStrict: offered?.strict === true,
    call: (name, input) =>
      kit.calls({
        model: "m",
        output: [{ type: "function_call", ...{ call_id: "1", name, arguments: text(input) } }],
      }),
  };
}

function throughGemini(tool: Tool, schema: "openapi" | "json-schema"): Way {
  const kit = gemini([tool], { schema });
  const [offered] = kit.tools;
  const told = (offered?.parameters ?? { type: "OBJECT" }) as OpenApiSchema;
  return {
    ...kit,
    name: offered?.name,
    parameters: schema === "openapi" ? fromOpenApi(told) : (offered?.parametersJsonSchema ?? {}),
    isStrict: false,
    call: (name, args) => kit.calls({ candidates: [{ content: { parts: [{ functionCall: { name, args } }] } }] }),
  };
}

/** What Gemini calls a schema, as JSON Schema. */
function fromOpenApi(schema: OpenApiSchema): JsonObject {
  const { type, nullable, format, minItems, maxItems, minLength, maxLength, items, properties, anyOf, ...rest } =
    schema;
  const counts = Object.entries({ minItems, maxItems, minLength, maxLength }).flatMap(([key, count]) =>
    count === undefined ? [] : [[key, Number(count)] as const],
  );
  const members = Object.entries(properties ?? {}).map(([key, member]) => [key, fromOpenApi(member)] as const);
  const plain: JsonObject = {
    ...rest,
    ...Object.fromEntries(counts),
    ...(type && { type: type.toLowerCase() }),
    ...(items && { items: fromOpenApi(items) }),
    ...(properties && { properties: Object.fromEntries(members) }),
    ...(anyOf && { anyOf: anyOf.map(fromOpenApi) }),
  };
  return nullable ? { anyOf: [plain, { type: "null" }] } : plain;
}

const ways: Readonly<Record<string, (tool: Tool) => Way>> = {
  anthropic(tool) {
    const kit = anthropic([tool]);
    const [offered] = kit.tools;
    const call = (name: string, input: Json) =>
      kit.calls({ model: "m", stop_reason: "tool_use", content: [{ type: "tool_use", ...{ id: "1", name, input } }] });
    return { ...kit, name: offered?.name, parameters: offered?.input_schema ?? {}, isStrict: false, call };
  },
  "openai chat": (tool) => throughChat(tool, false),
  "openai responses": (tool) => throughResponses(tool, false),
  "openai chat, strict": (tool) => throughChat(tool, true),
  "openai responses, strict": (tool) => throughResponses(tool, true),
  gemini: (tool) => throughGemini(tool, "openapi"),
  "gemini, JSON Schema": (tool) => throughGemini(tool, "json-schema"),
  "ai sdk"(tool) {
    const kit = aiSdk([tool]);
    const [[name, offered] = []] = Object.entries(kit.tools);
    const parameters = offered?.inputSchema["~standard"].jsonSchema.input({ target: "draft-2020-12" }) as JsonObject;
    const call = (toolName: string, input: Json) =>
      kit.calls({ content: [{ type: "tool-call", ...{ toolCallId: "1", toolName, input } }] });
    return { ...kit, name, parameters: parameters ?? {}, isStrict: false, call };
  },
};

/** The arguments as a model would give them: by the names it was told, and in strict mode with all properties. */
function asTold(value: JsonObject, { parameters, isStrict }: Way): Json {
  const { $defs, ...root } = parameters;
  const properties = Object.entries(isObject(root.properties) ? root.properties : {});
  const aliases = new Map(
    properties.flatMap(([alias, schema]) => {
      const description = isObject(schema) ? JSON.stringify(schema) : "";
      const key = Object.keys(value).find((one) =>
        description.includes(JSON.stringify(`named ${text(one)}`).slice(1, -1)),
      );
      return key === undefined ? [] : [[key, alias] as const];
    }),
  );
  const named = Object.fromEntries(Object.entries(value).map(([key, member]) => [aliases.get(key) ?? key, member]));
  return isStrict ? (filled(root, named, isObject($defs) ? $defs : {}) ?? named) : named;
}

/** A value with `null` for every property that it lacks. Undefined when it does not fit. */
function filled(schema: JsonObject, value: Json, $defs: JsonObject): Json | undefined {
  if (typeof schema.$ref === "string") {
    const target = $defs[schema.$ref.replace("#/$defs/", "")];
    return isObject(target) ? filled(target, value, $defs) : undefined;
  }
  if (Array.isArray(schema.anyOf)) {
    const branches = schema.anyOf as readonly JsonObject[];
    const complete = branches.map((branch) => [branch, filled(branch, value, $defs)] as const);
    return complete.find(([branch, one]) => one !== undefined && isValid({ ...branch, $defs }, one))?.[1];
  }
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => filled((schema.items ?? {}) as JsonObject, item, $defs));
    return items.includes(undefined) ? undefined : (items as Json[]);
  }
  if (!isObject(value) || !isObject(schema.properties)) return value;
  const members = Object.entries(schema.properties).map(([key, member]) => {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    return [key, given === undefined ? null : filled(member as JsonObject, given, $defs)] as const;
  });
  const others = Object.entries(value).filter(([key]) => !Object.hasOwn(schema.properties as JsonObject, key));
  return members.some(([, member]) => member === undefined) ? undefined : Object.fromEntries([...members, ...others]);
}

/**
 * True if `lifted` is `value`, but for members that were absent and are `null` now, or the other way round: strict mode
 * cannot tell these apart, and both are read the way in which the whole fits the schema.
 */
function isSame(value: Json, lifted: Json | undefined): boolean {
  if (Array.isArray(value)) {
    return Array.isArray(lifted) && value.length === lifted.length && value.every((item, n) => isSame(item, lifted[n]));
  }
  if (!isObject(value)) return value === lifted;
  if (!isObject(lifted)) return false;
  const isKept = Object.keys(value).every((key) => isSame(value[key] ?? null, lifted[key] ?? null));
  return isKept && Object.keys(lifted).every((key) => Object.hasOwn(value, key) || lifted[key] === null);
}

/** How deep arrays are in arrays. */
function nesting(value: Json | undefined, depth = 0): number {
  if (Array.isArray(value)) return Math.max(depth + 1, ...value.map((item: Json) => nesting(item, depth + 1)));
  return isObject(value) ? Math.max(depth, ...Object.values(value).map((member) => nesting(member))) : depth;
}

// --- random documents, whatever they mean -------------------------------------------------------

const key = fc.constantFrom("a", "b", "c", "d e");
const small = fc.integer({ min: 0, max: 3 });
const anyValue = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<Json>(null, true, false, 0, 1, 2, 3, -1, 0.5, "", "a", "b", "ab"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { noNullPrototype: true }),
  ),
})).value;
const anyArguments = fc.dictionary(key, anyValue, { noNullPrototype: true });
const typeName = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");

const anySchema = fc.letrec<{ schema: JsonObject; sub: Json }>((tie) => {
  const some = <T>(record: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T, never>(record, { requiredKeys: [] });
  const sub = tie("sub");
  const list = fc.array(sub, { minLength: 1, maxLength: 3 });
  const map = fc.dictionary(key, sub, { noNullPrototype: true, maxKeys: 3 });
  const patterns = fc.constantFrom("^a", "b$", "^(?!b)", "^\\p{L}$", "a|b");
  return {
    sub: fc.oneof({ arbitrary: fc.boolean(), weight: 1 }, { arbitrary: tie("schema"), weight: 9 }),
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      some({ type: fc.oneof(typeName, fc.uniqueArray(typeName, { minLength: 1, maxLength: 3 })) }),
      some({ enum: fc.array(anyValue, { minLength: 1, maxLength: 4 }), description: fc.constant("One of them.") }),
      some({ const: anyValue }),
      some({ minimum: small, exclusiveMaximum: small, multipleOf: fc.constantFrom(1, 2), type: typeName }),
      some({ maximum: small, exclusiveMinimum: small, type: fc.constantFrom("integer", "number") }),
      some({ minLength: small, maxLength: small, pattern: patterns, format: fc.constantFrom("email", "uuid") }),
      some({ type: fc.constant("array"), minItems: small, maxItems: small, uniqueItems: fc.boolean(), items: sub }),
      some({ prefixItems: list, items: sub, contains: sub, maxContains: small }),
      some({ type: fc.constant("object"), properties: map, required: fc.uniqueArray(key), additionalProperties: sub }),
      some({ patternProperties: fc.dictionary(patterns, sub, { noNullPrototype: true }), additionalProperties: sub }),
      some({ properties: map, minProperties: small, maxProperties: small, propertyNames: sub }),
      some({ properties: map, dependentRequired: fc.dictionary(key, fc.uniqueArray(key), { noNullPrototype: true }) }),
      some({ dependentSchemas: map, unevaluatedProperties: sub, allOf: list }),
      some({ allOf: list, anyOf: list, oneOf: list, not: sub, properties: map }),
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      some({ if: sub, then: sub, else: sub, unevaluatedItems: sub }),
      some({ type: typeName, properties: map, $ref: fc.constantFrom("#/$defs/x", "#/$defs/y", "#") }),
    ),
  };
}).schema;

/** A schema for arguments, with definitions that refer to each other, also without end. */
const anyDocument: fc.Arbitrary<JsonObject> = fc
  .tuple(anySchema, anySchema, anySchema, fc.dictionary(key, anySchema, { noNullPrototype: true }))
  .map(([root, x, y, properties]): JsonObject => {
    const tree = { properties: { a: x, b: { $ref: "#/$defs/x" }, c: { $ref: "#/$defs/y" } }, items: y };
    return { properties, ...root, $defs: { x, y: tree } };
  })
  .filter((schema) => inspectSchema(schema).ok);

// --- documents as people write them, with values that fit ---------------------------------------

interface Sample {
  readonly schema: JsonObject;
  readonly value: Json;
}

const scalar: fc.Arbitrary<Sample> = fc.oneof(
  fc.string({ maxLength: 5 }).map((value) => ({ schema: { type: "string", maxLength: 9 }, value })),
  fc.constantFrom("north", "south").map((value) => ({ schema: { type: "string", enum: ["north", "south"] }, value })),
  fc.constant({ schema: { const: 7 }, value: 7 }),
  fc
    .integer({ min: 1, max: 9 })
    .map((value) => ({ schema: { type: "integer", minimum: 1, exclusiveMaximum: 10 }, value })),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -9, max: 9 }).map((value) => ({
    schema: { type: "number", description: "A number" },
    value: value === 0 ? 0 : value,
  })),
  fc.boolean().map((value) => ({ schema: { type: "boolean", default: true }, value })),
  fc.constantFrom("x", null).map((value) => ({ schema: { type: ["string", "null"] }, value })),
  fc.uuid().map((value) => ({ schema: { $ref: "#/$defs/id" }, value })),
  fc
    .constantFrom<Json>("leaf", { left: "leaf" }, { left: { right: "leaf" }, right: { left: "leaf" } })
    .map((value) => ({
      schema: { $ref: "#/$defs/tree", description: "A tree" },
      value,
    })),
);

const $defs = {
  id: { type: "string", format: "uuid" },
  tree: {
    anyOf: [
      { const: "leaf" },
      {
        type: "object",
        properties: { left: { $ref: "#/$defs/tree" }, right: { $ref: "#/$defs/tree" } },
        additionalProperties: false,
      },
    ],
  },
};

const writtenSample = fc.letrec<{ sample: Sample; object: Sample }>((tie) => ({
  sample: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    tie("object"),
    fc.tuple(tie("sample"), small).map(([{ schema, value }, count]) => ({
      schema: { type: "array", items: schema, maxItems: 4 },
      value: Array.from({ length: count }, () => value),
    })),
    fc
      .tuple(tie("sample"), scalar)
      .map(([one, other]) => ({ schema: { oneOf: [other.schema, one.schema] }, value: one.value })),
    fc.tuple(tie("object"), tie("object")).map(([one, other]) => tagged(one, other)),
    fc.tuple(scalar, scalar).map(([one, other]) => ({
      schema: { type: "array", prefixItems: [one.schema, other.schema], items: false },
      value: [one.value, other.value],
    })),
  ),
  object: fc
    .tuple(
      fc.dictionary(
        fc.constantFrom("a", "b", "c", "d e"),
        fc.tuple(tie("sample"), fc.constantFrom("required", "given", "absent")),
        {
          maxKeys: 4,
          noNullPrototype: true,
        },
      ),
      fc.constantFrom<JsonObject>({}, { additionalProperties: false }, { minProperties: 0 }),
    )
    .map(([members, more]) => objectOf(Object.entries(members), more)),
}));

function objectOf(members: readonly (readonly [string, readonly [Sample, string]])[], more: JsonObject): Sample {
  const given = members.filter(([, [, state]]) => state !== "absent");
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(members.map(([name, [{ schema }]]) => [name, schema])),
      required: members.filter(([, [, state]]) => state === "required").map(([name]) => name),
      ...more,
    },
    value: Object.fromEntries(given.map(([name, [{ value }]]) => [name, value])),
  };
}

/** Two objects that are told apart by a tag. */
function tagged(one: Sample, other: Sample): Sample {
  const withTag = ({ schema }: Sample, tag: string): JsonObject => ({
    ...schema,
    properties: { ...(schema.properties as JsonObject), tag: { const: tag } },
    required: [...(schema.required as string[]), "tag"],
  });
  return {
    schema: { anyOf: [withTag(other, "other"), withTag(one, "one")] },
    value: { ...(one.value as JsonObject), tag: "one" },
  };
}

const writtenTool: fc.Arbitrary<Sample> = fc
  .oneof(
    writtenSample.object,
    fc.tuple(writtenSample.object, writtenSample.object).map(([one, other]) => tagged(one, other)),
    fc.tuple(writtenSample.object).map(([{ schema, value }]) => ({ schema: { allOf: [schema] }, value })),
  )
  .map(({ schema, value }) => ({ schema: { ...schema, $defs }, value }));

/** True if both judges say so. */
async function fits(schema: JsonObject, value: Json): Promise<boolean> {
  const read = toValidator(schema);
  return isValid(schema, value) === true && read.ok && (await read.value.check(value)).ok;
}

const openings = Object.entries(ways);

describe("what providers are told", () => {
  it("would refuse no valid arguments, whatever the schema", { timeout }, async () => {
    const valid = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(anyDocument, anyArguments, async (schema, value) => {
        if (!(await fits(schema, value))) return;
        for (const [title, open] of openings) {
          const way = open({ name: "shop:buy", inputSchema: schema });
          expect(way.skipped).toEqual([]);
          const told = asTold(value, way);
          if (isValid(way.parameters, told) === false) {
            // Undeclared properties: strict mode has none, and variants of the whole share theirs.
            // Gemini has no word for anything, and says arrays in arrays only so deep.
            const isNarrowed =
              way.isStrict || way.notes.some(({ message }) => message.startsWith("said as one object"));
            const isDeep = title === "gemini" && nesting(value) > 2;
            if (!isNarrowed && !isDeep) expect({ title, schema, value, told: way.parameters }).toBe("valid");
            continue;
          }
          valid.set(title, (valid.get(title) ?? 0) + 1);
          const [call] = await way.call(String(way.name), told);
          expect(call, title).toMatchObject({ name: "shop:buy" });
          expect(call?.problem, title).toBeUndefined();
          expect(isSame(value, call?.input), title).toBe(true);
        }
      }),
      { numRuns: RUNS },
    );
    // Most random arguments fit no random schema, and strict ones fewer still: some must have.
    for (const [title] of openings) expect(valid.get(title), title).toBeGreaterThan(0);
  });

  it("C144: lets the name and the arguments of every tool that people write come back", { timeout }, async () => {
    let strict = 0;
    await fc.assert(
      fc.asyncProperty(writtenTool, fc.string({ minLength: 1 }), async ({ schema, value }, name) => {
        if (!isObject(value) || !(await fits(schema, value))) return;
        for (const [title, open] of openings) {
          const way = open({ name, inputSchema: schema });
          expect(way.skipped).toEqual([]);
          expect(way.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          const told = asTold(value, way);
          if (isValid(way.parameters, told) !== true)
            expect({ title, schema, told: way.parameters, value: told }).toBe("valid");
          strict += Number(way.isStrict);
          const [call] = await way.call(String(way.name), told);
          expect(call?.problem, title).toBeUndefined();
          expect(call?.name).toBe(name);
          if (!way.isStrict || !isSame(value, call?.input)) expect(call?.input, title).toEqual(value);
          expect(await fits(schema, call?.input ?? null), title).toBe(true);
        }
      }),
      { numRuns: RUNS / 2 },
    );
    expect(strict).toBeGreaterThan(RUNS / 4);
  });
});
