import fc from "fast-check";
import { isObject, type Json, type JsonObject } from "../../src/json/json.ts";
import { generateTypes } from "../../src/typegen/generate-types.ts";

/** A schema, and values that it allows. */
export interface Model {
  readonly schema: JsonObject;
  readonly value: fc.Arbitrary<Json>;
}

/** Not what every object inherits: the compiler takes a missing `toString` for that of all objects. */
const name = fc.oneof(
  fc.constantFrom("a", "b", "some name", "class", "readonly", "1", "", "ü", "x-y"),
  fc.string({ maxLength: 4 }).filter((text) => text !== "__proto__"),
);
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })).map((n) => n + 0);
const text = fc.string({ maxLength: 6 });
const literal: fc.Arbitrary<Json> = fc.oneof(text, number, fc.boolean(), fc.constant(null));
const structure: fc.Arbitrary<Json> = fc.oneof(
  fc.array(literal, { maxLength: 3 }),
  fc.dictionary(name, literal, { maxKeys: 3 }),
);

const scalar: fc.Arbitrary<Model> = fc.constantFrom<Model>(
  { schema: { type: "string" }, value: text },
  { schema: { type: "number" }, value: number },
  { schema: { type: "integer" }, value: fc.integer() },
  { schema: { type: "boolean" }, value: fc.boolean() },
  { schema: { type: "null" }, value: fc.constant(null) },
  { schema: { type: ["string", "null"] }, value: fc.oneof(text, fc.constant(null)) },
);

const choice: fc.Arbitrary<Model> = fc
  .uniqueArray(literal, { minLength: 1, maxLength: 4 })
  .map((values) => ({ schema: { enum: values }, value: fc.constantFrom(...values) }));

const constant: fc.Arbitrary<Model> = fc
  .oneof(literal, structure)
  .map((value) => ({ schema: { const: value }, value: fc.constant(value) }));

function list(item: fc.Arbitrary<Model>): fc.Arbitrary<Model> {
  return item.map(({ schema, value }) => ({
    schema: { type: "array", items: schema },
    value: fc.array(value, { maxLength: 3 }),
  }));
}

/** The compiler keeps `number[] | number[]` as it is when it has inferred it, so branches have different types. */
function typeTextOf({ schema }: Model): string {
  return generateTypes([{ name: "s", tools: [{ name: "t", inputSchema: {}, outputSchema: schema }] }]);
}

function either(keyword: "anyOf" | "oneOf", model: fc.Arbitrary<Model>): fc.Arbitrary<Model> {
  return fc.uniqueArray(model, { minLength: 1, maxLength: 3, selector: typeTextOf }).map((models) => ({
    schema: { [keyword]: models.map(({ schema }) => schema) },
    value: fc.oneof(...models.map(({ value }) => value)),
  }));
}

interface Field {
  readonly name: string;
  readonly model: Model;
  readonly isRequired: boolean;
}

function fields(model: fc.Arbitrary<Model>, names: fc.Arbitrary<string> = name): fc.Arbitrary<readonly Field[]> {
  const field = fc.record({ name: names, model, isRequired: fc.boolean() });
  return fc.uniqueArray(field, { selector: (one) => one.name, maxLength: 4 });
}

const propertiesOf = (all: readonly Field[]): JsonObject =>
  Object.fromEntries(all.map((field) => [field.name, field.model.schema]));
const requiredOf = (all: readonly Field[]): readonly string[] =>
  all.filter(({ isRequired }) => isRequired).map((field) => field.name);

function valuesOf(all: readonly Field[]): fc.Arbitrary<JsonObject> {
  const entries = all.map(({ name: key, model, isRequired }) =>
    fc.tuple(fc.constant(key), model.value, isRequired ? fc.constant(true) : fc.boolean()),
  );
  return fc
    .tuple(...entries)
    .map((made) => Object.fromEntries(made.filter(([, , isThere]) => isThere).map(([key, value]) => [key, value])));
}

function object(model: fc.Arbitrary<Model>): fc.Arbitrary<Model> {
  return fc.tuple(fields(model), fc.constantFrom({}, { additionalProperties: false })).map(([all, more]) => ({
    schema: { type: "object", properties: propertiesOf(all), required: requiredOf(all), ...more },
    value: valuesOf(all),
  }));
}

