import { describe, expect, it } from "vitest";
import { callTool, complete, failureOf, faultLog, send } from "../../test/support/direct.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };
const bytes = new Uint8Array([0, 255, 16]);
const data = "AP8Q";
const image = { type: "image", data, mimeType: "image/png" };

/** What is reported of a tool, resource or prompt that gives this value, and what the client is told. */
async function flawOf(kind: "tool" | "resource" | "prompt", value: unknown, output?: object) {
  const { faults, onError } = faultLog();
  const server = createServer({
    ...info,
    onError,
    tools: { it: tool({ output, run: () => value } as never) },
    resources: [resource("a://it", { read: () => value })],
    prompts: { it: prompt({ get: () => value as string }) },
  });
  const sending = {
    tool: () => send(server, "tools/call", { name: "it" }),
    resource: () => send(server, "resources/read", { uri: "a://it" }),
    prompt: () => send(server, "prompts/get", { name: "it" }),
  };
  const failure = failureOf(await sending[kind]());
  const [fault] = faults as unknown as readonly (readonly [Error, object])[];
  return { code: failure.code, message: failure.message, flaw: fault?.[0].message };
}

const masked = { code: "internal", message: expect.stringMatching(/^internal error, id \S+$/) };

describe("a tool that returns malformed content", () => {
  it.each<[string, unknown]>([
    ["result.content[0].data must be base64", { content: [{ ...image, data: "%" }] }],
    ["result.content[0].data must be base64", { content: [{ ...image, data: "AP8" }] }],
    [
      "result.content[0].data must be base64 alone, not a data: URL",
      { content: [{ ...image, data: `data:,${data}` }] },
    ],
    ["result.content[1].data must be base64, not bytes: use", { content: [image, { ...image, data: bytes }] }],
    ["result.content[1].mimeType must be a string", { content: [image, { type: "audio", data }] }],
    ["result.content[0].text must be a string", { content: [{ type: "text", text: 7 }] }],
    ["result.content[1].type must be text or image", { content: [image, { type: "video", data }] }],
    ["result.content[0] must be an object", { content: ["hi"], isError: true }],
    ["result.content[0] must be an object", { content: [null], structuredContent: { a: 1 } }],
    ["result.content must be an array", { content: "hi", structuredContent: { a: 1 } }],
    ["result.content[0].resource.uri must be a string", { content: [{ type: "resource", resource: { text: "x" } }] }],
    [
      "result.content[0].resource.blob must be base64",
      { content: [{ type: "resource", resource: { uri: "a:b", blob: "%" } }] },
    ],
    ["result.content[0].resource.text must be a string", { content: [{ type: "resource", resource: { uri: "a:b" } }] }],
    ["result.content[0].name must be a string", { content: [{ type: "resource_link", uri: "a://b" }] }],
    ["result[1].data must be base64", [image, { ...image, data: "%" }]],
    ["result[0] must be an object", ["hi", image]],
    ["result.data must be base64", { ...image, data: "%" }],
    ["result.mimeType must be a string", { type: "image", data }],
    ["result must be JSON, not bytes: use", bytes],
    ["result.blob must be JSON, not bytes: use", { blob: bytes }],
    ["result.blob must be JSON, not bytes: use", { name: "a", blob: bytes.buffer }],
  ])("fails, and onError hears why: %s (C72)", async (problem, value) => {
    const { flaw, ...told } = await flawOf("tool", value);
    expect(flaw).toContain(`tool it returned malformed content: ${problem}`);
    expect(told).toEqual(masked);
  });

  it("is looked at with an output, too, where it gives a result (C72)", async () => {
    const content = [{ ...image, data: "%" }];
    const flaw = "tool it returned malformed content: result.content[0].data must be base64";
    for (const value of [
      { content, structuredContent: {} },
      { content, isError: true },
    ]) {
      expect((await flawOf("tool", value, { type: "object" })).flaw).toContain(flaw);
    }
  });

  it.each<[string, unknown]>([
    ["an object", { type: "video", data: "%" }],
    ["a list", [{ type: "paragraph" }, "text"]],
    ["a content of its own", { content: [{ type: "paragraph" }] }],
    ["a content of text", { content: "text" }],
  ])("may as well return %s, which is a value (C72)", async (_, value) => {
    const server = createServer({ ...info, tools: { it: tool({ run: () => value as object }) } });
    expect(await callTool(server, "it")).toMatchObject({ structuredContent: value });
  });

  it("returns what looks like content as a value that its output describes (C72)", async () => {
    const value = { content: [{ type: "text", size: 7 }] };
    const server = createServer({ ...info, tools: { it: tool({ output: { type: "object" }, run: () => value }) } });
    expect(await callTool(server, "it")).toMatchObject({ structuredContent: value });
  });

  it("need not give content beside structured content (C72)", async () => {
    const value = { structuredContent: { a: 1 } };
    for (const output of [{ type: "object" }, undefined]) {
      const server = createServer({ ...info, tools: { it: tool({ output, run: () => value } as never) } });
      expect(await callTool(server, "it")).toEqual({ content: [{ type: "text", text: '{"a":1}' }], ...value });
    }
  });
});

