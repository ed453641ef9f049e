import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import type { JsonObject } from "../../json/json.ts";
import { toText } from "../../json/text.ts";
import type { CreateMessageParams, Question } from "../input.ts";
import type { Method } from "../methods.ts";
import { type Revision, revisions } from "../revision.ts";
import type { Outcome, OutcomeOf } from "../service.ts";

const codec = codecFor("2026-07-28");
const serverInfo = "io.modelcontextprotocol/serverInfo";
const server = { name: "shop", version: "1" };

function encode<M extends Method>(method: M, outcome: OutcomeOf<M>, signer = undefined as typeof server | undefined) {
  const result = codec.encodeOutcome(method, outcome, signer);
  if (!result.ok) throw new Error(result.failure.message);
  return result.value;
}

describe("encodeOutcome", () => {
  it("makes one new object of a tool result, and leaves the old one alone", () => {
    const result = Object.freeze({ content: [], structuredContent: null, _meta: Object.freeze({ own: 1 }) });
    const wire = encode("tools/call", { kind: "complete", result }, server);
    expect(wire).toEqual({
      content: [],
      structuredContent: null,
      resultType: "complete",
      _meta: { own: 1, [serverInfo]: server },
    });
    expect(wire.content).toBe(result.content);
    expect(encode("tools/call", { kind: "complete", result })).toEqual({ ...result, resultType: "complete" });
  });

  it.each([
    [{}, 0, "private"],
    [{ ttlMs: 1500, cacheScope: "public" }, 1500, "public"],
    [{ ttlMs: 1.9 }, 1, "private"],
    [{ ttlMs: -1 }, 0, "private"],
    [{ ttlMs: Number.NaN }, 0, "private"],
    [{ ttlMs: Number.POSITIVE_INFINITY }, Number.MAX_SAFE_INTEGER, "private"],
  ] as const)("gives a list with %j the cache fields %d and %s", (hints, ttlMs, cacheScope) => {
    expect(encode("tools/list", { kind: "complete", result: { tools: [], ...hints } })).toEqual({
      tools: [],
      resultType: "complete",
      ttlMs,
      cacheScope,
    });
  });

  it("puts the server of a discovery where it signs", () => {
    const result = { supportedVersions: ["2026-07-28"], capabilities: { tasks: {}, tools: {} }, serverInfo: server };
    expect(encode("server/discover", { kind: "complete", result })).toEqual({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      _meta: { [serverInfo]: server },
    });
  });

  it("encodes a frozen list once, for one server", () => {
    const result = Object.freeze({ tools: [{ name: "buy", inputSchema: { type: "object" }, execution: {} }] });
    const first = encode("tools/list", { kind: "complete", result }, server);
    expect(encode("tools/list", { kind: "complete", result }, server)).toBe(first);
    expect(toText(first)).toBe(JSON.stringify(first));
    expect(first.tools).toEqual([{ name: "buy", inputSchema: { type: "object" } }]);

    const other = encode("tools/list", { kind: "complete", result }, { name: "other", version: "1" });
    expect(other).not.toBe(first);
  });

  it.each([
    ["tools/list", { tools: [] }],
    ["resources/read", Object.freeze({ contents: [] })],
  ] as const)("encodes %s anew when it may have changed", (method, result) => {
    const outcome = { kind: "complete", result } as Outcome<typeof method>;
    expect(encode(method, outcome)).not.toBe(encode(method, outcome));
  });

  const ask: Question = {
    method: "elicitation/create",
    params: { mode: "url", message: "m", url: "u", elicitationId: "1" },
  };

  it("ends with questions", () => {
    const questions = { a: ask, b: { method: "roots/list", params: {} } } as const;
    expect(encode("tools/call", { kind: "input-required", questions, state: "s" }, server)).toEqual({
      resultType: "input_required",
      inputRequests: {
        a: { method: "elicitation/create", params: { mode: "url", message: "m", url: "u" } },
        b: { method: "roots/list", params: {} },
      },
      requestState: "s",
      _meta: { [serverInfo]: server },
    });
    expect(encode("tools/call", { kind: "input-required", questions: {}, state: "s" })).toEqual({
      resultType: "input_required",
      requestState: "s",
    });
  });

  it.each([
    ["tools/list", { kind: "input-required", questions: { a: ask } }],
    ["tools/call", { kind: "input-required", questions: {} }],
  ] as const)("does not let %s end with %j", (method, outcome) => {
    expect(codec.encodeOutcome(method, outcome)).toMatchObject({ ok: false, failure: { code: "internal" } });
  });

  it("ends with a failure", () => {
    const failure = { code: "internal", message: "no" } as const;
    expect(codec.encodeOutcome("tools/call", { kind: "failed", failure })).toEqual({ ok: false, failure });
  });
});

