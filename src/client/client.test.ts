import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import type { Connection, Ending } from "../protocol/connection.ts";
import { McpError } from "../protocol/errors.ts";
import type { Question } from "../protocol/input.ts";
import type { ServerCapabilities } from "../protocol/peer.ts";
import type { Call, Outcome, Service } from "../protocol/service.ts";
import { createManualClock } from "../testing/clock.ts";
import { type Client, type ClientOptions, createClient } from "./client.ts";
import { createRequestHandlers } from "./request-handlers.ts";

type Script = (call: Call) => Promise<Outcome>;

const everything: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

interface Setting extends ClientOptions {
  readonly server?: ServerCapabilities;
  readonly connection?: Partial<Connection>;
}

function setUp(script: Script, { server = everything, connection: parts, ...options }: Setting = {}) {
  const clock = createManualClock();
  const calls: Call[] = [];
  let end = (_: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const service: Script = (call) => {
    calls.push(call);
    return script(call);
  };
  const handlers = createRequestHandlers(options);
  const connection: Connection = {
    service: service as Service,
    revision: "2026-07-28",
    server: { supportedVersions: ["2026-07-28"], capabilities: server, serverInfo: { name: "shop", version: "1" } },
    peer: { revision: "2026-07-28", capabilities: handlers.capabilities },
    ended,
    close: async () => end(undefined),
    ...parts,
  };
  const client = createClient(connection, handlers, { clock, ...options });
  return { calls, client, clock, handlers, end };
}

const giving =
  (result: object): Script =>
  async () =>
    ({ kind: "complete", result: result as JsonObject & { content: [] } }) as unknown as Outcome;

const never = new Promise<Outcome>(() => {});
const hang: Script = () => never;
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no error",
    (error: unknown) => (error instanceof McpError ? error.code : `not an McpError: ${error}`),
  );
}

describe("typed calls", () => {
  it.each<[string, (client: Client) => Promise<unknown>, object]>([
    ["tools/call", (client) => client.callTool("buy", { sku: "A" }), { name: "buy", arguments: { sku: "A" } }],
    ["tools/call", (client) => client.callTool("ping"), { name: "ping" }],
    ["resources/read", (client) => client.readResource("a://b"), { uri: "a://b" }],
    ["prompts/get", (client) => client.getPrompt("p", { x: "1" }), { name: "p", arguments: { x: "1" } }],
    ["prompts/get", (client) => client.getPrompt("p"), { name: "p" }],
    [
      "completion/complete",
      (client) => client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "x", value: "" } }),
      { ref: { type: "ref/prompt", name: "p" }, argument: { name: "x", value: "" } },
    ],
    ["server/discover", (client) => client.discover(), {}],
  ])("%s", async (method, act, params) => {
    const result = { content: [] };
    const { calls, client } = setUp(giving(result));
    expect(await act(client)).toBe(result);
    expect(calls).toMatchObject([{ method, params, meta: {}, answers: undefined, state: undefined }]);
    expect(calls[0]?.params).toStrictEqual(params);
  });

  it("says who the server is", () => {
    const { client } = setUp(hang);
    expect(client).toMatchObject({ revision: "2026-07-28", server: { serverInfo: { name: "shop" } } });
  });

  it("returns a failure that a tool reports; throws one of the protocol", async () => {
    const reported = { content: [], isError: true };
    expect(await setUp(giving(reported)).client.callTool("buy")).toBe(reported);
    const failure = { code: "invalid-params", message: "unknown tool buy", data: { name: "buy" } } as const;
    const { client } = setUp(async () => ({ kind: "failed", failure }));
    await expect(client.callTool("buy")).rejects.toMatchObject(failure);
  });

  it.each<[string, string, (client: Client) => Promise<unknown>]>([
    ["tools/call", "tools", (client) => client.callTool("x")],
    ["tools/list", "tools", (client) => client.listTools()],
    ["resources/list", "resources", (client) => client.listResources()],
    ["resources/templates/list", "resources", (client) => client.listResourceTemplates()],
    ["resources/read", "resources", (client) => client.readResource("a://b")],
    ["prompts/list", "prompts", (client) => client.listPrompts()],
    ["prompts/get", "prompts", (client) => client.getPrompt("p")],
    [
      "completion/complete",
      "completions",
      (client) => client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "x", value: "" } }),
    ],
    ["logging/setLevel", "logging", (client) => client.setLogLevel("info")],
    ["subscriptions/listen", "resources.subscribe", (client) => client.watch("a://b").ready],
    ["subscriptions/listen", "tools.listChanged", (client) => client.changes({ tools: true }).ready],
  ])("C56: %s fails locally when the server has no %s", async (method, capability, act) => {
    const { calls, client } = setUp(hang, { server: {} });
    await expect(act(client)).rejects.toMatchObject({
      code: "unsupported",
      message: `${method} needs the capability ${capability}, which server "shop" does not have; look at client.server.capabilities`,
    });
    expect(calls).toEqual([]);
  });

  it("C14: raw requests skip the gate and obey the same limits", async () => {
    const { calls, client, clock } = setUp(hang, { server: {}, maxOpenRequests: 3, maxQueuedCalls: 1 });
    const abort = new AbortController();
    const first = codeOf(client.request("tools/list", {}, { signal: abort.signal }));
    const second = codeOf(client.request("vendor/thing", { a: 1 }, { timeoutMs: 5 }));
    const third = codeOf(client.request("vendor/other"));
    const fourth = codeOf(client.request("vendor/last"));
    expect(await codeOf(client.request("vendor/other"))).toBe("limit-reached");
    abort.abort();
    clock.advance(5);
    await client.close();
    const codes = ["cancelled", "timeout", "connection-closed", "connection-closed"];
    expect(await Promise.all([first, second, third, fourth])).toEqual(codes);
    expect(calls.map(({ method, params }) => [method, params])).toEqual([
      ["tools/list", {}],
      ["vendor/thing", { a: 1 }],
      ["vendor/other", {}],
      ["vendor/last", {}],
    ]);
  });
});

