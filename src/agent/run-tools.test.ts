import { describe, expect, it } from "vitest";
import { dial } from "../connect/connect.ts";
import { createHost, type HostOptions } from "../host/host.ts";
import { toolError } from "../protocol/errors.ts";
import type { CreateMessageParams, SamplingContent } from "../protocol/input.ts";
import { createServer, tool } from "../server/index.ts";
import { createManualClock } from "../testing/clock.ts";
import { type AgentEvent, type Model, type RunToolsOptions, runTools } from "./run-tools.ts";

const shop = createServer({
  name: "shop",
  version: "1",
  tools: {
    price: tool({
      input: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] } as const,
      run: ({ sku }, ctx) => {
        ctx.progress(1, 1);
        return sku === "none" ? Promise.reject(toolError("no such thing")) : `${sku} costs 5`;
      },
    }),
    log: tool({ run: () => "line\n".repeat(1_000) }),
  },
});

const open = (options: HostOptions = {}) => createHost({ shop: { target: shop } }, options, { dial });

const use = (id: string, name: string, input: object): SamplingContent => ({
  type: "tool_use",
  id,
  name,
  input: { ...input },
});

/** A model that says what it is told to, turn by turn. */
function scripted(...turns: readonly (string | readonly SamplingContent[])[]) {
  const asked: CreateMessageParams[] = [];
  const model: Model = async (params) => {
    asked.push(params);
    const reply = turns[asked.length - 1] ?? "out of script";
    return typeof reply === "string" ? reply : { role: "assistant", content: reply, model: "m", stopReason: "toolUse" };
  };
  return { model, asked };
}

async function run(options: Omit<RunToolsOptions, "tools" | "messages">, host: HostOptions = {}) {
  await using opened = open(host);
  return await runTools({ messages: "What does it cost?", tools: opened, ...options });
}

