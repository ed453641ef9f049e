import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { failureOf, faultLog, peer, resultOf, send } from "../../test/support/direct.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { CreateMessageParams, Question, QuestionAnswer } from "../protocol/input.ts";
import type { ClientCapabilities } from "../protocol/peer.ts";
import type { Ask } from "../protocol/service.ts";
import type { AnySchema } from "../schema/infer.ts";
import { text } from "./content.ts";
import type { Context } from "./context.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };
const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const sampling: CreateMessageParams = { messages: [{ role: "user", content: text("hi") }], maxTokens: 10 };
const said: JsonObject = { role: "assistant", content: { type: "text", text: "ho" }, model: "m" };

type Work = (context: Context) => unknown;

/** Runs `work` in a tool of a client that answers while the call waits. */
async function live(work: Work, answer: QuestionAnswer | Ask, capabilities?: ClientCapabilities) {
  const asked: Question[] = [];
  const { faults, onError } = faultLog();
  const ask: Ask = async (question) => {
    asked.push(question);
    return typeof answer === "function" ? answer(question) : answer;
  };
  const server = createServer({ ...info, onError, tools: { it: tool({ run: (_, context) => work(context) }) } });
  const outcome = await send(server, "tools/call", { name: "it" }, { ask, peer: peer(capabilities) });
  return { asked, faults, outcome };
}

const accept = (content?: JsonObject): QuestionAnswer => ({ action: "accept", ...(content && { content }) });

describe("ask", () => {
  it("sends the form and gives the checked content", async () => {
    const { asked, outcome } = await live(({ ask }) => ask("Sure?", form), accept({ ok: true }));
    expect(asked).toStrictEqual([
      { method: "elicitation/create", params: { message: "Sure?", requestedSchema: form } },
    ]);
    expect(resultOf(outcome).structuredContent).toEqual({ ok: true });
  });

  it.each<[string, AnySchema]>([
    ["zod", z.object({ n: z.number().default(7) })],
    ["valibot", toStandardJsonSchema(v.object({ n: v.optional(v.number(), 7) }))],
  ])("gives what a schema of %s makes of the content", async (_, schema) => {
    const { asked, outcome } = await live(({ ask }) => ask("How many?", schema), accept({}));
    expect(asked).toMatchObject([{ params: { requestedSchema: { type: "object", properties: { n: {} } } } }]);
    expect(resultOf(outcome).structuredContent).toEqual({ n: 7 });
  });

  it("sends only what the protocol knows of a form", async () => {
    const schema = {
      ...form,
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "T",
      additionalProperties: false,
    };
    const { asked } = await live(({ ask }) => ask("Sure?", schema), accept({ ok: true }));
    expect(asked[0]?.params).toStrictEqual({ message: "Sure?", requestedSchema: form });
  });

  it.each<[string, Work]>([
    ["ask", ({ ask }) => ask("Sure?")],
    ["ask with an object of anything", ({ ask }) => ask("Sure?", { type: "object" })],
    ["elicit", ({ elicit }) => elicit({ message: "Sure?" } as never)],
  ])("C86: %s without fields sends a form without fields", async (_, work) => {
    const { asked, outcome } = await live(work, accept());
    expect(asked).toStrictEqual([
      {
        method: "elicitation/create",
        params: { message: "Sure?", requestedSchema: { type: "object", properties: {} } },
      },
    ]);
    expect(outcome.kind).toBe("complete");
  });

  it.each([
    ["decline", "the user declined: Sure?"],
    ["cancel", "the user cancelled: Sure?"],
  ] as const)("a user who says %s is an error that the model reads", async (action, message) => {
    const errors: unknown[] = [];
    const work: Work = ({ ask }) =>
      ask("Sure?", form).catch((error: unknown) => {
        errors.push(error);
        throw error;
      });
    const { faults, outcome } = await live(work, { action, content: { ok: true } });
    expect(errors).toMatchObject([{ code: "declined", message, data: { action } }]);
    expect(resultOf(outcome)).toEqual({
      content: [text(message)],
      isError: true,
      _meta: { "plugbay/error": { action } },
    });
    expect(faults).toEqual([]);
  });

  it("works in prompts and resources", async () => {
    const server = createServer({
      ...info,
      prompts: { p: prompt({ get: async (_, { ask }) => `ok: ${(await ask("Sure?", form)).ok}` }) },
      resources: [resource("a://b", { read: async (_, { ask }) => `ok: ${(await ask("Sure?", form)).ok}` })],
    });
    const ask = async () => accept({ ok: true });
    expect(resultOf(await send(server, "prompts/get", { name: "p" }, { ask }))).toMatchObject({
      messages: [{ content: { text: "ok: true" } }],
    });
    expect(resultOf(await send(server, "resources/read", { uri: "a://b" }, { ask }))).toMatchObject({
      contents: [{ text: "ok: true" }],
    });
    const decline = async () => ({ action: "decline" });
    expect(failureOf(await send(server, "prompts/get", { name: "p" }, { ask: decline }))).toEqual({
      code: "internal",
      message: "the user declined: Sure?",
      data: { action: "decline" },
    });
  });

  it("an error of the client is what the handler gets", async () => {
    const rejected = new McpError("rejected", "the user is away");
    const { faults, outcome } = await live(
      ({ ask }) => ask("Sure?", form),
      () => Promise.reject(rejected),
    );
    expect(failureOf(outcome)).toEqual({ code: "rejected", message: "the user is away" });
    expect(faults).toEqual([]);
  });
});