function ask(revision: Revision, question: Question): JsonObject {
  const encoded = codecFor(revision).encodeQuestion(question);
  if (!encoded.ok) throw new Error(encoded.failure.message);
  return encoded.value;
}

function form(properties: JsonObject): Question {
  const requestedSchema = { $schema: "s", type: "object", properties, required: ["a"], unknown: 1 };
  return { method: "elicitation/create", params: { mode: "form", message: "m", requestedSchema } };
}

function sample(more: Partial<CreateMessageParams>): Question {
  return { method: "sampling/createMessage", params: { messages: [], maxTokens: 1, ...more } };
}

describe("a page to open", () => {
  const page: Question = { method: "elicitation/create", params: { mode: "url", message: "m", url: "u" } };

  it("has an id only where there is a session", () => {
    expect(ask("2026-07-28", page)).toEqual(page);
    const first = ask("2025-11-25", page);
    expect(first).toEqual({ ...page.params, elicitationId: expect.stringMatching(/^[\w-]{36}$/) });
    expect(ask("2025-11-25", page).elicitationId).not.toBe(first.elicitationId);
  });

  it("keeps the id it has", () => {
    const known = { ...page, params: { ...page.params, elicitationId: "e" } } as Question;
    expect(ask("2025-11-25", known).elicitationId).toBe("e");
    expect(ask("2026-07-28", known)).toEqual(page);
  });

  it.each(["2024-11-05", "2025-03-26", "2025-06-18"] as const)("is nothing for %s", (revision) => {
    expect(codecFor(revision).encodeQuestion(page)).toMatchObject({
      failure: { code: "missing-capability", data: { requiredCapabilities: { elicitation: { url: {} } } } },
    });
  });
});

describe("a form", () => {
  const rich = form({
    a: { type: "string", default: "x", minLength: 1 },
    b: { type: "number", default: 1 },
    c: { type: "boolean", default: true },
    d: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g" }], default: "r", title: "Color" },
    e: { type: "string", enum: ["s"], enumNames: ["S"] },
    f: true,
  });

  it.each(["2025-11-25", "2026-07-28"] as const)("is said as it is in %s", (revision) => {
    expect(ask(revision, rich)).toEqual(revision === "2026-07-28" ? rich : rich.params);
  });

  it("is simpler in 2025-06-18", () => {
    expect(ask("2025-06-18", rich)).toEqual({
      message: "m",
      requestedSchema: {
        type: "object",
        required: ["a"],
        unknown: 1,
        properties: {
          a: { type: "string", minLength: 1 },
          b: { type: "number" },
          c: { type: "boolean", default: true },
          d: { type: "string", enum: ["r", "g"], enumNames: ["Red", "g"], title: "Color" },
          e: { type: "string", enum: ["s"], enumNames: ["S"] },
          f: true,
        },
      },
    });
  });

  it("cannot offer several choices in 2025-06-18", () => {
    const question = form({ a: { type: "string" }, many: { type: "array", items: { type: "string", enum: ["x"] } } });
    expect(codecFor("2025-06-18").encodeQuestion(question)).toMatchObject({
      failure: { code: "missing-capability", message: expect.stringContaining("requestedSchema.properties.many") },
    });
  });

  it.each(["2024-11-05", "2025-03-26"] as const)("is put to a client of %s like to one of 2025-06-18", (revision) => {
    const question = form({ a: { type: "string" } });
    expect(codecFor(revision).encodeQuestion(question)).toEqual(codecFor("2025-06-18").encodeQuestion(question));
  });
});