describe("a model with the tools of a host", () => {
  it("is asked until it has an answer; all tools of a turn go back in one message", async () => {
    const { model, asked } = scripted(
      [use("1", "shop:price", { sku: "hammer" }), use("2", "shop:price", { sku: "nail" })],
      "10 together",
    );
    const events: AgentEvent[] = [];
    const result = await run({ model, onEvent: (event) => events.push(event) });
    expect(result).toMatchObject({ text: "10 together", turns: 2, calls: 2 });
    expect(result.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(asked[1]?.messages[2]?.content).toMatchObject([
      { type: "tool_result", toolUseId: "1", content: [{ text: "hammer costs 5" }] },
      { type: "tool_result", toolUseId: "2", content: [{ text: "nail costs 5" }] },
    ]);
    expect(asked[0]?.tools?.map(({ name }) => name)).toEqual(["shop:log", "shop:price", "read_page"]);
    expect(events.map(({ kind }) => kind)).toEqual([
      "turn",
      "reply",
      "call",
      "call",
      "progress",
      "progress",
      "result",
      "result",
      "turn",
      "reply",
    ]);
  });

  it("is told what went wrong, and may try again", async () => {
    const { model, asked } = scripted(
      [use("1", "shop:price", { sku: "none" }), use("2", "shop:nothing", {}), use("3", "shop:price", { sku: 5 })],
      "sorry",
    );
    await run({ model });
    const results = asked[1]?.messages[2]?.content as readonly Extract<SamplingContent, { type: "tool_result" }>[];
    expect(results.map(({ isError }) => isError)).toEqual([true, true, true]);
    expect(JSON.stringify(results)).toMatch(/no such thing.*unknown tool shop:nothing.*sku/);
  });

  it("is told what the policy forbids", async () => {
    const { model, asked } = scripted([use("1", "shop:price", { sku: "a" })], "ok");
    await run(
      { model, selection: "all" },
      { policy: [{ tools: "shop:price", action: "approve" }], onApprove: () => false },
    );
    expect(JSON.stringify(asked[1]?.messages[2])).toContain("was not approved");
  });

  it("reads on where a result was cut", async () => {
    let uri = "";
    const model: Model = async ({ messages }) => {
      const last = JSON.stringify(messages.at(-1)?.content);
      if (messages.length === 1) return reply(use("1", "shop:log", {}));
      if (messages.length === 3) {
        uri = /plugbay-result:\/\/\/[0-9a-f-]+\/1/.exec(last)?.[0] ?? "";
        return reply(
          use("2", "read_page", { uri: uri.replace(/1$/, "2") }),
          use("3", "read_page", { uri: "file:///etc/passwd" }),
        );
      }
      return last;
    };
    const { text } = await run({ model }, { resultLimits: { maxChars: 100, previewChars: 10, pageChars: 1_000 } });
    const [page, refused] = JSON.parse(text);
    expect(page.content[0].text).toHaveLength(1_000);
    expect(refused.isError).toBe(true);
  });

  it("finds its tools by searching when there are many", async () => {
    const tools = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [
        `tool_${index}`,
        tool({ description: "Does a thing ".repeat(10), run: () => `${index}` }),
      ]),
    );
    const many = createServer({
      name: "many",
      version: "1",
      tools: { ...tools, weather: tool({ description: "Tells the weather in a city", run: () => "sunny" }) },
    });
    const { model, asked } = scripted(
      [use("1", "search_tools", { query: "weather city" })],
      [use("2", "call_tool", { name: "many:weather", arguments: {} })],
      "It is sunny",
    );
    await using host = createHost({ many: { target: many } }, {}, { dial });
    const result = await runTools({ model, messages: "How is it outside?", tools: host });
    expect(result.text).toBe("It is sunny");
    expect(asked[0]?.tools?.length).toBeLessThan(5);
    expect(JSON.stringify(asked[1]?.messages.at(-1))).toContain("many:weather");
    expect(JSON.stringify(asked[2]?.messages.at(-1))).toContain("sunny");
  });

  it("runs so many tools at once", async () => {
    let running = 0;
    let most = 0;
    const slow = createServer({
      name: "s",
      version: "1",
      tools: {
        t: tool({
          run: async () => {
            most = Math.max(most, ++running);
            await new Promise((resolve) => setImmediate(resolve));
            running--;
            return "x";
          },
        }),
      },
    });
    await using host = createHost({ s: { target: slow } }, {}, { dial });
    const { model } = scripted(
      Array.from({ length: 10 }, (_, index) => use(`${index}`, "s:t", {})),
      "done",
    );
    await runTools({ model, messages: "go", tools: host, maxParallel: 3 });
    expect(most).toBe(3);
  });

  it("keeps to its budgets", async () => {
    const greedy: Model = async () => reply(use("1", "shop:price", { sku: "a" }));
    await expect(run({ model: greedy, maxTurns: 3 })).rejects.toMatchObject({
      code: "limit-reached",
      message: expect.stringContaining("maxTurns 3"),
    });
    const { model, asked } = scripted(
      [use("1", "shop:price", { sku: "a" }), use("2", "shop:price", { sku: "b" })],
      "done",
    );
    await expect(run({ model, maxCalls: 1 })).resolves.toMatchObject({ calls: 1 });
    expect(JSON.stringify(asked[1]?.messages[2])).toContain("no more than 1 tool calls");
    await expect(run({ model: greedy, maxContextTokens: 5 })).rejects.toMatchObject({
      code: "limit-reached",
      data: { limit: "maxContextTokens", max: 5, scope: "call" },
    });
    const clock = createManualClock();
    const never: Model = () => new Promise(() => {});
    const late = run({ model: never, maxTotalMs: 1_000, clock });
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1_000);
    await expect(late).rejects.toMatchObject({
      code: "limit-reached",
      message: expect.stringContaining("maxTotalMs 1000"),
    });
  });

  it("stops when it is told to, and so do its tools", async () => {
    const controller = new AbortController();
    const model: Model = async (_, { signal }) => {
      controller.abort();
      expect(signal.aborted).toBe(true);
      return "too late";
    };
    await expect(run({ model, signal: controller.signal })).rejects.toMatchObject({ code: "cancelled" });
  });
});

function reply(...content: readonly SamplingContent[]) {
  return { role: "assistant" as const, content, model: "m", stopReason: "toolUse" };
}