describe("lists", () => {
  const paged: Script = async (call) => {
    const { cursor } = call.params as { readonly cursor?: string };
    const tools = [{ name: `tool${cursor ?? ""}`, inputSchema: { type: "object" } }];
    return { kind: "complete", result: cursor === "2" ? { tools } : { tools, nextCursor: cursor === "1" ? "2" : "1" } };
  };

  it("walks all pages", async () => {
    const { calls, client } = setUp(paged);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["tool", "tool1", "tool2"]);
    expect(calls.map(({ params }) => params)).toEqual([{}, { cursor: "1" }, { cursor: "2" }]);
  });

  it("goes page by page when told to, from any cursor", async () => {
    const { calls, client } = setUp(paged);
    for await (const page of client.pages("tools/list", { cursor: "1" })) {
      expect(page.nextCursor).toBe("2");
      break;
    }
    expect(calls).toHaveLength(1);
  });

  it("C138: stops at the limit of pages", async () => {
    const { client } = setUp(paged, { maxPages: 2 });
    expect(await codeOf(client.listTools())).toBe("limit-reached");
  });

  it("leaves malformed tools out, with a warning", async () => {
    const warnings: unknown[] = [];
    const { client } = setUp(giving({ tools: [{ name: "bad" }] }), { onWarning: (warning) => warnings.push(warning) });
    expect(await client.listTools()).toEqual([]);
    expect(warnings).toMatchObject([{ kind: "tool-left-out" }]);
  });
});

describe("the cache", () => {
  it("answers while a result is fresh, unless a fresh one is wanted or the cache is off", async () => {
    const result = { contents: [], ttlMs: 1_000 };
    const { calls, client, clock } = setUp(giving(result));
    for (const options of [{}, {}, { fresh: true }, {}]) await client.readResource("a://b", options);
    expect(calls).toHaveLength(2);
    clock.advance(1_000);
    await client.readResource("a://b");
    expect(calls).toHaveLength(3);
    const uncached = setUp(giving(result), { cache: false });
    await uncached.client.readResource("a://b");
    await uncached.client.readResource("a://b");
    expect(uncached.calls).toHaveLength(2);
  });

  it("starts a list anew, past the cache, when the server has forgotten a kept cursor", async () => {
    let generation = "old";
    const script: Script = async (call) => {
      const { cursor } = call.params as { readonly cursor?: string };
      const prompts = [{ name: `${generation} ${cursor ?? "first"}` }];
      if (cursor === undefined) return { kind: "complete", result: { prompts, nextCursor: generation, ttlMs: 1_000 } };
      if (cursor === generation) return { kind: "complete", result: { prompts } };
      return { kind: "failed", failure: { code: "invalid-params", message: `unknown cursor ${cursor}` } };
    };
    const { client } = setUp(script);
    await client.listPrompts();
    generation = "new";
    expect(await client.listPrompts()).toEqual([{ name: "new first" }, { name: "new new" }]);
  });
});