function dictionary(keyword: "additionalProperties" | "patternProperties", model: fc.Arbitrary<Model>) {
  return model.map(({ schema, value }) => ({
    schema: { type: "object", [keyword]: keyword === "additionalProperties" ? schema : { "^": schema } },
    value: fc.dictionary(name, value, { maxKeys: 3 }),
  }));
}

/** What the compiler infers exactly. */
export const basic: fc.Arbitrary<Model> = fc.letrec<{ model: Model }>((tie) => ({
  model: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    scalar,
    choice,
    constant,
    object(tie("model")),
    list(tie("model")),
    either("anyOf", tie("model")),
    either("oneOf", tie("model")),
    dictionary("additionalProperties", tie("model")),
  ),
})).model;

function tuple(model: fc.Arbitrary<Model>): fc.Arbitrary<Model> {
  const parts = fc.array(model, { minLength: 1, maxLength: 3 });
  return fc.tuple(parts, fc.option(model, { nil: undefined })).map(([items, rest]) => ({
    schema: {
      type: "array",
      prefixItems: items.map(({ schema }) => schema),
      minItems: items.length,
      items: rest?.schema ?? false,
    },
    value: fc
      .tuple(
        fc.tuple(...items.map(({ value }) => value)),
        rest === undefined ? fc.constant([]) : fc.array(rest.value, { maxLength: 2 }),
      )
      .map((both) => both.flat()),
  }));
}

/** Two objects with different members. Names begin differently, so that no member has to be two things at once. */
function joined(model: fc.Arbitrary<Model>): fc.Arbitrary<Model> {
  const named = (prefix: string) =>
    fields(
      model,
      name.map((rest) => prefix + rest),
    );
  return fc.tuple(named("l"), named("r"), fc.boolean()).map(([left, right, isTyped]) => {
    const [one, other] = [left, right].map((all) => ({
      ...(isTyped && { type: "object" }),
      properties: propertiesOf(all),
      required: requiredOf(all),
    }));
    return {
      schema: { type: "object", allOf: [one ?? {}, other ?? {}] },
      value: fc.tuple(valuesOf(left), valuesOf(right)).map(([a, b]) => ({ ...a, ...b })),
    };
  });
}