describe("a resource", () => {
  const uri = "a://it";
  const annotations = { priority: 1 };

  it.each<[string, unknown, object]>([
    ["bytes in contents", { blob: bytes }, { uri, blob: data }],
    ["a buffer in contents", { blob: bytes.buffer, mimeType: "x/y" }, { uri, mimeType: "x/y", blob: data }],
    ["text with annotations", { text: "hi", annotations }, { uri, text: "hi", annotations }],
    ["a blob with annotations", { blob: bytes, annotations }, { uri, blob: data, annotations }],
    ["bytes in a full result", { contents: [{ blob: bytes }] }, { uri, blob: data }],
    ["bytes in a list", [{ blob: bytes }], { uri, blob: data }],
  ])("gives %s (C72)", async (_, value, expected) => {
    const server = createServer({ ...info, resources: [resource(uri, { read: () => value })] });
    const { contents } = await complete(server, "resources/read", { uri });
    expect(contents).toStrictEqual([expected]);
  });

  it.each<[string, unknown]>([
    ["result.blob must be base64", { blob: "%" }],
    ["result.blob must be base64 alone, not a data: URL", { blob: "data:text/plain,hi" }],
    ["result.blob must be base64", { blob: 7 }],
    ["result.text must be a string", { text: 7 }],
    ["result.uri must be a string", { uri: 7, text: "hi" }],
    ["result.mimeType must be a string", { mimeType: null, text: "hi" }],
    ["result must have text or blob, not both", { text: "hi", blob: data }],
    ["result[1].blob must be base64", [{ text: "hi" }, { blob: "%" }]],
    ["result[1] must have text or blob", [{ text: "hi" }, { by: "ann" }]],
    ["result.contents[0].blob must be base64", { contents: [{ blob: "%" }] }],
    ["result.contents[0] must have text or blob", { contents: [{ by: "ann" }] }],
    ["result.contents[1] must have text or blob", { contents: ["hi", 7] }],
  ])("that returns malformed contents fails, and onError hears why: %s (C72)", async (problem, value) => {
    const { flaw, ...told } = await flawOf("resource", value);
    expect(flaw).toContain(`resource a://it returned malformed contents: ${problem}`);
    expect(told).toEqual(masked);
  });
});

describe("a prompt that returns malformed messages", () => {
  it.each<[string, unknown]>([
    ["result.data must be base64", { ...image, data: "%" }],
    ["result[0].role must be user or assistant", [{ role: "system", content: image }]],
    [
      "result[1].content.data must be base64",
      [
        { role: "user", content: image },
        { role: "user", content: { ...image, data: "%" } },
      ],
    ],
    ["result.content.text must be a string", { role: "user", content: { type: "text" } }],
    ["result.messages[0].content must be an object", { messages: [{ role: "user", content: "hi" }] }],
    ["result must be text, a block, messages, or an object with messages", 7],
    ["result must be text, a block, messages, or an object with messages", { a: 1 }],
  ])("fails, and onError hears why: %s (C72)", async (problem, value) => {
    const { flaw, ...told } = await flawOf("prompt", value);
    expect(flaw).toContain(`prompt it returned malformed messages: ${problem}`);
    expect(told).toEqual(masked);
  });
});
