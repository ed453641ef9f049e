import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import type { Json, JsonObject } from "../../json/json.ts";
import type { Content } from "../../protocol/content.ts";
import type { Method, Result } from "../../protocol/methods.ts";
import { isLegacy, isSince, type Revision, revisions } from "../../protocol/revision.ts";
import { legacyClient } from "./client-codec.ts";
import { legacyServer } from "./server-codec.ts";

function said<M extends Method>(revision: Revision, method: M, result: Result<M>): JsonObject {
  const encoded = codecFor(revision).encodeOutcome(method, { kind: "complete", result });
  if (!encoded.ok) throw new Error(encoded.failure.message);
  return JSON.parse(JSON.stringify(encoded.value));
}

const icons = [{ src: "i" }];
const annotations = { priority: 1, lastModified: "l" };
const _meta = { own: 1 };
const inputSchema = { type: "object" };
const outputSchema = { type: "object" };
const described = { name: "n", title: "T", icons, annotations, _meta };
const tool = { name: "n", title: "T", icons, inputSchema, outputSchema, annotations: { title: "A" }, _meta };
const prompt = { name: "n", title: "T", icons, arguments: [{ name: "a", title: "TA" }], _meta };

/** What is there to say, where, and since when it can be said. */
const matrix: readonly (readonly [string, Revision, (revision: Revision) => unknown])[] = [
  ["title of a tool", "2025-06-18", (r) => inTool(r).title],
  ["icons of a tool", "2025-11-25", (r) => inTool(r).icons],
  ["annotations of a tool", "2025-03-26", (r) => inTool(r).annotations],
  ["output of a tool", "2025-06-18", (r) => inTool(r).outputSchema],
  ["meta of a tool", "2025-06-18", (r) => inTool(r)._meta],
  ["input of a tool", "2024-11-05", (r) => inTool(r).inputSchema],
  ["any output of a tool", "2026-07-28", (r) => inTool(r, { outputSchema: { type: "array" } }).outputSchema],
  ["output of a tool without a root type", "2026-07-28", (r) => inTool(r, { outputSchema: {} }).outputSchema],
  ["unknown members of a tool", "2024-11-05", (r) => inTool(r, { own: 1 }).own],
  ["title of a resource", "2025-06-18", (r) => inResource(r).title],
  ["icons of a resource", "2025-11-25", (r) => inResource(r).icons],
  ["meta of a resource", "2025-06-18", (r) => inResource(r)._meta],
  ["priority of a resource", "2024-11-05", (r) => at(inResource(r), "annotations").priority],
  ["date of a resource", "2025-06-18", (r) => at(inResource(r), "annotations").lastModified],
  ["title of a template", "2025-06-18", (r) => inTemplate(r).title],
  ["icons of a template", "2025-11-25", (r) => inTemplate(r).icons],
  ["date of a template", "2025-06-18", (r) => at(inTemplate(r), "annotations").lastModified],
  ["meta of contents", "2025-06-18", (r) => first(said(r, "resources/read", read), "contents")._meta],
  ["title of a prompt", "2025-06-18", (r) => inPrompt(r).title],
  ["icons of a prompt", "2025-11-25", (r) => inPrompt(r).icons],
  ["meta of a prompt", "2025-06-18", (r) => inPrompt(r)._meta],
  ["title of an argument", "2025-06-18", (r) => first(inPrompt(r), "arguments").title],
  ["meta of a block", "2025-06-18", (r) => inBlock(r, { type: "text", text: "t", _meta })._meta],
  [
    "date of a block",
    "2025-06-18",
    (r) => at(inBlock(r, { type: "text", text: "t", annotations }), "annotations").lastModified,
  ],
  ["meta in a block", "2025-06-18", (r) => at(inBlock(r, { type: "resource", resource: contents }), "resource")._meta],
  ["icons of a link", "2025-11-25", (r) => inBlock(r, { type: "resource_link", uri: "u", ...described }).icons],
  ["structured content", "2025-06-18", (r) => said(r, "tools/call", result({ a: 1 })).structuredContent],
  ["any structured content", "2026-07-28", (r) => said(r, "tools/call", result([1])).structuredContent],
  ["structured null", "2026-07-28", (r) => said(r, "tools/call", result(null)).structuredContent],
  ["meta of a result", "2024-11-05", (r) => said(r, "tools/call", { content: [], _meta })._meta],
  ["how a call ended", "2026-07-28", (r) => said(r, "tools/call", { content: [] }).resultType],
  ["how long to keep it", "2026-07-28", (r) => said(r, "tools/list", { tools: [], ttlMs: 1 }).ttlMs],
];

