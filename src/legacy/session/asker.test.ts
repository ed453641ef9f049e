import { describe, expect, it, vi } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import { gate, notification, request, serveLegacy } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Revision } from "../../protocol/revision.ts";
import type { Service } from "../../protocol/service.ts";
import { type Context, createServer, tool } from "../../server/index.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { createAsker } from "./live-call.ts";

const ok = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const yes = { action: "accept", content: { ok: true } };
const everything: JsonObject = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** A server with one tool that does what the test says, and keeps what came of it. */
function asking(run: (ctx: Context) => unknown, options: { readonly askTimeoutMs?: number } = {}) {
  const caught: McpError[] = [];
  const server = createServer({
    name: "asking",
    version: "1",
    ...options,
    onError: () => {},
    tools: {
      ask: tool({
        run: async (_, ctx) => {
          try {
            return await run(ctx);
          } catch (error) {
            if (error instanceof McpError) caught.push(error);
            throw error;
          }
        },
      }),
      quick: tool({ run: () => "quick" }),
    },
  });
  return { server, caught };
}

const confirm = async (ctx: Context) => ((await ctx.ask("Sure?", ok)).ok ? "bought" : "left");
const callAsk = { name: "ask" };

describe("questions", () => {
  it("reach the client while its call waits, and their answer reaches the handler", async () => {
    const { client } = await serveLegacy(asking(confirm).server, { capabilities: everything });
    client.say(request(5, "tools/call", callAsk));
    const question = await client.expect("elicitation/create");
    expect(question.params).toEqual({ message: "Sure?", requestedSchema: ok });
    client.reply(question, yes);
    expect(await client.next()).toMatchObject({ id: 5, result: { content: [{ text: "bought" }] } });
  });

  it("C78: have ids of their own, also when they look like those of the client", async () => {
    const { client } = await serveLegacy(asking(confirm).server, { capabilities: everything });
    client.say(request(1, "tools/call", callAsk), request(2, "tools/call", callAsk));
    const questions = [await client.next(), await client.next()];
    expect(questions.map(({ id }) => id)).toEqual([1, 2]);
    const [first = {}, second = {}] = questions;
    client.reply(second, { action: "accept", content: { ok: false } });
    expect(await client.next()).toMatchObject({ id: 2, result: { content: [{ text: "left" }] } });
    client.reply(first, yes);
    expect(await client.next()).toMatchObject({ id: 1, result: { content: [{ text: "bought" }] } });
  });

  it.each<[method: string, ask: (ctx: Context) => Promise<unknown>, answer: JsonObject, expected: unknown]>([
    ["roots/list", (ctx) => ctx.roots(), { roots: [{ uri: "file:///r" }] }, [{ uri: "file:///r" }]],
    [
      "sampling/createMessage",
      (ctx) => ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 9 }),
      { role: "assistant", model: "m", content: { type: "text", text: "ho" } },
      { role: "assistant", model: "m", content: { type: "text", text: "ho" } },
    ],
  ])("of the kind %s work the same", async (method, ask, answer, expected) => {
    const seen = vi.fn();
    const { server } = asking(async (ctx) => seen(await ask(ctx)));
    const { client } = await serveLegacy(server, { capabilities: everything });
    client.say(request(1, "tools/call", callAsk));
    client.reply(await client.expect(method), answer);
    expect(await client.next()).toMatchObject({ id: 1, result: {} });
    expect(seen).toHaveBeenCalledExactlyOnceWith(expected);
  });

  it("give a page to open an id on 2025-11-25", async () => {
    const { server } = asking(async (ctx) => {
      await ctx.askUrl("Log in", "https://login.example/");
      return "thanks";
    });
    const { client } = await serveLegacy(server, { capabilities: everything });
    client.say(request(1, "tools/call", callAsk));
    const question = await client.expect("elicitation/create");
    expect(question.params).toEqual({
      mode: "url",
      message: "Log in",
      url: "https://login.example/",
      elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    client.reply(question, { action: "accept" });
    expect(await client.next()).toMatchObject({ id: 1, result: { content: [{ text: "thanks" }] } });
  });

  it.each<[what: string, revision: Revision, capabilities: JsonObject, ask: (ctx: Context) => Promise<unknown>]>([
    ["elicitation that was not declared", "2025-11-25", { roots: {} }, confirm],
    ["pages where only forms were declared", "2025-11-25", { elicitation: {} }, (ctx) => ctx.askUrl("m", "https://x/")],
    ["forms where only pages were declared", "2025-11-25", { elicitation: { url: {} } }, confirm],
    ["sampling that was not declared", "2025-11-25", {}, (ctx) => ctx.sample({ messages: [], maxTokens: 1 })],
    ["roots that were not declared", "2025-11-25", {}, (ctx) => ctx.roots()],
    [
      "C57: tools that were not declared",
      "2025-11-25",
      { sampling: {} },
      (ctx) => ctx.sample({ messages: [], maxTokens: 1, tools: [] }),
    ],
    ["elicitation that was not declared, in any revision", "2025-03-26", { sampling: {} }, confirm],
    ["pages, which 2025-06-18 does not have", "2025-06-18", everything, (ctx) => ctx.askUrl("m", "https://x/")],
  ])("C49: fail without a word to the client: %s", async (_what, revision, capabilities, ask) => {
    const { server, caught } = asking(ask);
    const { client } = await serveLegacy(server, { revision, capabilities });
    const before = client.heard.length;
    expect(await client.request("tools/call", callAsk)).toMatchObject({ error: { code: -32602 } });
    expect(client.heard).toHaveLength(before + 1);
    expect(caught).toMatchObject([{ code: "missing-capability" }]);
  });

  it.each([
    [-32601, "method-not-found"],
    [-32602, "invalid-params"],
    [-1, "rejected"],
    [42, "application"],
  ])("that the client refuses with %i fail in the handler as %s", async (number, code) => {
    const { server, caught } = asking(confirm);
    const { client } = await serveLegacy(server, { capabilities: everything });
    client.say(request(1, "tools/call", callAsk));
    client.refuse(await client.expect("elicitation/create"), number, "no", { why: "because" });
    expect(await client.next()).toMatchObject({ id: 1, error: { code: number, message: "no" } });
    expect(caught).toMatchObject([{ code, data: { why: "because" } }]);
  });

  it("that the user declines are no failure of the protocol", async () => {
    const { server, caught } = asking(confirm);
    const { client } = await serveLegacy(server, { capabilities: everything });
    client.say(request(1, "tools/call", callAsk));
    client.reply(await client.expect("elicitation/create"), { action: "decline" });
    expect(await client.next()).toMatchObject({ id: 1, result: { isError: true } });
    expect(caught).toMatchObject([{ code: "declined" }]);
  });
});

