import { type } from "arktype";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { complete, failureOf, faultLog, send } from "../../test/support/direct.ts";
import type { PromptMessage } from "../protocol/prompt.ts";
import { embeddedResource, image, text } from "./content.ts";
import { type PromptDefinition, type PromptOptions, type PromptReturn, prompt } from "./prompt.ts";
import { createServer } from "./server.ts";

const info = { name: "shop", version: "1" };
const get = () => "hi";
const fromUser = (content: PromptMessage["content"]): PromptMessage => ({ role: "user", content });

const withPrompt = (p: PromptDefinition, onError = faultLog().onError) =>
  createServer({ ...info, onError, prompts: { p } });

describe("what get may return", () => {
  const answer: PromptMessage = { role: "assistant", content: text("ho") };
  const picture = image("AAAA", "image/png");

  it.each<[string, PromptReturn, object]>([
    ["text", "hi", { messages: [fromUser(text("hi"))] }],
    ["a block", picture, { messages: [fromUser(picture)] }],
    ["a message", answer, { messages: [answer] }],
    ["messages", [fromUser(text("hi")), answer], { messages: [fromUser(text("hi")), answer] }],
    ["no messages", [], { messages: [] }],
    ["a full result", { messages: [answer], _meta: { a: 1 } }, { messages: [answer], _meta: { a: 1 } }],
    [
      "an embedded resource",
      embeddedResource({ uri: "a://b", text: "t" }),
      { messages: [fromUser(embeddedResource({ uri: "a://b", text: "t" }))] },
    ],
  ])("%s", async (_, value, expected) => {
    expect(await complete(withPrompt(prompt({ get: () => value })), "prompts/get", { name: "p" })).toStrictEqual(
      expected,
    );
    const later = withPrompt(prompt({ get: async () => value }));
    expect(await complete(later, "prompts/get", { name: "p" })).toStrictEqual(expected);
  });

  it("has the description of the prompt, unless it has its own", async () => {
    const described = (value: PromptReturn) => withPrompt(prompt({ description: "D", get: () => value }));
    expect(await complete(described("hi"), "prompts/get", { name: "p" })).toMatchObject({ description: "D" });
    const full = { description: "mine", messages: [] };
    expect(await complete(described(full), "prompts/get", { name: "p" })).toEqual(full);
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a number", 7],
    ["an object", { a: 1 }],
    ["a list of text", ["hi"]],
    ["a message of nobody", { role: "system", content: text("hi") }],
    ["a message with text for content", { role: "user", content: "hi" }],
    ["a full result with a bad message", { messages: [{ role: "user" }] }],
  ])("%s is an internal error", async (_, value) => {
    const { faults, onError } = faultLog();
    const server = withPrompt(prompt({ get: () => value as PromptReturn }), onError);
    expect(failureOf(await send(server, "prompts/get", { name: "p" })).message).toMatch(/^internal error, id /);
    expect(faults).toMatchObject([
      [{ message: expect.stringContaining("prompt p returned malformed messages: result") }, { name: "p" }],
    ]);
  });
});