describe("output checks", () => {
  const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const script: Script = async ({ method }) =>
    ({
      kind: "complete",
      result:
        method === "tools/list"
          ? { tools: [{ name: "count", inputSchema: { type: "object" }, outputSchema }] }
          : { content: [], structuredContent: { n: "many" } },
    }) as Outcome;

  it("start with the first list of tools", async () => {
    const { client } = setUp(script);
    expect(await client.callTool("count")).toMatchObject({ structuredContent: { n: "many" } });
    await client.listTools();
    await expect(client.callTool("count")).rejects.toMatchObject({ code: "invalid-response" });
    expect(await client.callTool("other")).toMatchObject({ structuredContent: { n: "many" } });
  });

  it("can be switched off", async () => {
    const { client } = setUp(script, { checkOutput: false });
    await client.listTools();
    expect(await client.callTool("count")).toMatchObject({ structuredContent: { n: "many" } });
  });
});

describe("rounds of input", () => {
  const question = (message: string): Question => ({
    method: "elicitation/create",
    params: { message, requestedSchema: { type: "object", properties: {} } },
  });

  it("calls again with the answers and the very state, everything else unchanged", async () => {
    const outcomes: Outcome[] = [
      { kind: "input-required", questions: { q1: question("one") }, state: "s=1 \u00e9" },
      { kind: "input-required", questions: { q2: question("two") } },
      { kind: "complete", result: { content: [] } },
    ];
    const onElicit: ClientOptions["onElicit"] = ({ message }) => ({ action: message === "one" ? "accept" : "decline" });
    const { calls, client } = setUp(async () => outcomes.shift() ?? never, { onElicit });
    const meta = { trace: "t" };
    expect(await client.callTool("buy", { sku: "A" }, { meta, onProgress: () => {} })).toEqual({ content: [] });
    expect(calls.map(({ answers, state }) => ({ answers, state }))).toEqual([
      { answers: undefined, state: undefined },
      { answers: { q1: { action: "accept", content: {} } }, state: "s=1 \u00e9" },
      { answers: { q2: { action: "decline" } }, state: undefined },
    ]);
    for (const call of calls) {
      expect(call.params).toBe(calls[0]?.params);
      expect(call).toMatchObject({ method: "tools/call", meta, wantsProgress: true });
    }
    expect(new Set(calls).size).toBe(3);
  });

  it("never mixes up the states of parallel calls", async () => {
    const script: Script = async (call) => {
      const { name } = call.params as { readonly name: string };
      if (call.state !== undefined)
        return { kind: "complete", result: { content: [{ type: "text", text: call.state }] } };
      return { kind: "input-required", questions: { q: question(name) }, state: `state of ${name}` };
    };
    const { client } = setUp(script, { onElicit: () => ({ action: "accept" }) });
    const names = ["a", "b", "c"];
    const results = await Promise.all(names.map((name) => client.callTool(name)));
    expect(results.map(({ content: [block] }) => block?.type === "text" && block.text)).toEqual(
      names.map((name) => `state of ${name}`),
    );
  });

  it("ends after maxRounds", async () => {
    const { calls, client } = setUp(async () => ({ kind: "input-required", questions: { q: question("more") } }), {
      onElicit: () => ({ action: "decline" }),
      maxRounds: 3,
    });
    await expect(client.callTool("buy")).rejects.toMatchObject({
      code: "limit-reached",
      message: expect.stringMatching(
        /^tools\/call "buy" on server "shop" asked for input more than 3 times \(maxRounds\)/,
      ),
    });
    expect(calls).toHaveLength(4);
  });

  it("tries again after a moment when the server is only busy", async () => {
    const { calls, client, clock } = setUp(async ({ state }) =>
      state === undefined
        ? { kind: "input-required", questions: {}, state: "later" }
        : { kind: "complete", result: { content: [] } },
    );
    const promise = client.callTool("buy");
    await settled();
    expect(calls).toHaveLength(1);
    clock.advance(50);
    expect(await promise).toEqual({ content: [] });
    expect(calls[1]).toMatchObject({ answers: undefined, state: "later" });
  });

  it("C51: ends the call when nobody here answers such questions", async () => {
    const { client } = setUp(async () => ({ kind: "input-required", questions: { q: question("?") } }));
    await expect(client.callTool("buy")).rejects.toMatchObject({
      code: "missing-capability",
      message:
        'tools/call "buy" on server "shop" asks for elicitation/create, which this client does not answer; give connect onElicit',
    });
  });

  it("C44: tells the handlers when the call is cancelled or another of them fails", async () => {
    const signals: AbortSignal[] = [];
    const refusal = new McpError("rejected", "no");
    const options: ClientOptions = {
      onElicit: ({ message }, { signal }) => {
        signals.push(signal);
        return message === "fails" ? Promise.reject(refusal) : new Promise(() => {});
      },
    };
    const asking = (...messages: string[]): Script => {
      const questions = Object.fromEntries(messages.map((message) => [message, question(message)]));
      return async () => ({ kind: "input-required", questions });
    };
    const abort = new AbortController();
    const cancelled = codeOf(setUp(asking("waits"), options).client.callTool("x", {}, { signal: abort.signal }));
    await settled();
    abort.abort();
    expect(await cancelled).toBe("cancelled");
    await expect(setUp(asking("waits", "fails"), options).client.callTool("x")).rejects.toBe(refusal);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
  });

  it("counts all rounds, but not the user's thinking as silence", async () => {
    let answer = (_: JsonObject): void => {};
    const onElicit = () =>
      new Promise<JsonObject>((resolve) => {
        answer = resolve;
      });
    const script: Script = async (call) =>
      call.answers === undefined ? { kind: "input-required", questions: { q: question("?") } } : never;
    const { calls, client, clock } = setUp(script, { onElicit });
    const code = codeOf(client.callTool("x", {}, { timeoutMs: 100, maxTotalMs: 1_000 }));
    await settled();
    clock.advance(900);
    answer({});
    await settled();
    expect(calls).toHaveLength(2);
    clock.advance(99);
    await settled();
    clock.advance(1);
    expect(await code).toBe("timeout");
  });

  it("lets a service in this process ask while the call waits", async () => {
    const script: Script = async (call) => {
      const said = await call.ask?.(question("live?"));
      return { kind: "complete", result: { content: [], structuredContent: said ?? null } };
    };
    expect(await setUp(script, { onElicit: () => ({ action: "decline" }) }).client.callTool("x")).toMatchObject({
      structuredContent: { action: "decline" },
    });
    expect(await setUp(script).client.callTool("x")).toMatchObject({ structuredContent: null });
  });

  it("C80: a handler may call the same client, and other calls go on while it works", async () => {
    const clients: Client[] = [];
    const script: Script = async (call) => {
      const { name } = call.params as { readonly name: string };
      if (name === "outer" && call.answers === undefined) {
        return { kind: "input-required", questions: { q: question("?") } };
      }
      return { kind: "complete", result: { content: [{ type: "text", text: name }] } };
    };
    const { client } = setUp(script, {
      onElicit: async () => {
        await clients[0]?.callTool("inner");
        return { action: "accept" };
      },
    });
    clients.push(client);
    const [outer, beside] = await Promise.all([client.callTool("outer"), client.callTool("beside")]);
    expect([outer.content, beside.content]).toEqual([
      [{ type: "text", text: "outer" }],
      [{ type: "text", text: "beside" }],
    ]);
  });

  it("never keeps a result that took answers", async () => {
    const script: Script = async ({ answers }) =>
      answers === undefined
        ? { kind: "input-required", questions: { q: question("?") } }
        : { kind: "complete", result: { contents: [], ttlMs: 1_000 } };
    const { calls, client } = setUp(script, { onElicit: () => ({ action: "decline" }) });
    await client.readResource("a://b");
    await client.readResource("a://b");
    expect(calls).toHaveLength(4);
  });
});

