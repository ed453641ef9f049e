import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as zod3 } from "zod/v3";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };

/** Calls without types, as JavaScript does. */
const js = {
  tool: tool as (options: unknown) => ReturnType<typeof tool>,
  prompt: prompt as (options: unknown) => ReturnType<typeof prompt>,
  resource: resource as unknown as (uri: string, options: unknown) => ReturnType<typeof resource>,
  createServer: createServer as (options: unknown) => ReturnType<typeof createServer>,
};

const definitions = {
  tool: (options: object) => createServer({ ...info, tools: { buy: js.tool({ run: () => "", ...options }) } }),
  prompt: (options: object) => createServer({ ...info, prompts: { buy: js.prompt({ get: () => "", ...options }) } }),
  resource: (options: object) =>
    createServer({ ...info, resources: [js.resource("a://b", { read: () => "", ...options })] }),
  createServer: (options: object) => js.createServer({ ...info, ...options }),
};

describe("members of another kind", () => {
  it.each([
    [{ tools: [tool({ run: () => "" })] }, "createServer: tools must be an object"],
    [{ prompts: [] }, "createServer: prompts must be an object"],
    [{ resources: {} }, "createServer: resources must be a list"],
  ])("%o are refused", (options, problem) => {
    expect(() => js.createServer({ ...info, ...options })).toThrow(
      expect.objectContaining({ code: "invalid-definition", message: expect.stringContaining(problem) }),
    );
  });
});

/** The error that a definition throws. */
function problemOf(define: () => unknown): unknown {
  try {
    define();
  } catch (error) {
    return error;
  }
  return undefined;
}

const refused = (message: unknown) => expect.objectContaining({ code: "invalid-definition", message });

describe("an unknown option", () => {
  it.each([
    ["tool", 'tool "buy"', "inputSchema", "input"],
    ["tool", 'tool "buy"', "outputSchema", "output"],
    ["tool", 'tool "buy"', "parameters", "input"],
    ["tool", 'tool "buy"', "handler", "run"],
    ["tool", 'tool "buy"', "execute", "run"],
    ["tool", 'tool "buy"', "timeout", "timeoutMs"],
    ["tool", 'tool "buy"', "desciption", "description"],
    ["tool", 'tool "buy"', "Title", "title"],
    ["tool", 'tool "buy"', "_meta", "meta"],
    ["prompt", 'prompt "buy"', "argsSchema", "arguments"],
    ["prompt", 'prompt "buy"', "input", "arguments"],
    ["prompt", 'prompt "buy"', "run", "get"],
    ["resource", 'resource "a://b"', "handler", "read"],
    ["resource", 'resource "a://b"', "mimetype", "mimeType"],
    ["resource", 'resource "a://b"', "ttl", "cache"],
    ["createServer", "createServer", "instruction", "instructions"],
    ["createServer", "createServer", "use", "middleware"],
    ["createServer", "createServer", "tool", "tools"],
    ["createServer", "createServer", "onerror", "onError"],
  ] as const)("of %s is refused: %s has no %s (T5)", (kind, owner, name, meant) => {
    const message = `${owner} has an unknown option "${name}"; did you mean "${meant}"?`;
    expect(problemOf(() => definitions[kind]({ [name]: {} }))).toEqual(refused(message));
    expect(problemOf(() => definitions[kind]({ [name]: {} }))).toMatchObject({ data: { member: name } });
  });

  it.each([
    ["tool", /^tool "buy" has an unknown option "zzz"; its options are title, description, .*, run$/],
    ["prompt", /^prompt "buy" has an unknown option "zzz"; its options are title, .*, get$/],
    ["resource", /^resource "a:\/\/b" has an unknown option "zzz"; its options are name, .*, read$/],
    ["createServer", /^createServer has an unknown option "zzz"; its options are name, version, .*/],
  ] as const)("of %s that is like no other is refused with all that there are (T5)", (kind, message) => {
    expect(problemOf(() => definitions[kind]({ zzz: 1 }))).toEqual(refused(expect.stringMatching(message)));
  });

  it.each(["tool", "prompt", "resource", "createServer"] as const)(
    "of %s that is undefined does no harm (T5)",
    (kind) => {
      expect(problemOf(() => definitions[kind]({ inputSchema: undefined }))).toBeUndefined();
    },
  );

  it("is refused in what is added later, too (T5)", () => {
    const server = createServer(info);
    const message = 'tool "late" has an unknown option "inputSchema"; did you mean "input"?';
    expect(problemOf(() => server.tools.add("late", js.tool({ run: () => "", inputSchema: {} })))).toEqual(
      refused(message),
    );
    expect(server.tools.has("late")).toBe(false);
  });
});