describe("answers", () => {
  it.each<[string, Work, unknown, string]>([
    ["C82: content that does not match", ({ ask }) => ask("Sure?", form), accept({ ok: "yes" }), "/ok"],
    ["C82: content that is missing", ({ ask }) => ask("Sure?", form), accept(), "ok"],
    [
      "C82: content that is no object",
      ({ ask }) => ask("Sure?", form),
      { action: "accept", content: [1] },
      '"content"',
    ],
    ["no known action", ({ ask }) => ask("Sure?", form), { action: "maybe" }, '"action"'],
    ["no object", ({ ask }) => ask("Sure?", form), "yes", "must be an object"],
    ["no object for a page", ({ askUrl }) => askUrl("Open", "https://x"), null, "must be an object"],
    ["C82: content of elicit", ({ elicit }) => elicit({ message: "?", requestedSchema: form }), accept({}), "ok"],
    ["no object for sample", ({ sample }) => sample(sampling), [], "must be an object"],
    ["sample without content", ({ sample }) => sample(sampling), { ...said, content: undefined }, '"content"'],
    ["sample without model", ({ sample }) => sample(sampling), { ...said, model: 1 }, '"model"'],
    ["sample without role", ({ sample }) => sample(sampling), { ...said, role: undefined }, '"role"'],
    ["no roots", ({ roots }) => roots(), {}, '"roots" must be an array'],
    ["roots of nothing", ({ roots }) => roots(), { roots: [{ name: "x" }] }, "uri"],
  ])("%s: refused", async (_, work, answer, problem) => {
    const { outcome } = await live(work, answer as QuestionAnswer);
    const failure = failureOf(outcome);
    expect(failure.code).toBe("invalid-params");
    expect(failure.message).toMatch(/^the answer to (Sure\?|Open|\?|sample|roots) is malformed: /);
    expect(failure.message).toContain(problem);
  });

  it("C82: that do not match tell all issues", async () => {
    const { outcome } = await live(({ ask }) => ask("Sure?", form, { key: "sure" }), accept({ ok: 1 }));
    expect(failureOf(outcome)).toMatchObject({
      message: expect.stringContaining("the answer to sure is malformed: /ok"),
      data: { key: "sure", issues: [{ path: "/ok", keyword: "type", message: expect.any(String) }] },
    });
  });
});

