import { createServer, tool } from "../../../src/server/index.ts";

const address = {
  type: "object",
  properties: { street: { type: "string" }, "post code": { type: "string" }, tags: { type: "array" } },
  required: ["street"],
} as const;

/** Plain JSON Schemas of which the compiler infers all there is to tell. */
export const plain = createServer({
  name: "plain",
  version: "1",
  tools: {
    scalars: tool({
      input: {
        type: "object",
        properties: {
          text: { type: "string", minLength: 1, pattern: "^a" },
          count: { type: "integer" },
          ratio: { type: "number" },
          sure: { type: "boolean" },
          nothing: { type: "null" },
          either: { type: ["string", "null"] },
          several: { type: ["integer", "boolean", "array", "object"] },
        },
        required: ["text", "either"],
        additionalProperties: false,
      },
      output: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      run: ({ text }) => ({ text }),
    }),
    choices: tool({
      input: {
        type: "object",
        properties: {
          one: { const: "a" },
          typed: { type: "string", const: 'with "quotes" and \\' },
          many: { enum: ["a", 1, -1.5, 1e21, null, true] },
          words: { type: "string", enum: ["b", "c"] },
          bools: { enum: [true, false] },
          whole: { const: { list: [1, ["x"]], none: null, "odd name": {} } },
          never: { enum: [] },
        },
        required: ["one"],
      },
      output: { type: "object", properties: { ok: { const: true } } },
      run: () => ({ ok: true as const }),
    }),
    unions: tool({
      input: {
        type: "object",
        properties: {
          any: { anyOf: [{ type: "string" }, { type: "array", items: { type: "number" } }] },
          one: {
            oneOf: [
              { type: "object", properties: { kind: { const: "a" }, size: { type: "number" } }, required: ["kind"] },
              { type: "object", properties: { kind: { const: "b" } }, required: ["kind"] },
            ],
          },
        },
        required: ["any"],
      },
      output: { type: "object", additionalProperties: { anyOf: [{ type: "string" }, { type: "null" }] } },
      run: () => ({ a: null }),
    }),
    arrays: tool({
      input: {
        type: "object",
        properties: {
          plain: { type: "array" },
          texts: { type: "array", items: { type: "string" }, minItems: 1 },
          nested: { type: "array", items: { type: "array", items: { enum: ["x", "y"] } } },
          objects: { type: "array", items: address },
          maybe: { type: ["array", "null"], items: { type: ["string", "number"] } },
          none: { type: "array", items: false },
        },
        required: ["plain", "objects"],
      },
      output: { type: "object", properties: { all: { type: "array", items: { type: "integer" } } } },
      run: () => ({ all: [1] }),
    }),
    objects: tool({
      input: {
        type: "object",
        properties: {
          home: address,
          open: { type: "object" },
          empty: { type: "object", properties: {} },
          numbers: { type: "object", additionalProperties: { type: "number" } },
          closed: { type: "object", additionalProperties: false },
          anything: true,
          untold: {},
          impossible: false,
          "": { type: "string" },
          "1": { type: "string" },
          class: { type: "string" },
          readonly: { type: "string" },
          constructor: { type: "string" },
          toString: { type: "number" },
          "naïve 😀": { type: "string" },
        },
        required: ["home", "untold", "elsewhere"],
      },
      output: address,
      run: () => ({ street: "x" }),
    }),
    untyped: tool({ output: { type: "object" }, run: () => ({}) }),
    open: tool({ input: { type: "object" }, output: { type: "object", properties: {} }, run: () => ({}) }),
    empty: tool({ input: { type: "object", properties: {} }, output: { type: "object" }, run: () => ({}) }),
    numbers: tool({
      input: { type: "object", additionalProperties: { type: "number" } },
      output: { type: "object", additionalProperties: true },
      run: () => ({}),
    }),
    "no-identifier": tool({
      input: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      output: { type: "object", properties: { b: { type: "string" } }, required: ["b"] },
      run: ({ a }) => ({ b: a }),
    }),
  },
});

/** All arguments may be left out. */
const paging = {
  type: "object",
  properties: { page: { type: "integer" }, order: { enum: ["up", "down"] } },
} as const;

export const optional = createServer({
  name: "optional",
  version: "1",
  tools: { list: tool({ input: paging, output: paging, run: () => ({}) }) },
});
