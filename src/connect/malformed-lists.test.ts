import { describe, expect, it } from "vitest";
import type { ClientWarning } from "../client/warning.ts";
import { createHost } from "../host/host.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { createFakePeer } from "../testing/fake-peer.ts";
import { dial } from "./connect.ts";
import { connect, McpError } from "./index.ts";

// Servers whose lists hold what no list should, as they are on the wire.

const inputSchema = { type: "object" };
const good = { name: "good", inputSchema };

/** Why an entry is left out, by the entry. */
const badTools: readonly (readonly [entry: Json, warning: string])[] = [
  [null, "tools[1] is left out: it must be an object"],
  ["tool", "tools[1] is left out: it must be an object"],
  [[good], "tools[1] is left out: it must be an object"],
  [{ inputSchema }, "tools[1] is left out: name must be a string"],
  [{ name: 5, inputSchema }, "tools[1] is left out: name must be a string"],
  [{ name: "", inputSchema }, "tools[1] is left out: name must not be empty"],
  [{ name: "bad" }, 'tool "bad" is left out: inputSchema must be an object'],
  [{ name: "bad", inputSchema: null }, 'tool "bad" is left out: inputSchema must be an object'],
  [{ name: "bad", inputSchema: true }, 'tool "bad" is left out: inputSchema must be an object'],
  [{ name: "bad", inputSchema: [] }, 'tool "bad" is left out: inputSchema must be an object'],
  [{ name: "bad", inputSchema: { type: "string" } }, 'tool "bad" is left out: inputSchema.type must be object'],
  [{ ...good, name: "bad", outputSchema: 5 }, 'tool "bad" is left out: outputSchema must be an object'],
  [{ ...good, name: "bad", outputSchema: true }, 'tool "bad" is left out: outputSchema must be an object'],
  [{ ...good, name: "bad", annotations: "safe" }, 'tool "bad" is left out: annotations must be an object'],
  [
    { ...good, name: "bad", annotations: { readOnlyHint: "true" } },
    'tool "bad" is left out: annotations.readOnlyHint must be true or false',
  ],
  [{ ...good, name: "bad", description: 5 }, 'tool "bad" is left out: description must be a string'],
  [{ ...good, name: "bad", _meta: 5 }, 'tool "bad" is left out: _meta must be an object'],
  [{ ...good, title: "the second" }, 'tool "good" is left out: the list has another one of this name'],
];