describe("upkeep", () => {
  it("pings by what the revision has", async () => {
    const modern = setUp(giving({}));
    await modern.client.ping();
    expect(modern.calls.map(({ method }) => method)).toEqual(["server/discover"]);
    let pings = 0;
    const ping = async () => {
      pings++;
    };
    const legacy = setUp(hang, { connection: { ping } });
    await legacy.client.ping();
    expect([pings, legacy.calls.length]).toEqual([1, 0]);
  });

  it("limits the time of a ping like that of any call", async () => {
    const { client, clock } = setUp(hang, { connection: { ping: () => new Promise(() => {}) } });
    const code = codeOf(client.ping({ timeoutMs: 10 }));
    clock.advance(10);
    expect(await code).toBe("timeout");
  });

  it("asks calls for the new log level, and tells a connection that keeps one", async () => {
    const levels: string[] = [];
    const setLogLevel = async (level: string) => {
      levels.push(level);
    };
    const { calls, client } = setUp(giving({ content: [] }), { connection: { setLogLevel }, onLog: () => {} });
    await client.callTool("x");
    await client.setLogLevel("debug");
    await client.callTool("x");
    expect(levels).toEqual(["debug"]);
    expect(calls.map(({ logLevel }) => logLevel)).toEqual(["info", "debug"]);
  });

  it("discovers a legacy server by what it said at the start", async () => {
    const { calls, client } = setUp(hang, { connection: { revision: "2025-06-18" } });
    expect(await client.discover()).toBe(client.server);
    expect(calls).toEqual([]);
  });

  it("C54: tells the server of new roots where the revision has it; the next question sees them", async () => {
    const told: unknown[] = [];
    const { client, handlers } = setUp(hang, {
      roots: [],
      connection: { tell: (method, params) => told.push([method, params]) },
    });
    client.setRoots([{ uri: "file:///a" }]);
    expect(told).toEqual([["notifications/roots/list_changed", {}]]);
    const asked = handlers.answer({ method: "roots/list", params: {} }, new AbortController().signal);
    expect(await asked).toEqual({ roots: [{ uri: "file:///a" }] });
  });

  it("C54: says nothing when roots cannot be set", () => {
    const told: unknown[] = [];
    const { client } = setUp(hang, { connection: { tell: (method) => told.push(method) } });
    expect(() => client.setRoots([])).toThrow(expect.objectContaining({ code: "unsupported" }));
    expect(told).toEqual([]);
  });
});