describe("elicit", () => {
  const params = { message: "Sure?", requestedSchema: form };

  it.each([
    ["accept", accept({ ok: true }), { action: "accept", content: { ok: true } }],
    ["decline", { action: "decline", content: { ok: true } }, { action: "decline" }],
    ["cancel", { action: "cancel", content: { ok: true } }, { action: "cancel" }],
  ] as const)("C82: gives the bare answer, with content only for accept: %s", async (_, answer, expected) => {
    const seen: unknown[] = [];
    await live(async ({ elicit }) => void seen.push(await elicit(params)), answer);
    expect(seen).toStrictEqual([expected]);
  });

  it("passes on a page to open", async () => {
    const page = { mode: "url", message: "Open", url: "https://x/y" } as const;
    const { asked, outcome } = await live(({ elicit }) => elicit(page), accept());
    expect(asked).toEqual([{ method: "elicitation/create", params: page }]);
    expect(resultOf(outcome).structuredContent).toEqual({ action: "accept" });
  });
});

describe("askUrl", () => {
  it("resolves on consent", async () => {
    const seen: unknown[] = [];
    const { asked } = await live(async ({ askUrl }) => void seen.push(await askUrl("Open", "https://x/y")), accept());
    expect(asked).toEqual([
      { method: "elicitation/create", params: { mode: "url", message: "Open", url: "https://x/y" } },
    ]);
    expect(seen).toEqual([undefined]);
  });

  it("throws when the user says no", async () => {
    const { outcome } = await live(({ askUrl }) => askUrl("Open", "https://x/y"), { action: "decline" });
    expect(resultOf(outcome)).toMatchObject({ isError: true, content: [text("the user declined: Open")] });
  });
});

it("sample gives what the model said", async () => {
  const { asked, outcome } = await live(({ sample }) => sample(sampling), { ...said });
  expect(asked).toEqual([{ method: "sampling/createMessage", params: sampling }]);
  expect(resultOf(outcome).structuredContent).toEqual(said);
});

it("sample refuses an answer with a role that the protocol does not know (F132)", async () => {
  const { outcome } = await live(({ sample }) => sample(sampling), { ...said, role: "system" });
  expect(failureOf(outcome)).toMatchObject({
    code: "invalid-params",
    message: 'the answer to sample is malformed: "role" must be user or assistant',
  });
});

it("sample does not ask with a role that the protocol does not know (F132)", async () => {
  const messages = [...sampling.messages, { role: "system", content: text("obey") }] as typeof sampling.messages;
  const { asked, faults } = await live(({ sample }) => sample({ ...sampling, messages }), { ...said });
  expect(asked).toEqual([]);
  const message = 'messages[1].role must be user or assistant, not "system"; instructions go in systemPrompt';
  expect(faults).toMatchObject([[{ code: "invalid-definition", message }, {}]]);
});

it("roots gives the list", async () => {
  const { asked, outcome } = await live(({ roots }) => roots(), { roots: [{ uri: "file:///a", name: "a" }] });
  expect(asked).toEqual([{ method: "roots/list", params: {} }]);
  expect(resultOf(outcome).structuredContent).toEqual([{ uri: "file:///a", name: "a" }]);
});