const shape = { sku: z.string(), quantity: z.number() };

describe("a server without", () => {
  it.each(["name", "version"])("%s is refused (T5)", (member) => {
    const problem = refused(`createServer needs a ${member}: a string that is sent to clients`);
    for (const value of [undefined, "", 1]) {
      expect(problemOf(() => definitions.createServer({ [member]: value }))).toEqual(problem);
    }
  });
});

describe("what is no schema of an object", () => {
  const inputs: readonly (readonly [string, unknown, string])[] = [
    ["the members of one", shape, "these are the members of a schema, not a schema: wrap them in z.object({ … })"],
    [
      "members of zod 3",
      { sku: zod3.string() },
      "these are the members of a schema, not a schema: wrap them in z.object({ … })",
    ],
    [
      "members of zod/mini",
      { sku: mini.string() },
      "these are the members of a schema, not a schema: wrap them in z.object({ … })",
    ],
    ["a schema of text", z.string(), ": wrap it in z.object({ … })"],
    ["a JSON Schema of text", { type: "string" }, "must "],
    ["a JSON Schema of anything", {}, "must "],
    [
      "zod 3",
      zod3.object({}),
      "zod 3 cannot convert it to JSON Schema: import zod 4.2 or newer, or give a JSON Schema",
    ],
    [
      "zod/mini",
      mini.object({}),
      "zod/mini, and zod before 4.2, cannot convert it to JSON Schema: import zod, or give z.toJSONSchema(schema)",
    ],
  ];

  it.each(inputs)("is refused as input of a tool: %s (T5)", (_, input, problem) => {
    expect(problemOf(() => definitions.tool({ input }))).toEqual(refused(expect.stringContaining("tool buy: input")));
    expect(problemOf(() => definitions.tool({ input }))).toEqual(refused(expect.stringContaining(problem)));
  });

  it.each(inputs)("is refused as arguments of a prompt: %s (T5)", (_, input, problem) => {
    const error = problemOf(() => definitions.prompt({ arguments: input }));
    expect(error).toEqual(refused(expect.stringContaining("prompt buy: arguments")));
    expect(error).toEqual(refused(expect.stringContaining(problem)));
  });

  it.each(inputs.filter(([name]) => /zod|members/.test(name)))(
    "is refused as output of a tool: %s (T5)",
    (_, output, problem) => {
      const error = problemOf(() => definitions.tool({ output }));
      expect(error).toEqual(refused(expect.stringContaining("tool buy: output")));
      expect(error).toEqual(refused(expect.stringContaining(problem)));
    },
  );

  it("names a zod before it followed Standard Schema, too (T5)", () => {
    const { "~standard": _, ...old } = zod3.object({}) as object as { "~standard": unknown };
    const input = Object.assign(Object.create({ safeParse: () => {}, parse: () => {} }), old);
    expect(problemOf(() => definitions.tool({ input }))).toEqual(
      refused(expect.stringContaining("zod 3 cannot convert it")),
    );
  });

  it("is not confused by schemas that are one (T5)", () => {
    const properties = { type: { type: "string" }, sku: { type: "string" } };
    for (const input of [z.object(shape), { type: "object", properties }]) {
      expect(problemOf(() => definitions.tool({ input }))).toBeUndefined();
    }
    expect(problemOf(() => definitions.tool({ output: z.string() }))).toBeUndefined();
  });
});
