import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { TaskStatusNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, describe, expect, it } from "vitest";
import { type ConnectOptions, connect } from "../../src/connect/index.ts";
import type { Target } from "../../src/connect/target.ts";
import type { Task } from "../../src/protocol/task.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { serveHttp } from "../../src/transport/node/serve-http.ts";
import { createNoticesServer } from "../fixtures/children/notices-server.ts";
import { createLog } from "./support/events.ts";
import { openV1 } from "./support/official-v1.ts";

// A task of 2025-11-25 over every transport that has sessions. Its server wants to be asked every ten minutes, so what is
// heard of the task before was told.

const path = fileURLToPath(new URL("../fixtures/children/notices-server.ts", import.meta.url));
const command = { command: process.execPath, args: ["--import", import.meta.resolve("tsx"), path] };
const own = await serveHttp(createNoticesServer(), { port: 0, sse: true });
const shared = await serveHttp(createNoticesServer(memoryStore()), { port: 0 });
afterAll(() => Promise.all([own.close(), shared.close()]));

const ways: readonly { readonly name: string; readonly target: Target }[] = [
  { name: "stdio", target: command },
  { name: "HTTP, sessions in memory", target: own.url },
  { name: "HTTP, sessions in a store", target: shared.url },
  { name: "HTTP+SSE", target: { type: "sse", url: own.url.replace("/mcp", "/sse") } },
];

const steps = [1, 2, 3].map((progress) => ({ progress, total: 3, message: `part ${progress}` }));
const states = ["working", "working part 1", "working part 2", "working part 3", "completed"];

let tokens = 0;
const textOf = ({ status, statusMessage }: Pick<Task, "status" | "statusMessage">): string =>
  statusMessage === undefined ? status : `${status} ${statusMessage}`;

/** What is heard before the client listens for it, or faster than it is read, need not be heard. */
function expectOrder(stood: readonly string[]): void {
  expect(stood).toEqual(states.filter((state) => stood.includes(state)));
  expect(stood.at(-1)).toBe("completed");
}

describe.each(ways)("a task of 2025-11-25 over $name", ({ target }) => {
  const options: ConnectOptions = { revision: "2025-11-25" };

  it("is followed by a call, with its progress (C25, F159)", async () => {
    await using client = await connect(target, options);
    const token = `call ${++tokens}`;
    const [progress, stood] = [createLog<object>(), createLog<string>()];
    const result = client.callTool(
      "work",
      { token },
      {
        onProgress(step) {
          progress.add(step);
          client.notify("acme/go", { token: `${token} ${step.progress}` });
        },
        onTask: (task) => stood.add(textOf(task)),
      },
    );
    expect(await result).toMatchObject({ content: [{ text: "worked" }] });
    expect(progress.items).toEqual(steps);
    expectOrder(stood.items);
  });

  it("is followed by a handle, with its progress (C25, F159)", async () => {
    await using client = await connect(target, options);
    const token = `handle ${++tokens}`;
    const progress = createLog<object>();
    const handle = await client.tasks.start(
      "work",
      { token },
      {
        onProgress(step) {
          progress.add(step);
          client.notify("acme/go", { token: `${token} ${step.progress}` });
        },
      },
    );
    const stood: string[] = [];
    for await (const task of handle) stood.push(textOf(task));
    expect(progress.items).toEqual(steps);
    expectOrder(stood);
  });
});

const officials: readonly { readonly name: string; open(): Transport }[] = [
  { name: "stdio", open: () => new StdioClientTransport(command) },
  { name: "HTTP, sessions in memory", open: () => new StreamableHTTPClientTransport(new URL(own.url)) },
  { name: "HTTP, sessions in a store", open: () => new StreamableHTTPClientTransport(new URL(shared.url)) },
];

describe.each(officials)("a task of the official client, version 1, over $name", ({ open }) => {
  it("tells of its progress and how it stands until it ends (C25, F159)", async () => {
    const { client } = await openV1(open());
    const [progress, stood] = [createLog<{ progress: number }>(), createLog<string>()];
    client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => stood.add(textOf(params as never)));
    const token = `official ${++tokens}`;
    await client.listTools();
    const stream = client.experimental.tasks.callToolStream({ name: "work", arguments: { token } }, undefined, {
      onprogress(step) {
        progress.add(step);
        void client.notification({ method: "acme/go", params: { token: `${token} ${step.progress}` } } as never);
      },
    });
    expect((await stream.next()).value).toMatchObject({ type: "taskCreated" });
    expect(await progress.count(3)).toMatchObject(steps);
    await stood.find((state) => state === "completed");
    expect(stood.items).toEqual(states.slice(1));
    await stream.return();
    await client.close();
  });
});
