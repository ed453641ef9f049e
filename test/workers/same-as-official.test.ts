import { describe, expect, it } from "vitest";
import type { ConnectOptions } from "../../src/connect/index.ts";
import { call, openTalk, type Talk } from "../e2e/support/talk.ts";
import { startWorker } from "./support/worker.ts";

// The same scenarios for servers made with the official SDK and with Plugbay, all in workerd. Those of the official SDK
// run what they pass there; ours run everything.

const like = "test/fixtures/workers/like-official.mjs";
const durableObjects = { SESSIONS: "Sessions" };

const [official, ours, oldest, bare] = await Promise.all([
  startWorker("test/fixtures/workers/official.mjs", { compatibilityFlags: ["nodejs_compat"], tolerates: "anything" }),
  startWorker(like, { compatibilityFlags: ["enable_request_signal"], durableObjects }),
  // Without any flag, and with the oldest date on which promises go on in the request that made them.
  startWorker(like, { compatibilityDate: "2024-10-14", durableObjects }),
  startWorker(like, { durableObjects, tolerates: "news for requests that have ended" }),
]);

type Scenario = (talk: Talk) => Promise<void>;

const scenarios = {
  "answers many calls at once": async ({ client }) => {
    const messages = Array.from({ length: 50 }, (_, index) => `message ${index}`);
    expect(await Promise.all(messages.map((message) => call(client, "echo", { message })))).toEqual(messages);
  },
  "returns structured content": async ({ client }) => {
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } });
  },
  "reports progress": async ({ client }) => {
    const heard: unknown[] = [];
    await client.callTool("slow", { steps: 3 }, { onProgress: (progress) => heard.push(progress) });
    expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
  },
  asks: async ({ client }) => {
    expect(await call(client, "greet")).toBe("Hello, Ada!");
  },
  "asks twice": async ({ client }) => {
    expect(await call(client, "paint")).toBe("Ada likes red.");
  },
  "asks the model and the client": async ({ client }) => {
    expect(await call(client, "think")).toBe("1 message, 10 tokens in file:///home");
  },
  "announces changes of a list": async ({ client }) => {
    await using tools = client.changes({ tools: true });
    await tools.ready;
    const changes = tools[Symbol.asyncIterator]();
    for (const change of ["added", "removed"]) {
      expect(await call(client, "toggle")).toBe(change);
      expect(await changes.next()).toEqual({ done: false, value: { kind: "tools" } });
    }
  },
  "tells of updates": async ({ client }) => {
    await using watched = client.watch("official://watched");
    await watched.ready;
    const updates = watched[Symbol.asyncIterator]();
    for (let update = 1; update <= 2; update++) {
      await call(client, "touch");
      expect(await updates.next()).toEqual({ done: false, value: { uri: "official://watched" } });
    }
  },
  logs: async ({ client, logged }) => {
    await call(client, "log");
    expect(await logged.count(1)).toContainEqual({ level: "warning", data: { careful: true }, logger: "official" });
  },
  "stops a call that reports progress": ({ client }) => stops(client, { onProgress: () => {} }),
  "stops a call that is silent": ({ client }) => stops(client, {}),
} satisfies Record<string, Scenario>;

type Name = keyof typeof scenarios;

async function stops(client: Talk["client"], options: { onProgress?(): void }): Promise<void> {
  const abort = new AbortController();
  const slow = client.callTool("slow", { steps: 100_000 }, { signal: abort.signal, timeoutMs: 0, ...options });
  slow.catch(() => {});
  while ((await call(client, "running")) !== "1");
  abort.abort("enough");
  await expect(slow).rejects.toMatchObject({ code: "cancelled" });
  while ((await call(client, "running")) !== "0");
}

const asking: readonly Name[] = ["asks", "asks twice", "asks the model and the client"];
const announcing: readonly Name[] = ["announces changes of a list", "tells of updates"];
const stopping: readonly Name[] = ["stops a call that reports progress", "stops a call that is silent"];
const all = Object.keys(scenarios) as readonly Name[];
const without = (...names: readonly Name[]): readonly Name[] => all.filter((name) => !names.includes(name));

const modern: ConnectOptions = { revision: "2026-07-28" };
const legacy: ConnectOptions = { revision: "2025-11-25" };

describe.each([
  // Its library for forms generates code, which Workers forbid.
  { path: "/v1", options: legacy, passes: without("asks twice", ...stopping) },
  { path: "/v1-stateless", options: legacy, passes: without(...asking, ...announcing, ...stopping, "logs") },
  { path: "/v2", options: modern, passes: without(...stopping) },
  { path: "/v2", options: legacy, passes: without(...asking, ...announcing, ...stopping) },
  { path: "/v2-sessions", options: legacy, passes: without(...asking, ...stopping) },
])("the official SDK in a Worker at $path, $options.revision", ({ path, options, passes }) => {
  it.each(passes)("%s", async (name) => {
    await using talk = await openTalk(`${official.url}${path}`, options);
    await scenarios[name](talk);
  });
});

const places = [
  { path: "/mcp", options: modern, passes: all },
  { path: "/mcp", options: legacy, passes: all },
  { path: "/mcp", options: { revision: "2025-06-18" }, passes: all },
  { path: "/sse", options: legacy, passes: all },
  { path: "/object", options: modern, passes: all },
  { path: "/object", options: legacy, passes: all },
  { path: "/stateless", options: modern, passes: all },
  // A client of an older revision can be asked and told nothing where nothing is kept of it, and does not cancel either.
  { path: "/stateless", options: legacy, passes: without(...asking, ...announcing, ...stopping, "logs") },
] as const;

describe.each([
  ...places.map((place) => ({ ...place, platform: "with request signals", worker: ours })),
  ...places.map((place) => ({ ...place, platform: "of October 2024", worker: oldest })),
  // When a client leaves, the platform ends its request, and whatever goes on in it, without a word.
  { path: "/bare", options: modern, passes: without(...stopping), platform: "without its context", worker: bare },
  { path: "/bare", options: legacy, passes: all, platform: "without its context", worker: bare },
])("Plugbay in a Worker $platform at $path, $options.revision", ({ path, options, passes, worker }) => {
  it.each(passes)("%s (I2)", async (name) => {
    await using talk = await openTalk(`${worker.url}${path}`, options);
    await scenarios[name](talk);
  });
});
