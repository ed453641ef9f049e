import { describe, expect, it } from "vitest";
import { asJson, type JsonObject } from "../json/json.ts";
import type { Connection, Ending } from "../protocol/connection.ts";
import { McpError } from "../protocol/errors.ts";
import type { Question } from "../protocol/input.ts";
import type { Method, Params } from "../protocol/methods.ts";
import type { Revision } from "../protocol/revision.ts";
import type { Call, Outcome, Service } from "../protocol/service.ts";
import { type DetailedTask, type Task, tasksExtension } from "../protocol/task.ts";
import { createManualClock } from "../testing/clock.ts";
import { type ClientOptions, createClient } from "./client.ts";
import { createRequestHandlers } from "./request-handlers.ts";
import "./task-follower.ts";

const at = "2026-01-01T00:00:00.000Z";
const base = { taskId: "t1", createdAt: at, lastUpdatedAt: at, ttlMs: 60_000 };
const working: DetailedTask = { ...base, status: "working" };
const result = { content: [{ type: "text" as const, text: "done" }] };
const completed: DetailedTask = { ...base, status: "completed", result };
const form: Question = {
  method: "elicitation/create",
  params: { message: "Size?", requestedSchema: { type: "object", properties: { size: { type: "string" } } } },
};
const asking = (...keys: readonly string[]): DetailedTask => ({
  ...base,
  status: "input_required",
  questions: Object.fromEntries(keys.map((key) => [key, form])),
});

interface Setting extends ClientOptions {
  readonly revision?: Revision;
  /** What `tools/call` is answered with. */
  readonly task?: Task;
  /** Answers a method otherwise than a good server does; undefined leaves it to the latter. */
  readonly odd?: (call: Call) => Promise<Outcome> | undefined;
}

/** A server whose one task stands as the test says, and pushes what the test pushes. */
function setUp({ revision = "2026-07-28", task = working, odd, ...options }: Setting = {}) {
  const clock = createManualClock();
  const calls: Call[] = [];
  const listens: Call<"subscriptions/listen">[] = [];
  let state: DetailedTask = working;
  let end = (_: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const complete = (value: object): Outcome => ({
    kind: "complete",
    result: asJson(value) as JsonObject & { content: [] },
  });
  const answers: Partial<Record<Method, (call: Call) => Promise<Outcome>>> = {
    "tools/call": async () => ({ kind: "task", task }),
    "tools/list": async () =>
      complete({ tools: [{ name: "bake", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }] }),
    "tasks/get": async () => complete(state),
    "tasks/update": async () => complete({}),
    "tasks/cancel": async () => complete({}),
    "tasks/result": () => new Promise(() => {}),
    "subscriptions/listen": (call) => {
      const { notifications } = call.params as Params<"subscriptions/listen">;
      listens.push(call as Call<"subscriptions/listen">);
      call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(notifications) });
      return new Promise(() => {});
    },
  };
  const service = (call: Call): Promise<Outcome> => {
    calls.push(call);
    return odd?.(call) ?? answers[call.method]?.(call) ?? Promise.reject(new Error(call.method));
  };
  const handlers = createRequestHandlers(options);
  const capabilities = { tools: {}, extensions: { [tasksExtension]: {} } };
  const connection: Connection = {
    service: service as Service,
    revision,
    server: { supportedVersions: [revision], capabilities, serverInfo: { name: "bakery", version: "1" } },
    peer: { revision, capabilities: handlers.capabilities },
    ended,
    close: async () => end(undefined),
  };
  const client = createClient(connection, handlers, { clock, ...options });
  return {
    calls,
    client,
    clock,
    end,
    listens,
    become(next: DetailedTask) {
      state = next;
    },
    push(next: DetailedTask) {
      for (const listen of listens) listen.notify("notifications/tasks", asJson(next));
    },
    /** How often each method was called, but for listening. */
    count: (method: Method) => calls.filter((call) => call.method === method).length,
    paramsOf: (method: Method) => calls.filter((call) => call.method === method).map(({ params }) => params),
  };
}

const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
const failing = (code: McpError["code"], data?: JsonObject): Promise<Outcome> =>
  Promise.resolve({ kind: "failed", failure: { code, message: code, ...(data && { data }) } });