describe("a client that cannot answer is not asked", () => {
  const askForm: Work = ({ ask }) => ask("Sure?", form);
  const page: Work = ({ askUrl }) => askUrl("Open", "https://x");
  const tools = [{ name: "t", inputSchema: { type: "object" } }];

  it.each<[string, Work, ClientCapabilities, string]>([
    ["C49: ask", askForm, {}, "elicitation"],
    ["C49: a form where only pages can be shown", askForm, { elicitation: { url: {} } }, "elicitation.form"],
    ["C49: sample", ({ sample }) => sample(sampling), { roots: {} }, "sampling"],
    ["C49: roots", ({ roots }) => roots(), { sampling: {} }, "roots"],
    ["C50: a page where nothing is declared", page, {}, "elicitation.url"],
    ["C50: a page where flat elicitation means forms", page, { elicitation: {} }, "elicitation.url"],
    ["C50: a page where only forms are declared", page, { elicitation: { form: {} } }, "elicitation.url"],
    ["C57: tools", ({ sample }) => sample({ ...sampling, tools }), { sampling: {} }, "sampling.tools"],
    [
      "C57: toolChoice",
      ({ sample }) => sample({ ...sampling, toolChoice: { mode: "none" } }),
      { sampling: { context: {} } },
      "sampling.tools",
    ],
  ])("%s", async (_, work, capabilities, missing) => {
    const { asked, faults, outcome } = await live(work, said, capabilities);
    expect(asked).toEqual([]);
    const requiredCapabilities = missing.split(".").reduceRight((inner, name) => ({ [name]: inner }), {});
    expect(failureOf(outcome)).toStrictEqual({
      code: "missing-capability",
      message: `the client cannot answer ${methodOf(missing)}: it did not declare ${missing}`,
      data: { requiredCapabilities },
    });
    expect(faults).toEqual([]);
  });

  const methodOf = (capability: string): string => {
    if (capability === "roots") return "roots/list";
    return capability.startsWith("sampling") ? "sampling/createMessage" : "elicitation/create";
  };

  it.each<[string, Work, ClientCapabilities, QuestionAnswer]>([
    ["C50: forms with flat elicitation", askForm, { elicitation: {} }, accept({ ok: true })],
    ["C50: forms with the flag", askForm, { elicitation: { form: {} } }, accept({ ok: true })],
    ["C50: pages with the flag", page, { elicitation: { url: {} } }, accept()],
    [
      "C57: tools with the flag",
      ({ sample }) => sample({ ...sampling, tools }),
      { sampling: { tools: {} } },
      { ...said },
    ],
    ["sample without tools", ({ sample }) => sample(sampling), { sampling: {} }, { ...said }],
  ])("but one that can is: %s", async (_, work, capabilities, answer) => {
    const { asked, outcome } = await live(work, answer, capabilities);
    expect(asked).toHaveLength(1);
    expect(outcome.kind).toBe("complete");
  });
});

describe("what cannot be asked", () => {
  const address = z.object({ street: z.string() });

  it.each<[string, AnySchema]>([
    ["C83: a nested object", z.object({ address })],
    ["C83: a list of objects", z.object({ all: z.array(address) })],
    ["C83: a nested object in plain JSON Schema", { type: "object", properties: { a: { type: "object" } } }],
    [
      "a pattern that could take for ever",
      { type: "object", properties: { a: { type: "string", pattern: "(a+)+$" } } },
    ],
    ["no object", { type: "string" }],
    ["no schema", { type: 7 }],
    ["a schema without type", { properties: {} }],
  ])("%s: refused before anybody is asked", async (_, schema) => {
    const { asked, faults } = await live(({ ask }) => ask("Where?", schema), accept());
    expect(asked).toEqual([]);
    expect(faults).toMatchObject([
      [{ code: "invalid-definition", message: expect.stringMatching(/^cannot ask with this schema: #/) }, {}],
    ]);
  });

  it("two questions with one key", async () => {
    const work: Work = ({ ask }) => Promise.all([ask("A?", form, { key: "k" }), ask("B?", form, { key: "k" })]);
    const { asked, faults } = await live(work, accept({ ok: true }));
    expect(asked).toHaveLength(1);
    expect(faults).toMatchObject([[{ code: "invalid-definition", message: "the question key k is used twice" }, {}]]);
  });

  it("anything after the end", async () => {
    const contexts: Context[] = [];
    const { asked } = await live((context) => void contexts.push(context), accept({ ok: true }));
    await expect(contexts[0]?.ask("Late?", form)).rejects.toMatchObject({ code: "cancelled" });
    expect(asked).toEqual([]);
  });
});

it("a question nobody awaits does not end the process when it fails", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    const work: Work = ({ ask, askUrl, elicit, sample, roots }) => {
      void ask("a", form);
      void askUrl("a", "https://x");
      void elicit({ message: "a", requestedSchema: form });
      void sample(sampling);
      void roots();
      return "done";
    };
    const { outcome } = await live(work, accept(), {});
    await new Promise((resolve) => setImmediate(resolve));
    expect(outcome.kind).toBe("complete");
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});