const contents = { uri: "u", text: "t", _meta };
const read = { contents: [contents] };

function first(value: JsonObject, member: string) {
  return (value[member] as [JsonObject])[0];
}

function at(value: JsonObject, member: string) {
  return value[member] as JsonObject;
}

function inTool(revision: Revision, more: JsonObject = {}) {
  return first(said(revision, "tools/list", { tools: [{ ...tool, ...more }] }), "tools");
}

function inResource(revision: Revision) {
  return first(said(revision, "resources/list", { resources: [{ uri: "u", ...described }] }), "resources");
}

function inTemplate(revision: Revision) {
  const resourceTemplates = [{ uriTemplate: "u", ...described }];
  return first(said(revision, "resources/templates/list", { resourceTemplates }), "resourceTemplates");
}

function inPrompt(revision: Revision) {
  return first(said(revision, "prompts/list", { prompts: [prompt] }), "prompts");
}

function inBlock(revision: Revision, block: Content) {
  const inResult = first(said(revision, "tools/call", { content: [block] }), "content");
  const inPrompt = first(said(revision, "prompts/get", { messages: [{ role: "user", content: block }] }), "messages");
  expect(inPrompt.content).toEqual(inResult);
  return inResult;
}

function result(structuredContent: Json): Result<"tools/call"> {
  return { content: [{ type: "text", text: "t" }], structuredContent };
}

describe("what can be said", () => {
  it.each(matrix)("%s since %s", (_, since, find) => {
    const known = revisions.map((revision) => find(revision) !== undefined);
    expect(known).toEqual(revisions.map((revision) => isSince(revision, since)));
  });
});

describe("what is said in other words", () => {
  const link: Content = { type: "resource_link", uri: "stock://a", name: "a", title: "A", annotations };
  const audio: Content = { type: "audio", data: "aGk=", mimeType: "audio/wav", annotations };

  it.each(revisions)("a link in %s", (revision) => {
    const block = inBlock(revision, link);
    if (isSince(revision, "2025-06-18")) expect(block).toEqual(link);
    else expect(block).toEqual({ type: "text", text: "a: stock://a", annotations: { priority: 1 } });
  });

  it.each(revisions)("audio in %s", (revision) => {
    const block = inBlock(revision, audio);
    if (isSince(revision, "2025-03-26")) expect(block).toMatchObject({ type: "audio", data: "aGk=" });
    else expect(block).toMatchObject({ type: "text", annotations: { priority: 1 } });
  });

  it.each([
    [{ a: 1 }, "2025-06-18", '{"a":1}'],
    [[1, null], "2026-07-28", "[1,null]"],
    [null, "2026-07-28", "null"],
    [false, "2026-07-28", "false"],
  ] as const)("%j as text before %s, when it is all there is", (structuredContent, since, text) => {
    for (const revision of revisions) {
      const wire = said(revision, "tools/call", { content: [], structuredContent });
      expect(wire.content).toEqual(isSince(revision, since) ? [] : [{ type: "text", text }]);
    }
  });
});

it.each(revisions)("task support of a tool is left out of %s unless it is 2025-11-25", (revision) => {
  const { execution } = inTool(revision, { execution: { taskSupport: "optional" } });
  expect(execution !== undefined).toBe(revision === "2025-11-25");
});

it.each(revisions.filter(isLegacy))("%s has one codec at each end", (revision) => {
  expect(legacyServer(revision)).toBe(legacyServer(revision));
  expect(legacyClient(revision)).toBe(legacyClient(revision));
  expect(codecFor(revision).revision).toBe(revision);
});