describe("a sample", () => {
  const text = { type: "text", text: "t" } as const;
  const audio = { type: "audio", data: "", mimeType: "audio/wav" } as const;
  const use = { type: "tool_use", id: "1", name: "n", input: {} } as const;
  const result = { type: "tool_result", toolUseId: "1", content: [], structuredContent: 5 } as const;
  const tool = { name: "n", inputSchema: { type: "object" }, outputSchema: { type: "number" } };

  it.each<[string, Partial<CreateMessageParams>]>([
    ["tools", { tools: [] }],
    ["toolChoice", { toolChoice: {} }],
    [
      "messages[1].content",
      {
        messages: [
          { role: "user", content: text },
          { role: "user", content: [text, text] },
        ],
      },
    ],
    ["messages[0].content", { messages: [{ role: "assistant", content: use }] }],
    ["messages[0].content", { messages: [{ role: "user", content: [result] }] }],
    ["messages[0].content", { messages: [{ role: "user", content: [] }] }],
  ])("with %s needs 2025-11-25", (member, more) => {
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18"] as const) {
      expect(codecFor(revision).encodeQuestion(sample(more))).toMatchObject({
        failure: { code: "missing-capability", message: expect.stringContaining(`params.${member} `) },
      });
    }
    for (const revision of ["2025-11-25", "2026-07-28"] as const) {
      expect(codecFor(revision).encodeQuestion(sample(more)).ok).toBe(true);
    }
  });

  it("takes the only block out of its array before 2025-11-25", () => {
    const question = sample({ messages: [{ role: "user", content: [text], _meta: { a: 1 } }] });
    expect(ask("2025-06-18", question).messages).toEqual([{ role: "user", content: text }]);
    expect(ask("2025-11-25", question).messages).toEqual([{ role: "user", content: [text], _meta: { a: 1 } }]);
  });

  it("can be about audio since 2025-03-26", () => {
    const question = sample({ messages: [{ role: "user", content: audio }] });
    expect(codecFor("2024-11-05").encodeQuestion(question)).toMatchObject({ failure: { code: "missing-capability" } });
    expect(ask("2025-03-26", question).messages).toEqual([{ role: "user", content: audio }]);
  });

  it("has tools and their results in the words of the revision", () => {
    const content = [result];
    const question = sample({ tools: [tool], messages: [{ role: "user", content }] });
    expect(ask("2025-11-25", question)).toMatchObject({
      tools: [{ name: "n", inputSchema: { type: "object" } }],
      messages: [
        { role: "user", content: [{ type: "tool_result", toolUseId: "1", content: [{ type: "text", text: "5" }] }] },
      ],
    });
    expect(ask("2026-07-28", question)).toEqual(question);
  });
});

describe.each(revisions)("a passed-on question in %s", (revision) => {
  it("leaves behind what belonged to its request", () => {
    const params = { task: {}, _meta: { progressToken: 1, "io.modelcontextprotocol/related-task": {}, own: 1 } };
    const said = ask(revision, { method: "roots/list", params });
    expect(revision === "2026-07-28" ? said.params : said).toEqual({ _meta: { own: 1 } });
  });
});

describe("an answer", () => {
  it.each(revisions)("of %s has content only when the user accepts", (revision) => {
    const { encodeAnswer } = codecFor(revision);
    const content = { a: 1 };
    expect(encodeAnswer("elicitation/create", { action: "accept", content })).toEqual({ action: "accept", content });
    expect(encodeAnswer("elicitation/create", { action: "decline", content, own: 1 })).toEqual({
      action: "decline",
      own: 1,
    });
  });

  it.each(revisions)("of %s does not say how a call ended", (revision) => {
    expect(codecFor(revision).encodeAnswer("roots/list", { resultType: "complete", roots: [] })).toEqual({ roots: [] });
  });

  it.each([
    ["2025-03-26", { uri: "file:///a" }],
    ["2025-06-18", { uri: "file:///a", _meta: { a: 1 } }],
  ] as const)("of %s has the root %j", (revision, root) => {
    const roots = [{ uri: "file:///a", _meta: { a: 1 } }];
    expect(codecFor(revision).encodeAnswer("roots/list", { roots })).toEqual({ roots: [root] });
  });

  const image = { type: "image", data: "", mimeType: "image/png" };
  const audio = { type: "audio", data: "", mimeType: "audio/wav" };

  it.each([
    [[{ type: "text", text: "a" }], { type: "text", text: "a" }],
    [[image, { type: "text", text: "a" }, { type: "text", text: "b" }], { type: "text", text: "a\nb" }],
    [[image, audio], image],
    [[{ type: "tool_use", id: "1", name: "n", input: {} }], { type: "text", text: "" }],
    [[], { type: "text", text: "" }],
  ])("%j fits into one block before 2025-11-25", (content, block) => {
    const answer = { role: "assistant", model: "m", content };
    expect(codecFor("2025-06-18").encodeAnswer("sampling/createMessage", answer)).toEqual({
      ...answer,
      content: block,
    });
    expect(codecFor("2025-11-25").encodeAnswer("sampling/createMessage", answer)).toBe(answer);
  });

  it("of audio is a remark in 2024-11-05", () => {
    const answer = { role: "assistant", model: "m", content: audio };
    expect(codecFor("2024-11-05").encodeAnswer("sampling/createMessage", answer).content).toMatchObject({
      type: "text",
      text: expect.stringContaining("audio/wav"),
    });
  });
});
