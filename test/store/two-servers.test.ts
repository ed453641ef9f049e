import { describe, expect, it, onTestFinished } from "vitest";
import { metaKeys } from "../../src/protocol/meta.ts";
import { tasksExtension } from "../../src/protocol/task.ts";
import { createServer, resource, type Server, tool } from "../../src/server/index.ts";
import { systemClock } from "../../src/std/clock.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { openStore } from "../../src/store/node/index.ts";
import type { Store } from "../../src/store/store.ts";
import { type FakeEndpoint, messagesOf, modernRequest, serveFake } from "../support/fake-endpoint.ts";
import { eventually } from "../support/patience.ts";
import { redisProgram, startRedis } from "../support/redis.ts";
import { notification, request } from "../support/served.ts";
import { hasSqlite, testWithSqlite } from "./node22.ts";
import { newPath } from "./sqlite-place.ts";

// Two servers of different names that share one store, with the same keys: neither knows what belongs to the other.

/** A server in a process of its own. */
interface Process extends AsyncDisposable {
  readonly server: Server;
  readonly endpoint: FakeEndpoint;
}

type Kept = "of the server" | "of serveHttp";

function serve(name: string, version: string, store: Store, kept: Kept): Process {
  const server = createServer({
    name,
    version,
    ...(kept === "of the server" && { store }),
    stateKeys: ["3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E"],
    subscribe: true,
    listChanged: true,
    resources: [resource("own://it", { read: () => "it" })],
    tools: {
      work: tool({
        task: "required",
        run: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("ended"))),
      }),
    },
  });
  const options = { clock: systemClock, keepAliveMs: 0, sessionTtlMs: 0, ...(kept === "of serveHttp" && { store }) };
  const endpoint = serveFake(server, options);
  return {
    server,
    endpoint,
    async [Symbol.asyncDispose]() {
      await endpoint.endpoint.close();
      await server.close();
    },
  };
}

async function openSession({ endpoint }: Process): Promise<{ readonly "mcp-session-id": string }> {
  const params = { protocolVersion: "2025-11-25", clientInfo: { name: "test", version: "1" }, capabilities: {} };
  const reply = endpoint.post(request(1, "initialize", params));
  await reply.begun;
  const id = String((reply.sent?.headers ?? reply.head)?.["mcp-session-id"]);
  const session = { "mcp-session-id": id };
  await endpoint.post(notification("notifications/initialized"), session).begun;
  return session;
}

async function statusOf({ endpoint }: Process, session: Readonly<Record<string, string>>): Promise<number | undefined> {
  const reply = endpoint.post(request(2, "tools/list"), session);
  await reply.begun;
  return reply.sent?.status ?? 200;
}

const meta = { [metaKeys.clientCapabilities]: { elicitation: {}, extensions: { [tasksExtension]: {} } } };

async function ask({ endpoint }: Process, method: string, params: Readonly<Record<string, never>> | object) {
  const { body, headers } = modernRequest(3, method, { ...params }, meta);
  const taskId = "taskId" in params ? { "mcp-name": String(params.taskId) } : {};
  const reply = endpoint.post(body, { ...headers, ...taskId });
  await eventually(() => expect(messagesOf(reply).some(({ id }) => id === 3)).toBe(true));
  return messagesOf(reply).find(({ id }) => id === 3) ?? {};
}

function listen({ endpoint }: Process) {
  const notifications = { toolsListChanged: true, resourceSubscriptions: ["own://it"] };
  const { body, headers } = modernRequest(4, "subscriptions/listen", { notifications }, meta);
  const reply = endpoint.post(body, headers);
  return {
    leave: reply.leave,
    heard: () => messagesOf(reply).map(({ method }) => method),
  };
}

const acknowledged = "notifications/subscriptions/acknowledged";

function testOn(title: string, open: () => Promise<readonly [Store, Store, Store]>): void {
  describe(`two servers on one store, ${title} (S11)`, () => {
    it.each(["of the server", "of serveHttp"] as const)("do not have sessions in common: a store %s", async (kept) => {
      const stores = await open();
      await using shop = serve("shop", "1", stores[0], kept);
      await using other = serve("bank", "1", stores[1], kept);
      await using newer = serve("shop", "2", stores[2], kept);
      const session = await openSession(shop);
      expect(await statusOf(shop, session)).toBe(200);
      expect(await statusOf(other, session)).toBe(404);
      const gone = other.endpoint.request("DELETE", "", session);
      await gone.begun;
      expect(gone.sent?.status).toBe(404);
      // A newer version of the same server goes on with it.
      expect(await statusOf(newer, session)).toBe(200);
    });

    it("do not hear of each other's changes", async () => {
      const stores = await open();
      await using shop = serve("shop", "1", stores[0], "of the server");
      await using other = serve("bank", "1", stores[1], "of the server");
      await using newer = serve("shop", "2", stores[2], "of the server");
      const [here, there] = [listen(newer), listen(other)];
      const both = () => [here.heard(), there.heard()];
      await eventually(() => expect(both()).toEqual([[acknowledged], [acknowledged]]));
      shop.server.resourceUpdated("own://it");
      await eventually(() => expect(here.heard()).toEqual([acknowledged, "notifications/resources/updated"]));
      // What the other hears comes in order: nothing was told before its own change.
      other.server.listChanged("tools");
      await eventually(() => expect(there.heard()).toEqual([acknowledged, "notifications/tools/list_changed"]));
      expect(here.heard()).toHaveLength(2);
      for (const listener of [here, there]) listener.leave();
    });

    it("do not have tasks in common", async () => {
      const stores = await open();
      await using shop = serve("shop", "1", stores[0], "of the server");
      await using other = serve("bank", "1", stores[1], "of the server");
      await using newer = serve("shop", "2", stores[2], "of the server");
      const { result } = await ask(shop, "tools/call", { name: "work", arguments: {} });
      const { taskId } = result as { readonly taskId: string };
      for (const method of ["tasks/get", "tasks/cancel"]) {
        expect(await ask(other, method, { taskId })).toMatchObject({ error: { message: "unknown task" } });
      }
      expect(await ask(newer, "tasks/get", { taskId })).toMatchObject({ result: { status: "working" } });
      await ask(shop, "tasks/cancel", { taskId });
    });
  });
}

testOn("in memory", async () => {
  const store = memoryStore();
  return [store, store, store];
});

const openAll = async (url: string) => [await openStore(url), await openStore(url), await openStore(url)] as const;

if (hasSqlite) testOn("in SQLite", () => openAll(`sqlite:${newPath()}`));
else testWithSqlite("test/store/two-servers.test.ts", 4, "in SQLite");

describe.skipIf(redisProgram === undefined)("Redis", () => {
  testOn("in Redis", async () => {
    const redis = await startRedis("--appendonly", "no");
    const stores = await openAll(redis.url);
    onTestFinished(async () => {
      for (const store of stores) await store.close();
      await redis[Symbol.asyncDispose]();
    });
    return stores;
  });
});
