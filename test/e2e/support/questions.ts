import type { ElicitResult } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { choices, chosen, defaults } from "./expected.ts";
import type { Official } from "./official.ts";

/** What our server asks a client of the official SDK, while a call waits or between two of its rounds. */
export function isAsked(current: () => Official): void {
  it("is asked for a sample", async () => {
    const asked = { type: "text", text: "Say hello" };
    const answer = await current().call("test_sampling", { prompt: "Say hello" });
    expect(answer).toBe(`LLM response: 100: ${JSON.stringify(asked)}`);
  });

  it.each<[reply: ElicitResult, text: string]>([
    [
      { action: "accept", content: { username: "ada", email: "ada@example.org" } },
      'action=accept, content={"username":"ada","email":"ada@example.org"}',
    ],
    [{ action: "decline" }, "action=decline, content={}"],
    [{ action: "cancel" }, "action=cancel, content={}"],
  ])("is asked a form, and answers %j", async (reply, text) => {
    const session = current();
    session.fill = (form) => {
      expect(form).toEqual({
        message: "Who are you?",
        requestedSchema: {
          type: "object",
          properties: { username: { type: "string" }, email: { type: "string" } },
          required: ["username", "email"],
        },
      });
      return reply;
    };
    expect(await session.call("test_elicitation", { message: "Who are you?" })).toBe(`User response: ${text}`);
  });

  it("is asked a form with defaults", async () => {
    const session = current();
    session.fill = () => ({ action: "accept", content: {} });
    expect(await session.call("test_elicitation_sep1034_defaults")).toBe(
      `Elicitation completed: action=accept, content=${JSON.stringify(defaults)}`,
    );
  });

  it("is asked a form with every kind of choice", async () => {
    const session = current();
    session.fill = (form) => {
      expect(form).toMatchObject({ requestedSchema: { properties: choices } });
      return { action: "accept", content: chosen };
    };
    expect(await session.call("test_elicitation_sep1330_enums")).toBe(
      `Elicitation completed: action=accept, content=${JSON.stringify(chosen)}`,
    );
  });

  it("is asked for its roots", async () => {
    expect(await current().call("test_input_required_result_list_roots")).toBe("Roots: file:///home");
  });

  it("is asked several things at once, and one after the other", async () => {
    const session = current();
    session.fill = ({ message }) => ({
      action: "accept",
      content: message.includes("color") ? { color: "red" } : { name: "Ada" },
    });
    const several = await session.call("test_input_required_result_multiple_inputs");
    expect(several).toMatch(/^100: .*greeting.* Ada \(1 roots\)$/);
    expect(await session.call("test_input_required_result_multi_round")).toBe("Ada likes red.");
  });

  it("is asked in the middle of progress", async () => {
    const session = current();
    session.fill = () => ({ action: "accept", content: { ok: true } });
    const heard: unknown[] = [];
    const onprogress = (progress: unknown) => heard.push(progress);
    const { content } = await session.callTool({ name: "test_streaming_elicitation" }, { onprogress });
    expect(content).toEqual([{ type: "text", text: "Went on." }]);
    // In the modern era the client itself reports the rounds it makes as progress.
    expect(heard[0]).toEqual({ progress: 1, total: 2 });
  });

  it("is asked by a prompt", async () => {
    const session = current();
    session.fill = () => ({ action: "accept", content: { context: "a test" } });
    const { messages } = await session.client.getPrompt({ name: "test_input_required_result_prompt" });
    expect(messages).toEqual([{ role: "user", content: { type: "text", text: "The context is a test." } }]);
  });
}