describe.each(["2025-11-25", "2026-07-28", "http"] as const)("a malformed entry of a list, %s", (wire) => {
  it.each(badTools)("of tools: %j (B8, H20)", async (bad, warning) => {
    const last = { name: "last", inputSchema };
    const { client, warnings } = await open(wire, { "tools/list": { tools: [good, bad, last] } });
    expect(await client.listTools()).toEqual([good, last]);
    expect(warnings).toEqual([{ kind: "tool-left-out", message: warning }]);
    await client.close();
  });

  it.each<[method: string, member: string, bad: Json, warning: string]>([
    ["resources/list", "resources", null, "resources[1] is left out: it must be an object"],
    ["resources/list", "resources", { name: "n" }, "resources[1] is left out: uri must be a string"],
    ["resources/list", "resources", { uri: "a:2" }, 'resource "a:2" is left out: name must be a string'],
    [
      "resources/list",
      "resources",
      { uri: "a:2", name: "n", size: "5" },
      'resource "a:2" is left out: size must be a number',
    ],
    [
      "resources/list",
      "resources",
      { uri: "a:1", name: "n" },
      'resource "a:1" is left out: the list has another one of this uri',
    ],
    ["resources/templates/list", "resourceTemplates", 5, "resourceTemplates[1] is left out: it must be an object"],
    [
      "resources/templates/list",
      "resourceTemplates",
      { uriTemplate: "a:{x}" },
      'resource template "a:{x}" is left out: name must be a string',
    ],
    ["prompts/list", "prompts", { title: "n" }, "prompts[1] is left out: name must be a string"],
    ["prompts/list", "prompts", { name: "p", arguments: {} }, 'prompt "p" is left out: arguments must be an array'],
    [
      "prompts/list",
      "prompts",
      { name: "p", arguments: [{ name: "a" }, { description: "b" }] },
      'prompt "p" is left out: arguments[1].name must be a string',
    ],
  ])("of %s: %s %j (I8)", async (method, member, bad, warning) => {
    const fine = { uri: "a:1", uriTemplate: "a:1", name: "fine" };
    const { client, warnings } = await open(wire, { [method]: { [member]: [fine, bad] } });
    const lists = {
      resources: client.listResources,
      resourceTemplates: client.listResourceTemplates,
      prompts: client.listPrompts,
    };
    expect(await lists[member as keyof typeof lists]()).toEqual([fine]);
    expect(warnings).toEqual([{ kind: "entry-left-out", message: warning }]);
    await client.close();
  });

  it.each<[what: string, problem: string, schema: JsonObject]>([
    ["deeper", "nested deeper than 64 levels (maxJsonDepth)", nested(40)],
    ["much deeper", "nested deeper than 64 levels (maxJsonDepth)", nested(2000)],
    ["wider", "more than 1048576 values (maxJsonNodes)", { enum: Array(1_048_577).fill(1) }],
  ])("is one that is %s than the limits, and the rest of the list is there (B8)", async (_what, problem, schema) => {
    const bad = { ...good, name: "bad", inputSchema: schema };
    const last = { name: "last", inputSchema };
    const resource = { uri: "a:1", name: "fine" };
    const { client, warnings } = await open(wire, {
      "tools/list": ({ cursor }) =>
        cursor === undefined ? { tools: [good, bad], nextCursor: "2" } : { tools: [bad, last] },
      "resources/list": { resources: [{ uri: "a:2", name: "bad", _meta: schema }, resource] },
      "tools/call": { content: [{ type: "text", text: "deep", _meta: schema }] },
    });
    expect(await client.listTools()).toEqual([good, last]);
    expect(await client.listResources()).toEqual([resource]);
    const why = `is left out: ${problem}; raise it in limits of connect if you trust the server`;
    expect(warnings).toEqual([
      { kind: "tool-left-out", message: `tool "bad" ${why}` },
      { kind: "tool-left-out", message: `tool "bad" ${why}` },
      { kind: "entry-left-out", message: `resource "a:2" ${why}` },
    ]);
    // A result that is no list is whole or not there.
    await expect(client.callTool("good")).rejects.toThrow(problem);
    await expect(client.request("tools/list", {})).rejects.toThrow(problem);
    await client.close();
  });

  it("is not one whose optional members are null, or whose icons cannot be shown (B8, I8)", async () => {
    const sloppy = { title: null, description: null, icons: null, annotations: null, _meta: null };
    const icons = [{ src: "javascript:alert(1)" }, 5];
    const tools = [
      { ...good, ...sloppy, outputSchema: null, execution: null },
      { ...good, name: "icons", icons },
    ];
    const resources = [{ uri: "a:1", name: "r", mimeType: null, size: null, ...sloppy }];
    const prompts = [
      { name: "p", arguments: null, ...sloppy },
      { name: "q", icons: "none" },
    ];
    const { client, warnings } = await open(wire, {
      "tools/list": { tools },
      "resources/list": { resources },
      "prompts/list": { prompts },
    });
    expect(await client.listTools()).toEqual([good, { ...good, name: "icons" }]);
    expect(await client.listResources()).toEqual([{ uri: "a:1", name: "r" }]);
    expect(await client.listPrompts()).toEqual([{ name: "p" }, { name: "q" }]);
    expect(warnings).toEqual([]);
    await client.close();
  });

  it("is not one with a schema that nobody would apply: the tool can be called (B8)", async () => {
    const schemas = [
      { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } },
      { type: "object", properties: { a: { $ref: "https://nowhere.example/schema.json" } } },
      { type: "object", properties: { a: { $ref: "#/$defs/missing" } } },
      nested(25),
    ];
    const tools = schemas.map((schema, index) => ({ name: `t${index}`, inputSchema: schema, outputSchema: schema }));
    const { client, warnings } = await open(wire, {
      "tools/list": { tools },
      "tools/call": { content: [], structuredContent: { a: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" } },
    });
    expect(await client.listTools()).toEqual(tools);
    for (const { name } of tools.slice(0, 3)) {
      expect(await client.callTool(name)).toHaveProperty("structuredContent");
    }
    expect(await codeOf(client.callTool("t3"))).toBe("invalid-response");
    expect(warnings.map(({ kind }) => kind)).toEqual(Array(3).fill("output-unchecked"));
    await client.close();
  });

  it("is left out of single pages, too, and duplicates are found across pages (B8)", async () => {
    const { client, warnings } = await open(wire, {
      "tools/list": ({ cursor }) =>
        cursor === undefined
          ? { tools: [good, null], nextCursor: "2" }
          : { tools: [good, { name: "last", inputSchema }] },
    });
    const pages: unknown[] = [];
    for await (const { tools } of client.pages("tools/list")) pages.push(tools);
    expect(pages).toEqual([[good], [good, { name: "last", inputSchema }]]);
    warnings.length = 0;
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["good", "last"]);
    expect(warnings).toHaveLength(2);
    await client.close();
  });
});