/** What a promise came to, as far as it has. */
function outcomeOf(promise: Promise<unknown>) {
  const seen: { value?: unknown; error?: McpError } = {};
  promise.then(
    (value) => Object.assign(seen, { value }),
    (error: McpError) => Object.assign(seen, { error }),
  );
  return seen;
}

describe("a call that becomes a task", () => {
  it("ends with the result of the task, which is asked about no sooner than the server wants", async () => {
    const { become, client, clock, count } = setUp({ task: { ...working, pollIntervalMs: 5_000 } });
    const seen = outcomeOf(client.callTool("bake"));
    await clock.advanceAsync(4_999);
    expect(count("tasks/get")).toBe(0);
    become({ ...working, pollIntervalMs: 2_000 });
    await clock.advanceAsync(1);
    expect(count("tasks/get")).toBe(1);
    become(completed);
    await clock.advanceAsync(1_999);
    expect([count("tasks/get"), seen.value]).toEqual([1, undefined]);
    await clock.advanceAsync(1);
    expect([count("tasks/get"), seen.value]).toEqual([2, result]);
    await clock.advanceAsync(60_000);
    expect([count("tasks/get"), clock.pending]).toEqual([2, 0]);
  });

  it.each([
    [undefined, 1_000],
    [0, 100],
    [-5, 100],
    [Number.NaN, 1_000],
  ])("asks after a sensible time when told %s", async (pollIntervalMs, ms) => {
    const task = { ...working, ...(pollIntervalMs !== undefined && { pollIntervalMs }) };
    const { client, clock, count } = setUp({ task });
    void client.callTool("bake");
    await clock.advanceAsync(ms - 1);
    expect(count("tasks/get")).toBe(0);
    await clock.advanceAsync(1);
    expect(count("tasks/get")).toBe(1);
  });

  it("asks at once when the task is over from the start", async () => {
    const { become, client, count } = setUp({ task: { ...base, status: "completed" } });
    become(completed);
    expect(await client.callTool("bake")).toEqual(result);
    expect(count("tasks/get")).toBe(1);
  });

  it("gives typed tools the value in the result", async () => {
    const { become, client } = setUp({ task: { ...base, status: "completed" } });
    become(completed);
    expect(await client.tools.bake?.({})).toBe("done");
  });

  it("rejects with the failure of the task, or because it was cancelled", async () => {
    const failure = { code: "invalid-params", message: "no flour", data: { need: 3 } } as const;
    const first = setUp();
    const failed = outcomeOf(first.client.callTool("bake"));
    await settled();
    first.push({ ...base, status: "failed", failure });
    await settled();
    expect(failed.error).toMatchObject(failure);
    const second = setUp();
    const cancelled = outcomeOf(second.client.callTool("bake"));
    await settled();
    second.push({ ...base, status: "cancelled", statusMessage: "closed for today" });
    await settled();
    expect(cancelled.error).toMatchObject({ code: "cancelled", message: "closed for today" });
    expect([first.count("tasks/cancel"), second.count("tasks/cancel")]).toEqual([0, 0]);
  });

  it("takes a task that does not say what it came to for an invalid response", async () => {
    const { client, push } = setUp();
    const seen = outcomeOf(client.callTool("bake"));
    await settled();
    push({ ...base, status: "completed" });
    await settled();
    expect(seen.error).toMatchObject({ code: "invalid-response" });
  });

  it("says on every call that it can follow one, unless told not to", async () => {
    const able = setUp();
    void able.client.listTools();
    const unable = setUp({ tasks: false });
    const seen = outcomeOf(unable.client.callTool("bake"));
    await settled();
    expect(able.calls[0]?.tasks).toEqual({ wanted: false });
    expect(unable.calls[0]?.tasks).toBeUndefined();
    expect(seen.error).toMatchObject({ code: "invalid-response" });
  });

  it("refuses a task of anything but a tool", async () => {
    const { client } = setUp({ odd: async () => ({ kind: "task", task: working }) });
    await expect(client.listTools()).rejects.toMatchObject({ code: "invalid-response" });
  });

  it("tells how the task stands, each time something has changed", async () => {
    const told: Task[] = [];
    const { become, client, clock, push } = setUp();
    void client.callTool("bake", {}, { onTask: (task) => told.push(task) });
    await clock.advanceAsync(1_000);
    become({ ...working, statusMessage: "kneading" });
    await clock.advanceAsync(2_000);
    push({ ...working, statusMessage: "kneading" });
    push(completed);
    push({ ...working, statusMessage: "too late" });
    await settled();
    expect(told).toEqual([working, { ...working, statusMessage: "kneading" }, completed]);
  });

  it("names the call by its key", async () => {
    const { calls, client } = setUp({ odd: async () => ({ kind: "complete", result }) });
    await client.callTool("bake", {}, { idempotencyKey: "order-7", meta: { a: 1 } });
    expect(calls[0]?.meta).toEqual({ a: 1, "plugbay/key": "order-7" });
  });
});

