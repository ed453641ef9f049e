import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client as OurClient } from "../../src/connect/index.ts";
import type { Authenticator } from "../../src/protocol/authenticator.ts";
import { connect, everythingHere, serveHttp } from "./support/built.ts";
import { createLog } from "./support/events.ts";
import { tasksForExtension, tasksForVersion1 } from "./support/official-tasks.ts";
import { openV1 } from "./support/official-v1.ts";

// The official clients that know tasks, against our server over HTTP: that of the SDK, version 1, which speaks
// 2025-11-25, and that of the extension, which speaks both eras. And our client against a server of that SDK.

const { url, close } = await serveHttp(await everythingHere(), { port: 0 });
afterAll(close);

tasksForVersion1(url);

describe("tasks of the official client, version 1, of users who are known", () => {
  const auth: Authenticator = (http) => ({ ok: true, auth: { principal: http.header("authorization") ?? "" } });
  let serving: Awaited<ReturnType<typeof serveHttp>>;
  const openAs = (name: string) =>
    openV1(
      new StreamableHTTPClientTransport(new URL(serving.url), { requestInit: { headers: { authorization: name } } }),
    );

  beforeAll(async () => {
    serving = await serveHttp(await everythingHere(), { port: 0, auth });
  });
  afterAll(() => serving.close());

  it("can be listed by who has them, and are said to", async () => {
    const [ann, bob] = await Promise.all([openAs("ann"), openAs("bob")]);
    const { tasks } = ann.client.getServerCapabilities() ?? {};
    expect(tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
    const params = { name: "slow_compute", arguments: { seconds: 60 } };
    const stream = ann.client.experimental.tasks.callToolStream(params, undefined, { task: { ttl: 5_000 } });
    const { value } = await stream.next();
    if (value?.type !== "taskCreated") return expect.unreachable(JSON.stringify(value));
    const { taskId } = value.task;
    expect(await ann.client.experimental.tasks.listTasks()).toMatchObject({ tasks: [{ taskId, status: "working" }] });
    expect(await bob.client.experimental.tasks.listTasks()).toMatchObject({ tasks: [] });
    await ann.client.experimental.tasks.cancelTask(taskId);
    await stream.return();
    await Promise.all([ann.client.close(), bob.client.close()]);
    return undefined;
  });
});

tasksForExtension(url);

describe("tasks of the official server, version 1, for our client", () => {
  const store = new InMemoryTaskStore();
  const http = createServer();
  let client: OurClient;

  beforeAll(async () => {
    const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    const server = new McpServer({ name: "official", version: "1" }, { capabilities: { tasks }, taskStore: store });
    server.experimental.tasks.registerToolTask(
      "work",
      { execution: { taskSupport: "required" } },
      {
        async createTask({ taskStore, taskRequestedTtl }) {
          return { task: await taskStore.createTask({ ttl: taskRequestedTtl ?? null, pollInterval: 100 }) };
        },
        getTask: ({ taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async ({ taskId, taskStore }) => (await taskStore.getTaskResult(taskId)) as CallToolResult,
      },
    );
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
    await server.connect(transport as Transport);
    http.on("request", (request, response) => void transport.handleRequest(request, response));
    await once(http.listen(0, "127.0.0.1"), "listening");
    client = await connect(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  });
  afterAll(async () => {
    await client.close();
    store.cleanup();
    http.closeAllConnections();
    http.close();
  });

  const done = { content: [{ type: "text" as const, text: "done" }] };

  it("are started, read and come to their results", async () => {
    const handle = await client.tasks.start("work", {}, { ttlMs: 60_000 });
    const id = handle.id ?? "";
    expect(await handle.status()).toMatchObject({ taskId: id, status: "working", ttlMs: 60_000, pollIntervalMs: 100 });
    expect((await client.tasks.list()).map(({ taskId }) => taskId)).toContain(id);
    await store.storeTaskResult(id, "completed", done);
    expect(await handle.result()).toMatchObject(done);
    expect(await (await client.tasks.resume(id)).result()).toMatchObject(done);
    await handle.cancel();
  });

  it("are calls like any other, once it is known that the tool makes tasks", async () => {
    await client.listTools();
    const states = createLog<{ taskId: string; status: string }>();
    const result = client.callTool("work", {}, { onTask: states.add });
    const [{ taskId } = { taskId: "" }] = await states.count(1);
    await store.storeTaskResult(taskId, "completed", done);
    expect(await result).toMatchObject(done);
    expect(states.items.at(-1)).toMatchObject({ taskId, status: "completed" });
  });

  it("are cancelled", async () => {
    const handle = await client.tasks.start("work");
    await handle.cancel();
    expect(await handle.status()).toMatchObject({ status: "cancelled" });
    await expect(handle.result()).rejects.toMatchObject({ code: "cancelled" });
  });
});