describe.each(["2025-11-25", "2026-07-28", "http"] as const)("params without arguments, %s", (wire) => {
  it("have empty ones, for servers that cannot do without (I8)", async () => {
    const sent: JsonObject[] = [];
    const heard = (result: JsonObject) => (params: JsonObject) => {
      const { _meta: _, ...rest } = params;
      sent.push(rest);
      return result;
    };
    const { client } = await open(wire, {
      "prompts/get": heard({ messages: [] }),
      "tools/call": heard({ content: [] }),
    });
    await client.getPrompt("greet");
    await client.getPrompt("greet", { name: "Ann" });
    await client.callTool("look");
    await client.request("tools/call", { name: "look" });
    expect(sent).toEqual([
      { name: "greet", arguments: {} },
      { name: "greet", arguments: { name: "Ann" } },
      { name: "look", arguments: {} },
      { name: "look", arguments: {} },
    ]);
    await client.close();
  });
});

describe("a host", () => {
  it("has the other tools of the server, and says which is left out (B8)", async () => {
    const warnings: unknown[] = [];
    const target = channelOf({ "tools/list": { tools: [{ name: "bad" }, good] } }, "2025-11-25");
    const host = createHost({ raw: { target } }, { onWarning: (warning) => warnings.push(warning) }, { dial });
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["raw:good"]);
    const message = 'tool "bad" is left out: inputSchema must be an object';
    expect(warnings).toEqual([{ kind: "tool-left-out", message, server: "raw" }]);
    await host.close();
  });
});

/** A schema of so many schemas in each other. */
function nested(levels: number): JsonObject {
  return levels === 0 ? { type: "object" } : { type: "object", properties: { a: nested(levels - 1) } };
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  const error = await call.catch((reason: unknown) => reason);
  return error instanceof McpError ? error.code : "none";
}

type Answers = Readonly<Record<string, JsonObject | ((params: JsonObject) => JsonObject)>>;

/** A client of a server that gives these results, and the warnings of the client. */
async function open(wire: "2025-11-25" | "2026-07-28" | "http", answers: Answers) {
  const warnings: ClientWarning[] = [];
  const onWarning = (warning: ClientWarning): void => void warnings.push(warning);
  const client = await (wire === "http"
    ? connect("http://127.0.0.1:9/mcp", { fetch: fetchOf(answers), onWarning })
    : connect(channelOf(answers, wire), { onWarning }));
  return { client, warnings };
}

const info = { name: "raw", version: "1" };
const capabilities = { tools: {}, resources: {}, prompts: {} };

function resultOf({ method, params }: JsonObject, answers: Answers): JsonObject | undefined {
  if (method === "server/discover") {
    const _meta = { "io.modelcontextprotocol/serverInfo": info };
    return { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities, _meta };
  }
  const answer = answers[String(method)];
  return typeof answer === "function" ? answer(isObject(params) ? params : {}) : answer;
}

function fetchOf(answers: Answers): typeof fetch {
  return async (_url, init) => {
    const request = JSON.parse(String(init?.body)) as JsonObject;
    return Response.json({ jsonrpc: "2.0", id: request.id, result: resultOf(request, answers) ?? {} });
  };
}

function channelOf(answers: Answers, revision: "2025-11-25" | "2026-07-28") {
  const peer = createFakePeer();
  const serve = async (): Promise<void> => {
    for (;;) {
      const request = await peer.next();
      if (request.method === "initialize") {
        peer.reply(request, { protocolVersion: revision, serverInfo: info, capabilities });
      } else if (request.method === "server/discover" && revision !== "2026-07-28") {
        peer.refuse(request, -32601, "unknown method");
      } else if (request.id !== undefined) {
        peer.reply(request, resultOf(request, answers) ?? {});
      }
    }
  };
  serve().catch(() => {});
  return peer.channel;
}