describe("questions that get no answer", () => {
  it("C79: fail when the call is cancelled, and are taken back", async () => {
    const { server, caught } = asking(confirm);
    const { client, settled } = await serveLegacy(server, { capabilities: everything });
    client.say(request(5, "tools/call", callAsk));
    const { id } = await client.expect("elicitation/create");
    client.notify("notifications/cancelled", { requestId: 5 });
    expect(await client.next()).toEqual(notification("notifications/cancelled", { requestId: id ?? null }));
    await settled();
    expect(caught).toMatchObject([{ code: "cancelled" }]);
    expect(client.heard.filter((message) => message.id === 5)).toEqual([]);
  });

  it("C79: fail when the connection is closed", async () => {
    const { server, caught } = asking(confirm);
    const { client, serving, settled } = await serveLegacy(server, { capabilities: everything });
    client.say(request(5, "tools/call", callAsk));
    await client.expect("elicitation/create");
    await serving.close();
    await settled();
    expect(caught).toMatchObject([{ code: "connection-closed" }]);
  });

  it("C79: fail when the client hangs up, and the call is still answered", async () => {
    const { server, caught } = asking(async (ctx) => {
      await ctx.ask("Sure?", ok).catch(() => {});
      return "went on without";
    });
    const { client, serving } = await serveLegacy(server, { capabilities: everything });
    client.say(request(5, "tools/call", callAsk));
    await client.expect("elicitation/create");
    client.end();
    expect(await client.next()).toMatchObject({ id: 5, result: { content: [{ text: "went on without" }] } });
    await serving.ended;
    expect(caught).toEqual([]);
  });

  it.each<[options: { askTimeoutMs?: number }, ms: number]>([
    [{}, 600_000],
    [{ askTimeoutMs: 2_000 }, 2_000],
  ])("C79: fail after their time, with %j after %i ms", async (options, ms) => {
    const { server, caught } = asking(confirm, options);
    const { client, clock } = await serveLegacy(server, { capabilities: everything });
    client.say(request(5, "tools/call", callAsk));
    const { id } = await client.expect("elicitation/create");
    await clock.advanceAsync(ms - 1);
    expect(caught).toEqual([]);
    await clock.advanceAsync(1);
    expect(caught).toMatchObject([{ code: "timeout" }]);
    expect(await client.next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: id } });
    expect(await client.next()).toMatchObject({ id: 5, error: { code: -32603 } });
  });

  it("are taken back when the handler does not wait for them", async () => {
    const { server } = asking(async (ctx) => {
      ctx.ask("Sure?", ok).catch(() => {});
      return "not waiting";
    });
    const { client } = await serveLegacy(server, { capabilities: everything });
    client.say(request(5, "tools/call", callAsk));
    const { id } = await client.expect("elicitation/create");
    expect(await client.next()).toMatchObject({ id: 5, result: {} });
    expect(await client.next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: id } });
  });

  it("are not even asked once the call is over", async () => {
    const after = gate();
    const late = vi.fn();
    const { server } = asking((ctx) => {
      void after.opened.then(() => ctx.ask("Sure?", ok)).catch((error: McpError) => late(error.code));
      return "over";
    });
    const { client, settled } = await serveLegacy(server, { capabilities: everything });
    expect(await client.request("tools/call", callAsk)).toHaveProperty("result");
    const before = client.heard.length;
    after.open();
    await settled();
    expect(late).toHaveBeenCalledExactlyOnceWith("cancelled");
    expect(client.heard).toHaveLength(before);
  });
});

