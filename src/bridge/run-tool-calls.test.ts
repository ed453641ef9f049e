import { describe, expect, it } from "vitest";
import type { ToolCall } from "./bridge.ts";
import { runToolCalls } from "./run-tool-calls.ts";

const calls: readonly ToolCall[] = [
  { id: "1", name: "add", input: { a: 1 } },
  { id: "2", name: "say", input: {} },
  { id: "3", name: "break", input: {} },
  { id: "4", name: "add", problem: "invalid arguments" },
];

describe("runToolCalls", () => {
  it("gives a result for every call, in order, and runs none with a problem", async () => {
    const ran: string[] = [];
    const results = await runToolCalls(calls, async (name, input) => {
      ran.push(name);
      if (name === "break") throw new Error("broken");
      if (name === "say") return "said";
      return { content: [], structuredContent: input, isError: false, _meta: { private: 1 } };
    });
    expect(ran).toEqual(["add", "say", "break"]);
    expect(results).toEqual([
      { type: "tool_result", toolUseId: "1", name: "add", content: [], structuredContent: { a: 1 } },
      { type: "tool_result", toolUseId: "2", name: "say", content: [{ type: "text", text: "said" }] },
      {
        type: "tool_result",
        toolUseId: "3",
        name: "break",
        content: [{ type: "text", text: "broken" }],
        isError: true,
      },
      {
        type: "tool_result",
        toolUseId: "4",
        name: "add",
        content: [{ type: "text", text: "invalid arguments" }],
        isError: true,
      },
    ]);
  });

  it("runs calls at the same time", async () => {
    let running = 0;
    let most = 0;
    await runToolCalls(calls, async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      return "done";
    });
    expect(most).toBe(3);
  });
});