describe("the end", () => {
  it("C153: close is idempotent, fails what is open and refuses what comes", async () => {
    const { client } = setUp(hang);
    const open = client.callTool("x");
    open.catch(() => {});
    const first = client.close();
    expect(client.close()).toBe(first);
    await first;
    await expect(open).rejects.toMatchObject({
      code: "connection-closed",
      message: 'tools/call "x" on server "shop" failed: the client is closed',
    });
    await expect(client.callTool("x")).rejects.toMatchObject({ code: "connection-closed" });
    expect(await client.closed).toBeUndefined();
  });

  it("C153: may be closed from inside a handler", async () => {
    const clients: Client[] = [];
    const script: Script = async () => ({
      kind: "input-required",
      questions: { q: { method: "roots/list", params: {} } },
    });
    const { client } = setUp(script, {
      roots: async () => {
        await clients[0]?.close();
        return [];
      },
    });
    clients.push(client);
    expect(await codeOf(client.callTool("x"))).toBe("connection-closed");
  });

  it("closes with its block", async () => {
    const { client, calls } = setUp(hang);
    {
      await using scoped = client;
      expect(scoped.revision).toBe("2026-07-28");
    }
    expect(await codeOf(client.callTool("x"))).toBe("connection-closed");
    expect(calls).toEqual([]);
  });

  it("C10: a connection that breaks fails what is open, but not before what has arrived", async () => {
    let answer = (_: Outcome): void => {};
    const script: Script = async ({ params }) => {
      if ((params as { readonly name: string }).name === "hangs") return never;
      const outcome = await new Promise<Outcome>((resolve) => {
        answer = resolve;
      });
      await null;
      await null;
      return outcome;
    };
    const { client, clock, end } = setUp(script);
    const hanging = client.callTool("hangs");
    hanging.catch(() => {});
    const answered = client.callTool("answered");
    answer({ kind: "complete", result: { content: [] } });
    end({ code: "connection-closed", message: "the process has gone" });
    await settled();
    clock.advance(0);
    expect(await answered).toEqual({ content: [] });
    await expect(hanging).rejects.toMatchObject({
      code: "connection-closed",
      message: 'tools/call "hangs" on server "shop" failed: the process has gone',
    });
    expect(await client.closed).toMatchObject({ message: "the process has gone" });
  });
});