describe("an asker whose call is over", () => {
  const roots = { method: "roots/list", params: {} } as const;

  function setUp() {
    const sent = vi.fn(() => new Promise<never>(() => {}));
    const abort = new LazyAbort();
    const options = { peer: { request: sent }, codec: codecFor("2025-11-25"), gate: undefined, askTimeoutMs: 0 };
    return { sent, abort, asker: createAsker(options, { abort } as IncomingRequest) };
  }

  it("because it was answered, sends nothing", async () => {
    const { sent, asker } = setUp();
    asker.close();
    await expect(asker.ask(roots)).rejects.toMatchObject({ code: "cancelled" });
    expect(sent).not.toHaveBeenCalled();
  });

  it("because it was cancelled, sends nothing", async () => {
    const { sent, abort, asker } = setUp();
    abort.abort("enough");
    await expect(asker.ask(roots)).rejects.toMatchObject({ code: "cancelled" });
    expect(sent).not.toHaveBeenCalled();
  });
});

describe("a handler that asks gives its place to others", () => {
  it("so that one place is enough for any number of questions", async () => {
    const { client } = await serveLegacy(asking(confirm).server, {
      capabilities: everything,
      budgets: { connection: { maxRunningCalls: 1 } },
    });
    client.say(request(1, "tools/call", callAsk), request(2, "tools/call", callAsk), request(3, "tools/call", callAsk));
    const questions = [await client.next(), await client.next(), await client.next()];
    expect(questions).toMatchObject(Array(3).fill({ method: "elicitation/create" }));
    for (const question of questions.reverse()) client.reply(question, yes);
    const answers = [await client.next(), await client.next(), await client.next()];
    expect(answers.map(({ id }) => id)).toEqual([3, 2, 1]);
  });

  it("so that a full line moves on, and the answer is read", async () => {
    const limits = { budgets: { connection: { maxRunningCalls: 1, maxQueuedCalls: 1 } } };
    const { client } = await serveLegacy(asking(confirm).server, { capabilities: everything, ...limits });
    client.say(request(1, "tools/call", callAsk), request(2, "tools/call", { name: "quick" }));
    const question = await client.expect("elicitation/create");
    expect(await client.next()).toMatchObject({ id: 2 });
    client.reply(question, yes);
    expect(await client.next()).toMatchObject({ id: 1 });
  });

  it("one place, also when it asks several things at once", async () => {
    const running = { now: 0, most: 0 };
    const hold = gate();
    const server = createServer({
      name: "s",
      version: "1",
      tools: {
        ask: tool({
          run: async (_, ctx) => {
            await Promise.all(["a", "b", "c"].map((key) => ctx.ask(key, ok, { key })));
            return "asked";
          },
        }),
        hold: tool({
          run: async () => {
            running.most = Math.max(running.most, ++running.now);
            await hold.opened;
            running.now--;
            return "held";
          },
        }),
      },
    });
    const { client, settled } = await serveLegacy(server, {
      capabilities: everything,
      budgets: { connection: { maxRunningCalls: 1 } },
    });
    client.say(request(0, "tools/call", callAsk));
    const questions = [await client.next(), await client.next(), await client.next()];
    for (const id of [1, 2, 3]) client.say(request(id, "tools/call", { name: "hold" }));
    await settled();
    expect(running).toEqual({ now: 1, most: 1 });
    for (const question of questions) client.reply(question, yes);
    expect(await client.next()).toMatchObject({ id: 0, result: {} });
    hold.open();
    await settled();
    expect(running).toEqual({ now: 0, most: 1 });
  });

  it("unless it has none, being answered at once", async () => {
    const running = { now: 0, most: 0 };
    const hold = gate();
    const middleware = createServer({
      name: "s",
      version: "1",
      tools: {
        hold: tool({
          run: async () => {
            running.most = Math.max(running.most, ++running.now);
            await hold.opened;
            return "held";
          },
        }),
      },
      middleware: [
        (next) => async (call) => {
          if (call.method === "tools/list") await call.ask?.({ method: "roots/list", params: {} });
          return next(call);
        },
      ],
    });
    const { client, settled } = await serveLegacy(middleware as Service, {
      capabilities: everything,
      budgets: { connection: { maxRunningCalls: 1 } },
    });
    client.say(request(0, "tools/list"));
    const question = await client.expect("roots/list");
    client.say(request(1, "tools/call", { name: "hold" }), request(2, "tools/call", { name: "hold" }));
    await settled();
    expect(running.most).toBe(1);
    client.reply(question, { roots: [] });
    expect(await client.next()).toMatchObject({ id: 0, result: { tools: [{ name: "hold" }] } });
    hold.open();
  });
});
