import { type Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import {
  createTaskSessionFromClient,
  type RawClientDispatch,
  resultFromTaskOutcome,
  TaskCancelledError,
  type TaskEnabledSession,
  TaskFailedError,
  toolDeclarationFromMcpTool,
} from "@modelcontextprotocol/ext-tasks/client";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it } from "vitest";
import { capabilities, sessionFor, type ToolResult, textOf } from "./official.ts";
import { openV1 } from "./official-v1.ts";
import { openV2 } from "./official-v2.ts";

// What the official clients that know tasks do with those of our server with everything, wherever it runs.

/** The client of the SDK, version 1, which speaks 2025-11-25. */
export function tasksForVersion1(url: string): void {
  describe("tasks of the official client, version 1", () => {
    const session = sessionFor(() => openV1(new StreamableHTTPClientTransport(new URL(url))));

    /** Calls a tool as a task, and gives all that is heard of it. */
    async function follow(name: string, args: Record<string, unknown> = {}) {
      const { client } = session();
      await client.listTools();
      const heard = [];
      for await (const message of client.experimental.tasks.callToolStream({ name, arguments: args }))
        heard.push(message);
      return { heard, last: heard.at(-1), types: heard.map(({ type }) => type) };
    }

    it("are made for tools that run only as tasks, and come to their results", async () => {
      session().fill = () => ({ action: "accept", content: { confirm: true } });
      const { types, last, heard } = await follow("confirm_delete", { filename: "a.txt" });
      expect(types).toEqual(expect.arrayContaining(["taskCreated", "taskStatus", "result"]));
      expect(heard[0]).toMatchObject({ task: { status: "working", ttl: 3_600_000, pollInterval: 1_000 } });
      expect(last).toMatchObject({ result: { content: [{ text: "Deleted a.txt" }] } });
    });

    it("ask for several things", async () => {
      const names = ["Ada", "Byron"];
      session().fill = () => ({ action: "accept", content: { name: names.shift() ?? "" } });
      expect((await follow("multi_input")).last).toMatchObject({ result: { content: [{ text: "Ada Byron" }] } });
    });

    it("fail as their tools do", async () => {
      expect((await follow("failing_job")).last).toMatchObject({ type: "error" });
      expect((await follow("protocol_error_job")).last).toMatchObject({ type: "error" });
    });

    it("can be wanted, looked at and cancelled", async () => {
      const { client } = session();
      const { experimental } = client as Client;
      const params = { name: "slow_compute", arguments: { seconds: 60 } };
      const stream = experimental.tasks.callToolStream(params, undefined, { task: { ttl: 5_000 } });
      const { value } = await stream.next();
      if (value?.type !== "taskCreated") return expect.unreachable(JSON.stringify(value));
      const { taskId } = value.task;
      expect(value.task).toMatchObject({ ttl: 5_000, status: "working" });
      expect(await experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: "working" });
      expect(await experimental.tasks.cancelTask(taskId)).toMatchObject({ taskId, status: "cancelled" });
      await expect(experimental.tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
      await expect(experimental.tasks.getTaskResult(taskId)).rejects.toThrow("the task was cancelled");
      await stream.return();
      return undefined;
    });

    it("are listed to nobody who is not authenticated", async () => {
      const { experimental } = session().client;
      expect(session().client.getServerCapabilities()?.tasks).not.toHaveProperty("list");
      await expect(experimental.tasks.listTasks()).rejects.toMatchObject({ code: -32601 });
      await expect(experimental.tasks.getTask("nobody-knows-this-task")).rejects.toMatchObject({ code: -32602 });
    });
  });
}