/** Some of the members, at least one of two. */
function oneOfTwo(model: fc.Arbitrary<Model>): fc.Arbitrary<Model> {
  return fc.tuple(model, model, fc.constantFrom("a", "b")).map(([a, b, given]) => ({
    schema: {
      type: "object",
      properties: { a: a.schema, b: b.schema },
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    value: (given === "a" ? a : b).value.map((value) => ({ [given]: value })),
  }));
}

/** Members with a name, and others without one. */
function open(model: fc.Arbitrary<Model>): fc.Arbitrary<Model> {
  const named = fields(
    model,
    name.map((rest) => `n${rest}`),
  );
  return fc.tuple(named, model).map(([all, rest]) => ({
    schema: {
      type: "object",
      properties: propertiesOf(all),
      required: requiredOf(all),
      additionalProperties: rest.schema,
    },
    value: fc
      .tuple(
        valuesOf(all),
        fc.dictionary(
          name.map((key) => `m${key}`),
          rest.value,
          { maxKeys: 2 },
        ),
      )
      .map(([members, others]) => ({ ...members, ...others })),
  }));
}

/** Refers to itself, and to something else. */
function tree(of: Model): Model {
  const value: fc.Arbitrary<Json> = fc.letrec<{ node: Json }>((tie) => ({
    node: fc.record({
      item: of.value,
      kids: fc.oneof({ maxDepth: 2 }, fc.constant([]), fc.array(tie("node"), { maxLength: 2 })),
    }) as fc.Arbitrary<Json>,
  })).node;
  return { schema: { $ref: "#/$defs/tree" }, value };
}

/** A schema with everything that the generator knows, wrapped in an object that has the definitions. */
export const full: fc.Arbitrary<Model> = basic.chain((leaf) => {
  const { model } = fc.letrec<{ model: Model }>((tie) => ({
    model: fc.oneof(
      { depthSize: "small", maxDepth: 3 },
      basic,
      fc.constant(tree(leaf)),
      fc.constant({ schema: { $ref: "#/$defs/leaf" }, value: leaf.value }),
      tuple(tie("model")),
      joined(tie("model")),
      oneOfTwo(tie("model")),
      open(tie("model")),
      object(tie("model")),
      list(tie("model")),
      either("oneOf", tie("model")),
      dictionary("patternProperties", tie("model")),
    ),
  }));
  const $defs = {
    leaf: leaf.schema,
    tree: {
      type: "object",
      properties: { item: { $ref: "#/$defs/leaf" }, kids: { type: "array", items: { $ref: "#/$defs/tree" } } },
      required: ["item", "kids"],
    },
  };
  return model.map(({ schema, value }) => ({
    schema: { type: "object", properties: { it: schema }, required: ["it"], $defs },
    value: value.map((it) => ({ it })),
  }));
});

const words = fc.oneof(
  fc.constantFrom("*/ x", "@ts-ignore", "`", "\u2028", "\\", '"', "__proto__", "constructor", "toString", "a", "b"),
  fc.string({ unit: "binary", maxLength: 5 }),
);
const reference = fc.constantFrom(
  "#",
  "#/$defs/a",
  "#/$defs/b",
  "#/$defs/c",
  "#/$defs/c/items",
  "#named",
  "#/none",
  "x",
);
const nonsense = fc.oneof(fc.constantFrom<Json>(null, true, 7, "x", [], {}, ["x"]), fc.jsonValue({ maxDepth: 1 }));

const anything: fc.Arbitrary<Json> = fc.letrec<{ schema: Json }>((tie) => {
  const schemas = fc.array(tie("schema"), { maxLength: 3 });
  const members = fc.dictionary(words, tie("schema"), { maxKeys: 3 });
  const kinds = fc.constantFrom<Json>("object", "array", "string", "integer", "null", "x", ["object", "array", "null"]);
  const sane = fc.record(
    {
      type: kinds,
      properties: members,
      required: fc.array(words, { maxLength: 3 }),
      additionalProperties: tie("schema"),
      patternProperties: members,
      propertyNames: fc.record({ enum: fc.array(words, { maxLength: 2 }) }),
      items: fc.oneof(tie("schema"), schemas),
      prefixItems: schemas,
      minItems: fc.integer({ min: -1, max: 3 }),
      maxItems: fc.integer({ min: -1, max: 3 }),
      anyOf: schemas,
      oneOf: schemas,
      allOf: schemas,
      $ref: reference,
      $dynamicRef: reference,
      $anchor: fc.constant("named"),
      nullable: fc.boolean(),
      description: words,
      default: fc.oneof(words, nonsense),
      not: tie("schema"),
    },
    { requiredKeys: [] },
  );
  const some = sane.chain((all) =>
    fc.subarray(Object.entries<unknown>(all), { maxLength: 4 }).map((kept) => Object.fromEntries(kept) as JsonObject),
  );
  const literals = fc.oneof(fc.record({ const: nonsense }), fc.record({ enum: fc.array(nonsense, { maxLength: 3 }) }));
  const odd = fc.dictionary(fc.constantFrom("type", "properties", "items", "anyOf", "$ref", "required"), nonsense);
  const schema = fc.oneof(
    { depthSize: "small", maxDepth: 4 },
    fc.boolean(),
    reference.map(($ref) => ({ $ref })),
    literals,
    odd,
    some,
    some,
    some,
  );
  return { schema: schema as fc.Arbitrary<Json> };
}).schema;

/** Definitions that refer to each other in every way. */
const pointer: fc.Arbitrary<Json> = fc.constantFrom("a", "b", "c").map((key) => ({ $ref: `#/$defs/${key}` }));
const circular: fc.Arbitrary<Json> = fc.record(
  {
    type: fc.constantFrom<Json>("object", "array"),
    allOf: fc.array(pointer, { maxLength: 2 }),
    anyOf: fc.array(pointer, { minLength: 1, maxLength: 2 }),
    properties: fc.record({ x: pointer, y: pointer }, { requiredKeys: [] }),
    required: fc.subarray(["x", "y", "z"]),
    additionalProperties: pointer,
    items: pointer,
    prefixItems: fc.array(pointer, { maxLength: 2 }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Json>;
const definition = fc.oneof(anything, circular, circular);

/** Whatever somebody may take for a schema: keywords that do not go together, of any value, in circles. */
export const wild: fc.Arbitrary<JsonObject> = fc
  .tuple(fc.oneof(anything, circular), fc.record({ a: definition, b: definition, c: definition }))
  .map(([root, $defs]) => ({ ...(isObject(root) ? root : { anyOf: [root] }), $defs }));
