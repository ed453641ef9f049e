import { describe, expect, it } from "vitest";
import { asJson, type JsonObject } from "../json/json.ts";
import type { Connection, Ending } from "../protocol/connection.ts";
import type { Revision } from "../protocol/revision.ts";
import type { Call, Outcome, Service } from "../protocol/service.ts";
import { type DetailedTask, type Task, tasksExtension } from "../protocol/task.ts";
import { createManualClock } from "../testing/clock.ts";
import { type Client, type ClientOptions, createClient } from "./client.ts";
import { createRequestHandlers } from "./request-handlers.ts";
import "./task-follower.ts";
import "./task-handles.ts";

const at = "2026-01-01T00:00:00.000Z";
const base = { taskId: "t1", createdAt: at, lastUpdatedAt: at, ttlMs: 60_000 };
const working: DetailedTask = { ...base, status: "working" };
const result = { content: [], structuredContent: { loaves: 2 } };
const completed: DetailedTask = { ...base, status: "completed", result };

type Script = (call: Call) => object | undefined;

interface Setting extends ClientOptions {
  readonly revision?: Revision;
  readonly extensions?: Readonly<Record<string, JsonObject>>;
  /** Results, or outcomes, of the calls that are not like those of a server with one task. */
  readonly script?: Script;
}

const bake = {
  name: "bake",
  inputSchema: { type: "object" },
  outputSchema: { type: "object", properties: { loaves: { type: "number" } } },
  execution: { taskSupport: "optional" },
};