describe("what a server says of a task by itself", () => {
  it("ends the call at once, and the listening with it", async () => {
    const { client, clock, count, listens, push } = setUp();
    const promise = client.callTool("bake");
    await settled();
    expect(listens[0]?.params).toEqual({ notifications: { taskIds: ["t1"] } });
    push(completed);
    expect(await promise).toEqual(result);
    expect(count("tasks/get")).toBe(0);
    expect(listens[0]?.signal.aborted).toBe(true);
    await clock.advanceAsync(60_000);
    expect([count("tasks/get"), clock.pending]).toEqual([0, 0]);
  });

  it("is heard by one subscription for all tasks; the next opens before the last one ends", async () => {
    let next = 0;
    const odd: Setting["odd"] = (call) =>
      call.method === "tools/call"
        ? Promise.resolve({ kind: "task", task: { ...working, taskId: `t${++next}` } })
        : undefined;
    const { client, clock, listens, push } = setUp({ odd });
    const seen = [1, 2, 3].map(() => outcomeOf(client.callTool("bake")));
    await settled();
    expect(listens).toHaveLength(1);
    await clock.advanceAsync(250);
    expect(listens.map(({ params }) => params.notifications.taskIds)).toEqual([["t1"], ["t1", "t2", "t3"]]);
    expect(listens.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    push({ ...completed, taskId: "t2" });
    await settled();
    expect(seen.map(({ value }) => value)).toEqual([undefined, result, undefined]);
    expect(listens[1]?.signal.aborted).toBe(false);
  });

  it.each<[string, number, (call: Call) => Promise<Outcome>]>([
    ["refuses", 1, () => failing("invalid-params")],
    [
      "does not tell of this task",
      5,
      (call) => {
        call.notify("notifications/subscriptions/acknowledged", { notifications: {} });
        return new Promise(() => {});
      },
    ],
  ])("is not waited for when the server %s", async (_, times, listen) => {
    const odd: Setting["odd"] = (call) => (call.method === "subscriptions/listen" ? listen(call) : undefined);
    const { become, client, clock, count } = setUp({ odd });
    const seen = outcomeOf(client.callTool("bake"));
    await clock.advanceAsync(20_000);
    become(completed);
    await clock.advanceAsync(1_000);
    expect([seen.value, count("subscriptions/listen")]).toEqual([result, times]);
  });

  it("is listened to again when the connection broke, but not at once", async () => {
    let open = 0;
    const odd: Setting["odd"] = (call) => {
      if (call.method !== "subscriptions/listen" || ++open > 1) return undefined;
      return failing("connection-closed");
    };
    const { client, clock, listens, push } = setUp({ odd });
    const promise = client.callTool("bake");
    await clock.advanceAsync(4_999);
    expect(listens).toHaveLength(0);
    await clock.advanceAsync(1);
    expect(listens).toHaveLength(1);
    push(completed);
    expect(await promise).toEqual(result);
  });

  it("wins over an older answer that was on its way", async () => {
    let answer = (_: Outcome): void => {};
    const slow = new Promise<Outcome>((resolve) => {
      answer = resolve;
    });
    const odd: Setting["odd"] = (call) => (call.method === "tasks/get" ? slow : undefined);
    let asked = 0;
    const onElicit = () => {
      asked++;
      return { action: "decline" };
    };
    const { client, clock, push } = setUp({ odd, onElicit });
    void client.callTool("bake");
    await clock.advanceAsync(1_000);
    push(asking("q1"));
    await settled();
    push(working);
    answer({ kind: "complete", result: asking("q1") as never });
    await settled();
    expect(asked).toBe(1);
  });
});

describe("questions of a task", () => {
  it("are answered once, however often they are listed", async () => {
    const asked: string[] = [];
    const { become, client, clock, paramsOf } = setUp({
      onElicit: ({ message }) => {
        asked.push(message);
        return { action: "decline" };
      },
    });
    const seen = outcomeOf(client.callTool("bake"));
    become(asking("q1"));
    await clock.advanceAsync(3_000);
    become(asking("q1", "q2"));
    await clock.advanceAsync(3_000);
    const inputResponse = { action: "decline" };
    expect(paramsOf("tasks/update")).toEqual([
      { taskId: "t1", inputResponses: { q1: inputResponse } },
      { taskId: "t1", inputResponses: { q2: inputResponse } },
    ]);
    expect(asked).toHaveLength(2);
    become(completed);
    await clock.advanceAsync(1_000);
    expect(seen.value).toEqual(result);
  });

  it("are answered again when they were withdrawn and are open again", async () => {
    const { client, count, push } = setUp({ onElicit: () => ({ action: "decline" }) });
    void client.callTool("bake");
    await settled();
    for (const state of [asking("q1"), working, asking("q1")]) {
      push(state);
      await settled();
    }
    expect(count("tasks/update")).toBe(2);
  });

  it("let go of whoever answers them when they stand no longer", async () => {
    let signal: AbortSignal | undefined;
    const { client, count, push } = setUp({
      onElicit: (_, context) => {
        ({ signal } = context);
        return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("gone"))));
      },
    });
    const promise = client.callTool("bake");
    await settled();
    push(asking("q1"));
    await settled();
    push(completed);
    expect(await promise).toEqual(result);
    expect(signal?.aborted).toBe(true);
    expect(count("tasks/update")).toBe(0);
  });

  it.each<[string, ClientOptions, object]>([
    [
      "the user refuses",
      {
        onElicit: () => {
          throw new McpError("rejected", "no");
        },
      },
      { code: "rejected", message: "no" },
    ],
    ["nobody can answer", {}, { code: "missing-capability" }],
    ["there are too many", { maxRounds: 0, onElicit: () => ({}) }, { code: "limit-reached" }],
  ])("end the call and the task when %s", async (_, options, error) => {
    const { client, count, push } = setUp(options);
    const seen = outcomeOf(client.callTool("bake"));
    await settled();
    push(asking("q1"));
    await settled();
    expect(seen.error).toMatchObject(error);
    expect(count("tasks/cancel")).toBe(1);
  });

  it("may take as long as the user does", async () => {
    let answer = (_: JsonObject): void => {};
    const { become, client, clock, paramsOf } = setUp({
      onElicit: () =>
        new Promise<JsonObject>((resolve) => {
          answer = resolve;
        }),
    });
    const seen = outcomeOf(client.callTool("bake", {}, { timeoutMs: 2_000 }));
    become(asking("q1"));
    await clock.advanceAsync(100_000);
    answer({ action: "decline" });
    await settled();
    expect(paramsOf("tasks/update")).toHaveLength(1);
    expect(seen).toEqual({});
  });

  it("are sent again when the connection broke", async () => {
    let updates = 0;
    const odd: Setting["odd"] = (call) =>
      call.method === "tasks/update" && ++updates === 1 ? failing("connection-closed") : undefined;
    const { become, client, clock } = setUp({ odd, onElicit: () => ({ action: "decline" }) });
    const seen = outcomeOf(client.callTool("bake"));
    become(asking("q1"));
    await clock.advanceAsync(3_000);
    expect([updates, seen]).toEqual([2, {}]);
  });
});