describe("arguments", () => {
  const file = { type: "string", title: "File", description: "What to read" } as const;
  const schema = {
    type: "object",
    properties: { file, tone: { type: "string", enum: ["kind", "rude"] } },
    required: ["file"],
  } as const;

  it("C68: are listed from the schema", async () => {
    const server = createServer({
      ...info,
      prompts: {
        plain: prompt({ arguments: schema, get }),
        zod: prompt({ arguments: z.object({ a: z.string().describe("A"), b: z.string().optional() }), get }),
        ark: prompt({ arguments: type({ a: "string", "b?": "string" }), get }),
        none: prompt({ arguments: z.object({}), get }),
        bare: prompt({ get }),
      },
    });
    expect((await complete(server, "prompts/list", {})).prompts).toStrictEqual([
      {
        name: "plain",
        arguments: [{ name: "file", title: "File", description: "What to read", required: true }, { name: "tone" }],
      },
      { name: "zod", arguments: [{ name: "a", description: "A", required: true }, { name: "b" }] },
      { name: "ark", arguments: [{ name: "a", required: true }, { name: "b" }] },
      { name: "none", arguments: [] },
      { name: "bare" },
    ]);
  });

  it("reach the prompt when they are valid", async () => {
    const seen: unknown[] = [];
    const server = createServer({
      ...info,
      prompts: {
        plain: prompt({ arguments: schema, get: (args) => String(seen.push(args)) }),
        count: prompt({ arguments: z.object({ n: z.coerce.number() }), get: (args) => String(seen.push(args)) }),
        any: prompt({ get: (args) => String(seen.push(args)) }),
      },
    });
    await complete(server, "prompts/get", { name: "plain", arguments: { file: "a", tone: "kind" } });
    await complete(server, "prompts/get", { name: "count", arguments: { n: "7" } });
    await complete(server, "prompts/get", { name: "any", arguments: { x: "1" } });
    await complete(server, "prompts/get", { name: "any" });
    expect(seen).toEqual([{ file: "a", tone: "kind" }, { n: 7 }, { x: "1" }, {}]);
  });

  it.each([[{}], [undefined], [{ tone: "kind" }], [JSON.parse('{"__proto__":{"file":"a"}}')]])(
    "C69: one that is required and missing in %j is named",
    async (given) => {
      const server = withPrompt(prompt({ arguments: schema, get }));
      expect(failureOf(await send(server, "prompts/get", { name: "p", arguments: given }))).toStrictEqual({
        code: "invalid-params",
        message: "prompt p: argument file is missing",
        data: { name: "p", argument: "file" },
      });
    },
  );

  it("that do not match are refused with all issues", async () => {
    const server = withPrompt(prompt({ arguments: schema, get }));
    const failure = failureOf(await send(server, "prompts/get", { name: "p", arguments: { file: "a", tone: "loud" } }));
    expect(failure).toMatchObject({
      code: "invalid-params",
      message: expect.stringMatching(/^prompt p: \/tone /),
      data: { issues: [{ path: "/tone", keyword: "enum", message: expect.any(String) }] },
    });
  });
});

it.each(["nothing", "", "__proto__", "constructor", "toString"])("%j is an unknown prompt", async (name) => {
  const failure = { code: "invalid-params", message: `unknown prompt ${name}`, data: { name } };
  expect(failureOf(await send(withPrompt(prompt({ get })), "prompts/get", { name }))).toStrictEqual(failure);
});

it.each(["__proto__", "constructor", "a b/c", "ü".repeat(1024)])("%j may be the name of a prompt", async (name) => {
  const server = createServer({ ...info, prompts: { [name]: prompt({ get }) } });
  expect(await complete(server, "prompts/get", { name })).toEqual({ messages: [fromUser(text("hi"))] });
});

it("C68: lists have everything that is set", async () => {
  const said = { title: "T", description: "D", icons: [{ src: "https://x" }] };
  const server = withPrompt(prompt({ ...said, meta: { a: 1 }, get }));
  expect((await complete(server, "prompts/list", {})).prompts).toStrictEqual([{ name: "p", ...said, _meta: { a: 1 } }]);
});

describe("C67: a bad definition fails at once and names the prompt", () => {
  it.each<[string, unknown, string]>([
    ["get is missing", {}, "prompt p: get must be a function"],
    ["icons are no array", { get, icons: 1 }, "prompt p: icons must be an array"],
    [
      "no object schema",
      { get, arguments: { type: "string" } },
      "prompt p: arguments must be an object schema with properties",
    ],
    [
      "an argument that is no text",
      { get, arguments: { type: "object", properties: { a: {}, n: { type: "number" } } } },
      "prompt p: argument n must be a string, not number: clients send arguments of prompts as texts",
    ],
    ["a bad schema", { get, arguments: { type: 7 } }, "prompt p: arguments is not a usable schema: #/type"],
  ])("%s", (_, options, problem) => {
    expect(() => withPrompt(prompt(options as PromptOptions<never>))).toThrow(
      expect.objectContaining({ code: "invalid-definition", message: expect.stringContaining(problem) }),
    );
  });

  it.each([undefined, "x", { get }])("%o was not made by prompt()", (definition) => {
    expect(() => withPrompt(definition as unknown as PromptDefinition)).toThrow(
      "prompt p: it must be made by prompt()",
    );
  });

  it.each(["", "x".repeat(1025)])("a name that is empty or too long", (name) => {
    expect(() => createServer({ ...info, prompts: { [name]: prompt({ get }) } })).toThrow("must be 1 to 1024");
  });

  it("a name that is taken", () => {
    expect(() => withPrompt(prompt({ get })).prompts.add("p", prompt({ get }))).toThrow("prompt p is defined twice");
  });
});
