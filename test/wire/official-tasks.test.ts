import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import type { Channel } from "../../src/jsonrpc/channel.ts";
import { encodeMessage, parseText } from "../../src/jsonrpc/message.ts";
import { metaKeys } from "../../src/protocol/meta.ts";
import type { Params, WireMethod } from "../../src/protocol/methods.ts";
import { type Call, createCall, type Outcome, type Service } from "../../src/protocol/service.ts";
import type { DetailedTask, TaskTerms } from "../../src/protocol/task.ts";
import { LazyAbort } from "../../src/std/lazy-abort.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { createMemoryChannels } from "../../src/transport/memory-channels.ts";
import { openChannel } from "../../src/transport/open-channel.ts";
import { serveChannel } from "../../src/transport/serve-channel.ts";
import { opening } from "../support/connected.ts";
import { results, tasks } from "./examples.ts";

// The official client and server of version 1 know the tasks of 2025-11-25.
// They talk to our codecs here, with a service behind them that has one task.

const info = { name: "official", version: "1" };

/** A channel as the official packages want it. */
function transportOf(channel: Channel): Transport {
  const read = async (): Promise<void> => {
    for await (const messages of channel.incoming) {
      for (const message of messages) {
        if ("params" in message || "result" in message || message.kind === "failure") {
          transport.onmessage?.(JSON.parse(encodeMessage(message)) as JSONRPCMessage);
        }
      }
    }
    transport.onclose?.();
  };
  const transport: Transport = {
    async start() {
      void read();
    },
    async send(message) {
      const parsed = parseText(JSON.stringify(message));
      if (parsed.kind === "batch" || parsed.kind === "malformed") throw new Error("not a message");
      await channel.send(parsed);
    },
    close: () => channel.close(),
  };
  return transport;
}