describe("the end of a call that follows a task", () => {
  it("by its signal: rejects first, then cancels the task once, and leaves nothing behind", async () => {
    const { client, clock, count, listens, paramsOf } = setUp();
    const abort = new AbortController();
    const seen = outcomeOf(client.callTool("bake", {}, { signal: abort.signal }));
    await clock.advanceAsync(1_500);
    abort.abort("not hungry");
    abort.abort("again");
    await settled();
    expect(seen.error).toMatchObject({ code: "cancelled", cause: "not hungry" });
    expect(paramsOf("tasks/cancel")).toEqual([{ taskId: "t1" }]);
    await clock.advanceAsync(60_000);
    expect([count("tasks/get"), listens[0]?.signal.aborted, clock.pending]).toEqual([1, true, 0]);
  });

  it("before the task came: the task is cancelled when it comes", async () => {
    let answer = (_: Outcome): void => {};
    const odd: Setting["odd"] = (call) =>
      call.method === "tools/call"
        ? new Promise((resolve) => {
            answer = resolve;
          })
        : undefined;
    const { client, count } = setUp({ odd });
    const abort = new AbortController();
    const seen = outcomeOf(client.callTool("bake", {}, { signal: abort.signal }));
    abort.abort();
    answer({ kind: "task", task: working });
    await settled();
    expect(seen.error).toMatchObject({ code: "cancelled" });
    expect([count("tasks/cancel"), count("subscriptions/listen")]).toEqual([1, 0]);
  });

  it("by silence: an answer about the task is a sign of life, and a long pause between two is no silence", async () => {
    let mute = false;
    const odd: Setting["odd"] = (call) => (mute && call.method === "tasks/get" ? new Promise(() => {}) : undefined);
    const { become, client, clock, count } = setUp({ odd });
    const seen = outcomeOf(client.callTool("bake", {}, { timeoutMs: 3_000 }));
    await clock.advanceAsync(10_000);
    become({ ...working, pollIntervalMs: 60_000 });
    await clock.advanceAsync(100_000);
    expect(seen).toEqual({});
    mute = true;
    await clock.advanceAsync(60_000);
    expect(seen.error).toMatchObject({
      code: "timeout",
      message: expect.stringContaining("neither a result nor progress for 3000 ms"),
    });
    expect(count("tasks/cancel")).toBe(1);
  });

  it("by the total limit, whatever happens", async () => {
    const { client, clock, count } = setUp();
    const seen = outcomeOf(client.callTool("bake", {}, { maxTotalMs: 5_000 }));
    await clock.advanceAsync(4_999);
    expect(seen).toEqual({});
    await clock.advanceAsync(1);
    expect(seen.error).toMatchObject({
      code: "timeout",
      message: expect.stringContaining("it took longer than 5000 ms"),
    });
    expect(count("tasks/cancel")).toBe(1);
  });

  it("by the end of the client: the task goes on", async () => {
    const { client, clock, count } = setUp();
    const seen = outcomeOf(client.callTool("bake"));
    await settled();
    await client.close();
    await clock.advanceAsync(60_000);
    expect(seen.error).toMatchObject({ code: "connection-closed" });
    expect([count("tasks/cancel"), count("tasks/get"), clock.pending]).toEqual([0, 0, 0]);
  });

  it("does not come from a server that is gone for a while", async () => {
    const failures = [failing("connection-closed"), failing("http-error", { status: 503, retryAfterMs: 7_000 })];
    const odd: Setting["odd"] = (call) => (call.method === "tasks/get" ? failures.shift() : undefined);
    const { become, client, clock, count } = setUp({ odd });
    const seen = outcomeOf(client.callTool("bake"));
    become(completed);
    await clock.advanceAsync(2_000);
    expect(count("tasks/get")).toBe(2);
    await clock.advanceAsync(6_999);
    expect(count("tasks/get")).toBe(2);
    await clock.advanceAsync(1);
    expect(seen.value).toEqual(result);
  });

  it("does not come from a server that says when it can tell more", async () => {
    const failures = [failing("internal", { retryAfterMs: 4_000 })];
    const odd: Setting["odd"] = (call) => (call.method === "tasks/get" ? failures.shift() : undefined);
    const { become, client, clock, count } = setUp({ odd });
    const seen = outcomeOf(client.callTool("bake"));
    become(completed);
    await clock.advanceAsync(4_999);
    expect([count("tasks/get"), seen]).toEqual([1, {}]);
    await clock.advanceAsync(1);
    expect(seen.value).toEqual(result);
  });

  it("comes from a server that stays away for longer than the limit", async () => {
    const odd: Setting["odd"] = (call) => (call.method === "tasks/get" ? failing("connection-closed") : undefined);
    const { client, clock, count } = setUp({ odd });
    const seen = outcomeOf(client.callTool("bake"));
    await clock.advanceAsync(30_999);
    expect(seen).toEqual({});
    await clock.advanceAsync(1);
    expect(seen.error).toMatchObject({ code: "timeout" });
    expect(count("tasks/get")).toBeLessThan(10);
  });

  it.each<[McpError["code"], JsonObject?]>([["invalid-params"], ["http-error", { status: 401 }], ["limit-reached"]])(
    "comes from a server that says %s",
    async (code, data) => {
      const odd: Setting["odd"] = (call) => (call.method === "tasks/get" ? failing(code, data) : undefined);
      const { client, clock, count } = setUp({ odd });
      const seen = outcomeOf(client.callTool("bake"));
      await clock.advanceAsync(1_000);
      expect(seen.error).toMatchObject({ code });
      await clock.advanceAsync(60_000);
      expect([count("tasks/cancel"), clock.pending]).toEqual([0, 0]);
    },
  );

  it("is no matter of calls in flight: a task that is followed is none", async () => {
    const { client, clock } = setUp({ maxOpenRequests: 1 });
    const seen = [outcomeOf(client.callTool("bake"))];
    await clock.advanceAsync(1_500);
    seen.push(outcomeOf(client.callTool("bake")));
    await clock.advanceAsync(1_500);
    expect(seen).toEqual([{}, {}]);
  });
});

