import { describe, expect, it } from "vitest";
import type { CreateMessageParams, CreateMessageResult, SamplingContent } from "../protocol/input.ts";
import type { Tool } from "../protocol/tool.ts";
import { createManualClock } from "../testing/clock.ts";
import { type ToolLoopOptions, toolLoop } from "./tool-loop.ts";

const tools: readonly Tool[] = ["add", "fail", "wait"].map((name) => ({ name, inputSchema: { type: "object" } }));
const use = (id: string, name: string): SamplingContent => ({ type: "tool_use", id, name, input: { id } });
const says = (...content: SamplingContent[]): CreateMessageResult => ({ role: "assistant", content, model: "m" });
const done = says({ type: "text", text: "42" });

function setUp(turns: readonly CreateMessageResult[], options: Partial<ToolLoopOptions> = {}) {
  const asked: CreateMessageParams[] = [];
  const clock = createManualClock();
  const loop = () =>
    toolLoop({
      messages: [{ role: "user", content: { type: "text", text: "?" } }],
      maxTokens: 100,
      temperature: 0,
      tools,
      clock,
      sample: async (params) => {
        asked.push(params);
        return turns[asked.length - 1] ?? says(use("more", "add"));
      },
      run: async (name, input) => `${name} ${JSON.stringify(input)}`,
      ...options,
    });
  return { asked, clock, loop };
}

describe("toolLoop", () => {
  it("returns the answer of a model that needs no tools", async () => {
    const { asked, loop } = setUp([done]);
    const question = { role: "user", content: { type: "text", text: "?" } };
    expect(await loop()).toEqual({
      result: done,
      messages: [question, { role: "assistant", content: done.content }],
      turns: 1,
    });
    expect(asked).toEqual([{ messages: [question], maxTokens: 100, temperature: 0, tools }]);
  });

  it("takes content that is one block, not a list", async () => {
    const single: CreateMessageResult = { ...done, content: { type: "text", text: "42" } };
    const { loop } = setUp([{ ...says(), content: use("a", "add") }, single]);
    expect(await loop()).toMatchObject({ result: single, turns: 2 });
  });

  it("C85: puts all results of a turn into one user message, in the order of their uses", async () => {
    const waiting: (() => void)[] = [];
    const run = (name: string) =>
      new Promise<string>((resolve) => {
        waiting.push(() => resolve(`${name} ran`));
        if (waiting.length === 2) for (const finish of [...waiting].reverse()) finish();
      });
    const { asked, loop } = setUp([says({ type: "text", text: "hm" }, use("a", "add"), use("b", "wait")), done], {
      run,
    });
    await loop();
    expect(asked[1]?.messages.slice(1)).toEqual([
      { role: "assistant", content: [{ type: "text", text: "hm" }, use("a", "add"), use("b", "wait")] },
      {
        role: "user",
        content: [
          { type: "tool_result", toolUseId: "a", content: [{ type: "text", text: "add ran" }] },
          { type: "tool_result", toolUseId: "b", content: [{ type: "text", text: "wait ran" }] },
        ],
      },
    ]);
  });

  it("C85: turns a failing tool, and one that was never offered, into error results", async () => {
    const ran: string[] = [];
    const run: ToolLoopOptions["run"] = async (name) => {
      ran.push(name);
      if (name === "fail") throw new Error("out of stock");
      return { content: [], structuredContent: { n: 1 }, isError: name === "wait" };
    };
    const turn = says(use("a", "fail"), use("b", "rm"), use("c", "add"), use("d", "wait"));
    const { asked, loop } = setUp([turn, done], { run });
    await loop();
    expect(asked[1]?.messages.at(-1)?.content).toStrictEqual([
      { type: "tool_result", toolUseId: "a", content: [{ type: "text", text: "out of stock" }], isError: true },
      { type: "tool_result", toolUseId: "b", content: [{ type: "text", text: "unknown tool rm" }], isError: true },
      { type: "tool_result", toolUseId: "c", content: [], structuredContent: { n: 1 } },
      { type: "tool_result", toolUseId: "d", content: [], structuredContent: { n: 1 }, isError: true },
    ]);
    expect(ran).toEqual(["fail", "add", "wait"]);
  });

  it("C85: ends after maxTurns with an error that names it; the last turn may use no tools", async () => {
    const { asked, loop } = setUp([]);
    await expect(loop()).rejects.toMatchObject({
      code: "limit-reached",
      message: "the model still asks for tools after maxTurns 10",
      data: { limit: "maxTurns", max: 10, scope: "call" },
    });
    expect(asked.map(({ toolChoice }) => toolChoice?.mode)).toEqual([...Array(9).fill(undefined), "none"]);
  });

  it("C85: ends after maxTotalMs with an error that names it, whoever is slow", async () => {
    for (const slow of ["sample", "run"] as const) {
      const signals: AbortSignal[] = [];
      const hang = (_: unknown, __: unknown, context = __ as { signal: AbortSignal }) => {
        signals.push(context.signal);
        return new Promise<never>(() => {});
      };
      const { clock, loop } = setUp([says(use("a", "add"))], { [slow]: hang });
      const promise = loop();
      promise.catch(() => {});
      await clock.advanceAsync(299_999);
      expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
      await clock.advanceAsync(1);
      await expect(promise).rejects.toMatchObject({
        code: "limit-reached",
        message: "the tool loop took longer than maxTotalMs 300000",
        data: { limit: "maxTotalMs", max: 300_000, scope: "call" },
      });
      expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
      expect(clock.pending).toBe(0);
    }
  });

  it("is cancelled by its signal, before it starts or on the way", async () => {
    const reason = new Error("enough");
    await expect(setUp([done], { signal: AbortSignal.abort(reason) }).loop()).rejects.toMatchObject({
      code: "cancelled",
      cause: reason,
    });
    const abort = new AbortController();
    const { clock, loop } = setUp([], { signal: abort.signal, sample: () => new Promise(() => {}) });
    const promise = loop();
    abort.abort(reason);
    await expect(promise).rejects.toMatchObject({ code: "cancelled", cause: reason });
    expect(clock.pending).toBe(0);
  });

  it("passes on what sample rejects with", async () => {
    const error = new Error("no model");
    await expect(setUp([], { sample: () => Promise.reject(error) }).loop()).rejects.toBe(error);
  });
});