describe("the official client follows a task", () => {
  /** A service whose only task is as given. */
  function withTask(task: DetailedTask, asked: JsonObject[] = []): Service {
    const answer = async ({ method, ask, tasks: terms }: Call): Promise<Outcome> => {
      switch (method) {
        case "tools/call":
          return terms?.wanted === true ? { kind: "task", task } : { kind: "complete", result: { content: [] } };
        case "tasks/get":
          return { kind: "complete", result: task };
        case "tasks/cancel":
          return { kind: "complete", result: { ...task, status: "cancelled" } };
        case "tasks/list":
          return { kind: "complete", result: { tasks: [task] } };
        case "tasks/result":
          if (task.status === "input_required") asked.push((await ask?.({ method: "roots/list", params: {} })) ?? {});
          return { kind: "complete", result: results["tools/call"] };
        default:
          return { kind: "complete", result: results[method as WireMethod] };
      }
    };
    return answer as Service;
  }

  async function connected(service: Service) {
    const [here, there] = createMemoryChannels();
    serveChannel(there, service);
    const client = new Client(info, { capabilities: { roots: {} } });
    const heard: unknown[] = [];
    client.setRequestHandler(ListRootsRequestSchema, ({ params }) => {
      heard.push(params?._meta);
      return { roots: [{ uri: "file:///a" }] };
    });
    await client.connect(transportOf(here));
    return { client, heard };
  }

  function example(status: string): DetailedTask {
    const task = tasks.find((one) => one.status === status);
    if (task === undefined) throw new Error(`no task is ${status}`);
    return task;
  }

  async function follow(client: Client) {
    const seen: unknown[] = [];
    const call = { name: "buy", arguments: { sku: "a" } };
    for await (const message of client.experimental.tasks.callToolStream(call, undefined, { task: { ttl: 1000 } })) {
      seen.push(message.type === "taskCreated" || message.type === "taskStatus" ? message.task : message);
    }
    return seen;
  }

  const wire = {
    taskId: "t",
    statusMessage: "packing",
    createdAt: "2026-01-01T00:00:00Z",
    lastUpdatedAt: "2026-01-01T00:00:01Z",
    ttl: 60_000,
    pollInterval: 500,
  };

  it("to its result", async () => {
    const { client } = await connected(withTask(example("completed")));
    expect(client.getServerCapabilities()?.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
    const [created, status, last] = await follow(client);
    expect(created).toEqual({ ...wire, status: "completed" });
    expect(status).toMatchObject({ ...wire, status: "completed" });
    expect(last).toMatchObject({
      type: "result",
      result: { structuredContent: { total: 1 }, _meta: { [metaKeys.relatedTask]: { taskId: "t" } } },
    });
    expect((await client.listTools()).tools[0]?.execution).toEqual({ taskSupport: "optional" });
  });

  it("that failed, or was cancelled", async () => {
    for (const status of ["failed", "cancelled"]) {
      const { client } = await connected(withTask(example(status)));
      expect((await follow(client)).at(-1)).toMatchObject({ type: "error" });
    }
    const { client } = await connected(
      withTask({ ...example("working"), status: "completed", result: { content: [], isError: true } }),
    );
    expect(await client.experimental.tasks.getTask("t")).toMatchObject({ status: "failed" });
  });

  it("that asks it something, for the task and while it waits", async () => {
    const asked: JsonObject[] = [];
    const { client, heard } = await connected(withTask(example("input_required"), asked));
    expect((await follow(client)).at(-1)).toMatchObject({ type: "result" });
    expect(heard).toEqual([{ [metaKeys.relatedTask]: { taskId: "t" } }]);
    expect(asked).toMatchObject([{ roots: [{ uri: "file:///a" }] }]);
  });

  it("which it can list and cancel", async () => {
    const { client } = await connected(withTask(example("working")));
    expect((await client.experimental.tasks.listTasks()).tasks).toEqual([{ ...wire, status: "working" }]);
    expect(await client.experimental.tasks.cancelTask("t")).toMatchObject({ ...wire, status: "cancelled" });
  });
});

describe("a task of the official server", () => {
  async function connected() {
    const [here, there] = createMemoryChannels();
    const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
    const server = new McpServer(info, { capabilities, taskStore: new InMemoryTaskStore() });
    server.experimental.tasks.registerToolTask(
      "work",
      { execution: { taskSupport: "required" } },
      {
        async createTask({ taskStore, taskRequestedTtl }) {
          const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? null });
          await taskStore.storeTaskResult(task.taskId, "completed", { content: [{ type: "text", text: "done" }] });
          return { task };
        },
        getTask: ({ taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async ({ taskId, taskStore }) => (await taskStore.getTaskResult(taskId)) as never,
      },
    );
    await server.connect(transportOf(there));
    const { service, peer } = await openChannel(here, opening(createManualClock(), { revision: "2025-11-25" }));
    const call = <M extends WireMethod>(method: M, params: Params<M>, terms?: TaskTerms) =>
      service(createCall<M>({ method, params, peer, abort: new LazyAbort(), notify: () => undefined, tasks: terms }));
    return { call };
  }

  it("is made, followed, listed and brought to its result by our codecs", async () => {
    const { call } = await connected();
    expect(await call("server/discover", {})).toMatchObject({
      result: { capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
    });
    const started = await call("tools/call", { name: "work" }, { wanted: true, ttlMs: 5000 });
    if (started.kind !== "task") return expect.unreachable(JSON.stringify(started));
    const { taskId } = started.task;
    expect(started.task).toMatchObject({ ttlMs: 5000, pollIntervalMs: expect.any(Number) });
    const { result } = (await call("tasks/get", { taskId })) as { readonly result: DetailedTask };
    expect(result).toMatchObject({ taskId, status: "completed", ttlMs: 5000 });
    expect(result).not.toHaveProperty("result");
    expect(await call("tasks/list", {})).toMatchObject({ result: { tasks: [{ taskId, ttlMs: 5000 }] } });
    expect(await call("tasks/result", { taskId })).toEqual({
      kind: "complete",
      result: { content: [{ type: "text", text: "done" }] },
    });
    expect(await call("tasks/cancel", { taskId })).toMatchObject({ failure: { code: "invalid-params" } });
    expect(await call("tasks/get", { taskId: "none" })).toMatchObject({ failure: { code: "invalid-params" } });
    return undefined;
  });

  it("is needed where the tool says so", async () => {
    const { call } = await connected();
    expect(await call("tools/list", {})).toMatchObject({
      result: { tools: [{ name: "work", execution: { taskSupport: "required" } }] },
    });
  });
});