function setUp({ revision = "2026-07-28", extensions = { [tasksExtension]: {} }, script, ...options }: Setting = {}) {
  const clock = createManualClock();
  const calls: Call[] = [];
  let state: DetailedTask = working;
  let end = (_: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const standard: Readonly<Record<string, () => object>> = {
    "tools/list": () => ({ tools: [bake, { name: "ask", inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ kind: "task", task: working }),
    "tasks/get": () => state,
    "tasks/cancel": () => ({}),
    "tasks/result": () => result,
    "subscriptions/listen": () => new Promise(() => {}),
  };
  const service = async (call: Call): Promise<Outcome> => {
    calls.push(call);
    const given = (await (script?.(call) ?? standard[call.method]?.())) ?? {};
    return ("kind" in given ? given : { kind: "complete", result: given }) as Outcome;
  };
  const handlers = createRequestHandlers(options);
  const connection: Connection = {
    service: service as Service,
    revision,
    server: {
      supportedVersions: [revision],
      capabilities: { tools: {}, extensions },
      serverInfo: { name: "bakery", version: "1" },
    },
    peer: { revision, capabilities: handlers.capabilities },
    ended,
    close: async () => end(undefined),
  };
  const client = createClient(connection, handlers, { clock, ...options });
  return {
    calls,
    client,
    clock,
    become(next: DetailedTask) {
      state = next;
    },
    count: (method: string) => calls.filter((call) => call.method === method).length,
  };
}

const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
const failed = (code: string) => ({ kind: "failed", failure: { code, message: code } });

describe("start", () => {
  it("gives a handle at once; nothing is asked until somebody wants to know", async () => {
    const { become, calls, client, clock, count } = setUp();
    const handle = await client.tasks.start("bake", { loaves: 2 }, { idempotencyKey: "k" });
    expect(calls).toMatchObject([{ method: "tools/call", params: { name: "bake", arguments: { loaves: 2 } } }]);
    expect(calls[0]?.meta).toEqual({ "plugbay/key": "k" });
    expect([handle.id, handle.task]).toEqual(["t1", working]);
    await clock.advanceAsync(60_000);
    expect(calls).toHaveLength(1);
    become(completed);
    const promise = handle.result();
    await clock.advanceAsync(1_000);
    expect(await promise).toEqual(result);
    expect(await handle.result()).toEqual(result);
    expect([handle.task, count("tasks/get")]).toEqual([completed, 1]);
  });

  it("gives a finished handle when the server answers at once", async () => {
    const { calls, client } = setUp({ script: () => result });
    const handle = await client.tasks.start("bake");
    expect(handle).toMatchObject({ id: undefined, task: { taskId: "", status: "completed", result } });
    expect(await handle.result()).toEqual(result);
    expect(await handle.status()).toBe(handle.task);
    await handle.cancel();
    const states: Task[] = [];
    for await (const state of handle) states.push(state);
    expect(states).toEqual([handle.task]);
    expect(calls).toHaveLength(1);
  });

  it("checks what the tool promised", async () => {
    const { client } = setUp({
      script: ({ method }) => (method === "tools/call" ? { content: [], structuredContent: 7 } : undefined),
    });
    await client.listTools();
    await expect(client.tasks.start("bake")).rejects.toMatchObject({ code: "invalid-response" });
  });

  it("cancels a task that came too late", async () => {
    let answer = (_: object): void => {};
    const late = new Promise<object>((resolve) => {
      answer = resolve;
    });
    const { client, count } = setUp({ script: ({ method }) => (method === "tools/call" ? late : undefined) });
    const abort = new AbortController();
    const start = client.tasks.start("bake", {}, { signal: abort.signal });
    await settled();
    abort.abort();
    answer({ kind: "task", task: working });
    await expect(start).rejects.toMatchObject({ code: "cancelled" });
    await settled();
    expect(count("tasks/cancel")).toBe(1);
  });

  it("is refused where tasks are switched off and one comes all the same", async () => {
    const { client } = setUp({ tasks: false });
    await expect(client.tasks.start("bake")).rejects.toMatchObject({ code: "invalid-response" });
  });

  it.each<[string, Setting, string, object | undefined]>([
    ["asks a server of 2025-11-25 for a task", {}, "bake", { wanted: true, ttlMs: 5_000 }],
    ["does not for a tool that runs as none", {}, "ask", undefined],
    ["does not where the server has no tasks", { extensions: {} }, "bake", undefined],
    ["does not where they are switched off", { tasks: false }, "bake", undefined],
  ])("%s", async (_, setting, name, tasks) => {
    const script: Script = (call) => (call.method === "tools/call" && !call.tasks ? result : undefined);
    const { calls, client } = setUp({ revision: "2025-11-25", script, ...setting });
    await client.tasks.start(name, {}, { ttlMs: 5_000 });
    const call = calls.find(({ method }) => method === "tools/call");
    expect(call?.tasks).toEqual(tasks);
  });
});

describe("a handle", () => {
  it("tells every reader how the task stands, up to the end", async () => {
    const { become, client, clock, count } = setUp();
    const handle = await client.tasks.start("bake");
    const read = async () => {
      const states: (string | undefined)[] = [];
      for await (const { status, statusMessage } of handle) states.push(statusMessage ?? status);
      return states;
    };
    const reading = Promise.all([read(), read()]);
    await clock.advanceAsync(1_000);
    become({ ...working, statusMessage: "kneading" });
    await clock.advanceAsync(1_000);
    become({ ...base, status: "failed", failure: { code: "internal", message: "burnt" } });
    await clock.advanceAsync(1_000);
    expect(await reading).toEqual([
      ["working", "kneading", "failed"],
      ["working", "kneading", "failed"],
    ]);
    expect(count("tasks/get")).toBe(3);
    await expect(handle.result()).rejects.toMatchObject({ code: "internal", message: "burnt" });
  });

  it("stops asking when the last reader has gone, and the task goes on", async () => {
    const { client, clock, count } = setUp();
    const handle = await client.tasks.start("bake");
    for await (const { status } of handle) {
      expect(status).toBe("working");
      break;
    }
    const abort = new AbortController();
    const waiting = handle.result({ signal: abort.signal });
    abort.abort("enough");
    await expect(waiting).rejects.toMatchObject({ code: "cancelled", cause: "enough" });
    await clock.advanceAsync(60_000);
    expect([count("tasks/get"), count("tasks/cancel"), clock.pending]).toEqual([0, 0, 0]);
  });

  it("does not wait for a signal that is aborted", async () => {
    const { client } = setUp();
    const handle = await client.tasks.start("bake");
    await expect(handle.result({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
  });

  it("can be asked again when the task was lost from sight", async () => {
    let gone = true;
    const script: Script = ({ method }) => (gone && method === "tasks/get" ? failed("http-error") : undefined);
    const { become, client, clock, count } = setUp({ script });
    const handle = await client.tasks.start("bake");
    const first = handle.result();
    const lost = expect(first).rejects.toMatchObject({ code: "http-error" });
    const loop = expect(
      handle[Symbol.asyncIterator]()
        .next()
        .then(() => handle.result()),
    ).rejects.toThrow();
    await clock.advanceAsync(1_000);
    await Promise.all([lost, loop]);
    gone = false;
    become(completed);
    const again = handle.result();
    await clock.advanceAsync(1_000);
    expect(await again).toEqual(result);
    expect(count("tasks/cancel")).toBe(0);
  });

  it("throws in the loop when the task is lost from sight", async () => {
    const { client, clock } = setUp({
      script: ({ method }) => (method === "tasks/get" ? failed("invalid-params") : undefined),
    });
    const handle = await client.tasks.start("bake");
    const states: string[] = [];
    const reading = expect(
      (async () => {
        for await (const { status } of handle) states.push(status);
      })(),
    ).rejects.toMatchObject({ code: "invalid-params" });
    await clock.advanceAsync(1_000);
    await reading;
    expect(states).toEqual(["working"]);
  });

  it("has no total limit of its own", async () => {
    const { become, client, clock } = setUp({ maxTotalMs: 5_000 });
    const handle = await client.tasks.start("bake");
    const promise = handle.result();
    await clock.advanceAsync(60_000);
    become(completed);
    await clock.advanceAsync(1_000);
    expect(await promise).toEqual(result);
  });

  it("asks how the task stands, and ends it", async () => {
    const { become, calls, client, count } = setUp();
    const handle = await client.tasks.start("bake");
    become({ ...working, statusMessage: "rising" });
    expect(await handle.status()).toMatchObject({ statusMessage: "rising" });
    expect(handle.task.statusMessage).toBe("rising");
    await handle.cancel();
    expect(calls.at(-1)).toMatchObject({ method: "tasks/cancel", params: { taskId: "t1" } });
    become({ ...base, status: "cancelled" });
    await handle.status();
    await handle.cancel();
    expect(count("tasks/cancel")).toBe(1);
  });

  it("finds out what a task of 2025-11-25 came to", async () => {
    const { become, client } = setUp({ revision: "2025-11-25" });
    const handle = await client.tasks.start("bake");
    become({ ...base, status: "completed" });
    expect(await handle.status()).toEqual(completed);
    expect(await handle.result()).toEqual(result);
  });

  it("takes no offence when a server of 2025-11-25 will not cancel what is over", async () => {
    const script: Script = ({ method }) => (method === "tasks/cancel" ? failed("invalid-params") : undefined);
    const { client } = setUp({ revision: "2025-11-25", script });
    const handle = await client.tasks.start("bake");
    await handle.cancel();
  });
});

describe("resume", () => {
  it("takes up a task by its id", async () => {
    const { become, calls, client, clock } = setUp();
    const handle = await client.tasks.resume("t1");
    expect(calls).toMatchObject([{ method: "tasks/get", params: { taskId: "t1" } }]);
    expect(handle).toMatchObject({ id: "t1", task: working });
    become(completed);
    const promise = handle.result();
    await clock.advanceAsync(1_000);
    expect(await promise).toEqual(result);
  });

  it.each<Revision>(["2026-07-28", "2025-11-25"])("knows one that is over, in %s", async (revision) => {
    const { become, client } = setUp({ revision });
    become(revision === "2025-11-25" ? { ...base, status: "completed" } : completed);
    const handle = await client.tasks.resume("t1");
    expect(handle.task).toEqual(completed);
    expect(await handle.result()).toEqual(result);
  });

  it("says what a task of 2025-11-25 failed with", async () => {
    const script: Script = ({ method }) => (method === "tasks/result" ? failed("rejected") : undefined);
    const { become, client } = setUp({ revision: "2025-11-25", script });
    become({ ...base, status: "failed" });
    const handle = await client.tasks.resume("t1");
    expect(handle.task).toMatchObject({ status: "failed", failure: { code: "rejected" } });
    await expect(handle.result()).rejects.toMatchObject({ code: "rejected" });
  });

  it("rejects when the server does not know the task", async () => {
    const { client } = setUp({ script: () => failed("invalid-params") });
    await expect(client.tasks.resume("t9")).rejects.toMatchObject({ code: "invalid-params" });
  });
});

describe("list", () => {
  it("gives the tasks of all pages", async () => {
    const script: Script = ({ params }) =>
      asJson(params).cursor === undefined
        ? { tasks: [working], nextCursor: "2" }
        : { tasks: [{ ...working, taskId: "t2" }] };
    const { client } = setUp({ revision: "2025-11-25", script });
    expect((await client.tasks.list()).map(({ taskId }) => taskId)).toEqual(["t1", "t2"]);
  });

  it("leaves out what is no task (I8)", async () => {
    const script: Script = () => ({ tasks: [null, { taskId: "t3" }, working] });
    const { client } = setUp({ revision: "2025-11-25", script });
    expect((await client.tasks.list()).map(({ taskId }) => taskId)).toEqual(["t1"]);
  });

  it.each<[string, Setting, (client: Client) => Promise<unknown>]>([
    ["list: the revision has none", {}, (client) => client.tasks.list()],
    ["list: the server has no tasks", { extensions: {}, revision: "2025-11-25" }, (client) => client.tasks.list()],
    ["resume: the server has no tasks", { extensions: {} }, (client) => client.tasks.resume("t1")],
  ])("C56: fails locally: %s", async (_, setting, act) => {
    const { calls, client } = setUp(setting);
    await expect(act(client)).rejects.toMatchObject({ code: "unsupported" });
    expect(calls).toEqual([]);
  });
});