describe("tasks of 2025-11-25", () => {
  const legacy = { revision: "2025-11-25" } as const;
  /** A server whose `tasks/result` the test answers. */
  function setUpLegacy(setting: Setting = {}) {
    const results: ((outcome: Outcome) => void)[] = [];
    const odd: Setting["odd"] = (call) =>
      setting.odd?.(call) ??
      (call.method === "tasks/result" ? new Promise((resolve) => results.push(resolve)) : undefined);
    return { ...setUp({ ...legacy, ...setting, odd }), results };
  }
  const done: Outcome = { kind: "complete", result };

  it("are waited for again where their server can tell nothing for a while", async () => {
    let isAway = true;
    const away = failing("internal", { retryAfterMs: 500 });
    const odd: Setting["odd"] = (call) => (isAway && call.method.startsWith("tasks/") ? away : undefined);
    const { client, clock, results } = setUpLegacy({ odd });
    await client.listTools();
    const seen = outcomeOf(client.callTool("bake"));
    await clock.advanceAsync(10_000);
    expect([results.length, seen]).toEqual([0, {}]);
    isAway = false;
    // Up to 16 s pass after the fourth failure, which may be the last thing that happened.
    await clock.advanceAsync(17_000);
    results[0]?.(done);
    await clock.advanceAsync(0);
    expect(seen.value).toEqual(result);
  });

  it("fail as their tool did, also if that says when to try again", async () => {
    const { become, client, clock, results } = setUpLegacy();
    await client.listTools();
    const seen = outcomeOf(client.callTool("bake"));
    await settled();
    become({ ...base, status: "failed" } as DetailedTask);
    for (let n = 0; n < 2; n++) {
      results[n]?.(await failing("internal", { retryAfterMs: 500 }));
      await clock.advanceAsync(0);
    }
    expect(seen.error).toMatchObject({ code: "internal", data: { retryAfterMs: 500 } });
  });

  it("are asked for where the list says that a tool runs only so, and waited for from the start", async () => {
    const { calls, client, results } = setUpLegacy();
    await client.listTools();
    const promise = client.callTool("bake", { a: 1 });
    await settled();
    expect(calls.find(({ method }) => method === "tools/call")).toMatchObject({
      tasks: { wanted: true },
      params: { name: "bake", arguments: { a: 1 } },
    });
    results[0]?.(done);
    expect(await promise).toEqual(result);
  });

  it("are not asked for otherwise", async () => {
    const { calls, client } = setUpLegacy({ odd: async () => done });
    await client.callTool("bake");
    expect(calls[0]?.tasks).toBeUndefined();
  });

  it("are over when the result is there, not when the status says so", async () => {
    const { become, client, clock, count, results } = setUpLegacy();
    const told: Task[] = [];
    const seen = outcomeOf(client.callTool("bake", {}, { onTask: (task) => told.push(task) }));
    become({ ...base, status: "input_required", questions: {} });
    await clock.advanceAsync(1_000);
    become({ ...base, status: "failed" });
    await clock.advanceAsync(20_000);
    expect([seen, count("tasks/get"), count("tasks/update")]).toEqual([{}, 2, 0]);
    const reported = { ...result, isError: true };
    results[0]?.({ kind: "complete", result: reported });
    await settled();
    expect(seen.value).toEqual(reported);
    expect(told.map(({ status }) => status)).toEqual(["working", "input_required", "completed"]);
    expect(told[2]).toStrictEqual({ ...base, status: "completed", result: reported });
  });

  it.each<[string, DetailedTask, object]>([
    ["failed", { ...base, status: "failed" }, { code: "internal", message: "internal" }],
    ["cancelled", { ...base, status: "cancelled" }, { code: "cancelled" }],
  ])("reject when they have %s", async (_, state, error) => {
    const { become, client, results } = setUpLegacy();
    const seen = outcomeOf(client.callTool("bake"));
    await settled();
    become(state);
    results[0]?.(await failing("internal"));
    await settled();
    results[1]?.(await failing("internal"));
    await settled();
    expect(seen.error).toMatchObject(error);
  });

  it("go on when only the wait for their result has failed", async () => {
    const { become, client, clock, results } = setUpLegacy();
    const seen = outcomeOf(client.callTool("bake"));
    await settled();
    results[0]?.(await failing("internal"));
    await settled();
    expect([seen, results.length]).toEqual([{}, 1]);
    await clock.advanceAsync(1_000);
    expect(results).toHaveLength(2);
    become(completed);
    results[1]?.(done);
    await settled();
    expect(seen.value).toEqual(result);
  });

  it("are asked for without a list, too: it is got before the first call", async () => {
    const { calls, client, results } = setUpLegacy();
    const both = [client.callTool("bake"), client.callTool("bake")];
    await settled();
    expect(calls.filter(({ method }) => method === "tools/list")).toHaveLength(1);
    expect(calls.filter(({ tasks }) => tasks?.wanted)).toHaveLength(2);
    for (const resolve of results) resolve(done);
    expect(await Promise.all(both)).toEqual([result, result]);
  });

  it("are over when the status says that they are cancelled", async () => {
    const { become, client, clock } = setUpLegacy();
    const seen = outcomeOf(client.callTool("bake"));
    become({ ...base, status: "cancelled" });
    await clock.advanceAsync(1_000);
    expect(seen.error).toMatchObject({ code: "cancelled" });
  });

  it("are waited for again when the connection broke", async () => {
    const { client, clock, results } = setUpLegacy();
    const promise = client.callTool("bake");
    await settled();
    results[0]?.(await failing("connection-closed"));
    await clock.advanceAsync(2_000);
    results[1]?.(done);
    expect(await promise).toEqual(result);
  });

  it("are cancelled with their call", async () => {
    const { calls, client, count } = setUpLegacy();
    const abort = new AbortController();
    const seen = outcomeOf(client.callTool("bake", {}, { signal: abort.signal }));
    await settled();
    abort.abort();
    await settled();
    expect(seen.error).toMatchObject({ code: "cancelled" });
    expect(count("tasks/cancel")).toBe(1);
    expect(calls.find(({ method }) => method === "tasks/result")?.signal.aborted).toBe(true);
  });
});

describe("a process", () => {
  it.each(["ends", "is left"])("is kept alive by a task that is followed, until it %s", async (how) => {
    let held = 0;
    const clock = createManualClock();
    const hold = (): (() => void) => {
      held++;
      return () => void held--;
    };
    const { become, client } = setUp({ clock: { ...clock, hold } });
    const handle = await client.tasks.start("bake");
    clock.advance(1);
    expect(held).toBe(0);
    const abort = new AbortController();
    const seen = outcomeOf(handle.result(abort));
    await settled();
    expect(held).toBe(1);
    if (how === "ends") become(completed);
    else abort.abort();
    await clock.advanceAsync(1_001);
    expect(held).toBe(0);
    expect(how === "ends" ? seen.value : seen.error?.code).toEqual(how === "ends" ? result : "cancelled");
  });
});