/** The client of the extension, which speaks both eras. */
export function tasksForExtension(url: string): void {
  describe.each(["2025-11-25", "2026-07-28"] as const)("tasks of the official extension, %s", (era) => {
    const session = sessionFor(() =>
      openV2(new TransportV2(new URL(url)), era === "2025-11-25" ? "legacy" : { pin: era }),
    );

    async function using<T>(use: (tasks: TaskEnabledSession) => Promise<T>): Promise<T> {
      await using tasks = await openTasks(session().client, { url, headers: {}, era });
      return await use(tasks);
    }

    const run = (name: string, args = {}) =>
      using(async (tasks) => {
        const execution = await tasks.callTool(name, args, { task: { preference: "prefer" } });
        const { outcome } = await execution.settle();
        return { kind: execution.kind, outcome };
      });

    it("come to their results", async () => {
      const { kind, outcome } = await run("slow_compute", { seconds: 0.5, label: "sum" });
      expect(kind).toBe("task");
      expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: "sum: computed for 0.5 s" }] });
    });

    it("are none where the tool makes none", async () => {
      const { kind, outcome } = await run("greet", { name: "Ada" });
      expect(kind).toBe("immediate");
      expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: "Hello, Ada!" }] });
    });

    // In 2025-11-25 it expects questions that come by themselves; by that revision they come with `tasks/result`.
    if (era === "2026-07-28") {
      it("ask, one thing or several, and before they are tasks", async () => {
        const text = async (name: string, args = {}) => resultFromTaskOutcome((await run(name, args)).outcome).content;
        expect(await text("confirm_delete", { filename: "a.txt" })).toMatchObject([{ text: "Deleted a.txt" }]);
        expect(await text("multi_input")).toMatchObject([{ text: "Ada Ada" }]);
        expect(await text("test_tool_with_task")).toMatchObject([{ text: "Hello, Ada!" }]);
      });
    }

    it("fail", async () => {
      const { outcome } = await run("protocol_error_job");
      expect(() => resultFromTaskOutcome(outcome)).toThrow(TaskFailedError);
      const message = "the job cannot be done with these arguments";
      expect(outcome).toMatchObject({ status: "failed", error: { message } });
    });

    it("are cancelled", async () => {
      const outcome = await using(async (tasks) => {
        const execution = await tasks.callTool("slow_compute", { seconds: 60 }, { task: { preference: "require" } });
        await execution.cancel();
        return (await execution.settle()).outcome;
      });
      expect(() => resultFromTaskOutcome(outcome)).toThrow(TaskCancelledError);
    });

    it("are left, and taken up again", async () => {
      const outcome = await using(async (tasks) => {
        const left = await tasks.callTool("slow_compute", { seconds: 0.5 }, { task: { preference: "require" } });
        if (left.kind !== "task") throw new Error("this is no task");
        await left.detach();
        // It lets go of the task when nobody waits for it any more.
        await left.result().catch(() => {});
        const found = await tasks.resumeTask(left.serializeReference());
        return (await found.settle()).outcome;
      });
      expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: "result: computed for 0.5 s" }] });
    });
  });
}

export type ExtensionEra = "2025-11-25" | "2026-07-28";

/** Where the client of the extension sends what the client of the SDK does not know. */
interface ExtensionTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly era: ExtensionEra;
}

/** The client of the extension, and a user who fills every form. */
async function openTasks(client: ClientV2, { url, headers, era }: ExtensionTarget): Promise<TaskEnabledSession> {
  const { tools } = await client.listTools();
  const declared = new Map(tools.map((tool) => [tool.name, toolDeclarationFromMcpTool(tool)]));
  const wire = {
    rawDispatch: dispatch(url, headers),
    v2RequestFraming: {
      protocolVersion: era,
      clientInfo: { name: "official", version: "2" },
      clientCapabilities: capabilities,
    },
  };
  return createTaskSessionFromClient(client, {
    endpointId: url,
    tools: { currentTool: (name) => declared.get(name) },
    onInputRequest: async () => ({ action: "accept", content: { confirm: true, name: "Ada" } }) as never,
    ...(era === "2026-07-28" && wire),
  });
}

/** Calls a tool as a task with the client of the extension. Resolves once there is a task, with what waits for its text. */
export async function startTask(
  client: ClientV2,
  target: ExtensionTarget,
  name: string,
  args: Record<string, unknown>,
): Promise<() => Promise<string>> {
  const tasks = await openTasks(client, target);
  const execution = await tasks.callTool(name, args as never, { task: { preference: "require" } });
  return async () => {
    await using _ = tasks;
    return textOf(resultFromTaskOutcome((await execution.settle()).outcome) as unknown as ToolResult);
  };
}

/** Sends requests of 2026-07-28 that the official client does not know, and gives what is answered. */
function dispatch(to: string, headers: Readonly<Record<string, string>>): RawClientDispatch {
  let id = 0;
  return async (request, { signal } = {}) => {
    const { method, params } = request as { method: string; params: { name?: string; taskId?: string } };
    const response = await fetch(to, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": params.name ?? params.taskId ?? "",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: `raw-${++id}`, method, params }),
      signal: signal ?? null,
    });
    const text = await response.text();
    const { result, error } = JSON.parse(text.match(/^data: (.*"id":"raw-.*)$/m)?.[1] ?? text);
    return error === undefined ? { kind: "result", result } : { kind: "error", error };
  };
}
