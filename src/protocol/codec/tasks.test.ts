import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import type { JsonObject } from "../../json/json.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { Method, Params, Result } from "../methods.ts";
import type { ClientInfo } from "../peer.ts";
import { type Revision, revisions } from "../revision.ts";
import { createCall, type OutcomeOf } from "../service.ts";
import { type DetailedTask, type Task, type TaskTerms, tasksExtension } from "../task.ts";

const modern = codecFor("2026-07-28");
const core = codecFor("2025-11-25");
const older = revisions.filter((revision) => revision < "2025-11-25");

const server = { name: "shop", version: "1" };
const signature = { "io.modelcontextprotocol/serverInfo": server };
const related = "io.modelcontextprotocol/related-task";
const inside = { "plugbay/position": "7", "plugbay/after": "6", "plugbay/lost": true };

const task = {
  taskId: "t",
  status: "working",
  statusMessage: "packing",
  createdAt: "2026-01-01T00:00:00Z",
  lastUpdatedAt: "2026-01-01T00:00:01Z",
  ttlMs: 60_000,
  pollIntervalMs: 500,
} as const satisfies Task;

const { ttlMs, pollIntervalMs, ...same } = task;
const legacyTask = { ...same, ttl: ttlMs, pollInterval: pollIntervalMs };

const form = { method: "elicitation/create", params: { message: "m", requestedSchema: { type: "object" } } } as const;
const roots = { method: "roots/list", params: {} } as const;
const result = { content: [{ type: "text", text: "hi" }], structuredContent: { a: 1 }, _meta: { own: 1 } } as const;
const bad = { content: [], isError: true } as const;

const asking: DetailedTask = { ...task, status: "input_required", questions: { a: form, b: roots } };
const completed: DetailedTask = { ...task, status: "completed", result };
const toolFailed: DetailedTask = { ...task, status: "completed", result: bad };
const failed: DetailedTask = { ...task, status: "failed", failure: { code: "timeout", message: "too slow" } };
const cancelled: DetailedTask = { ...task, status: "cancelled" };

function peerOf(revision: Revision, extensions?: Readonly<Record<string, JsonObject>>): ClientInfo {
  return { revision, capabilities: extensions === undefined ? {} : { extensions } };
}

function decode(revision: Revision, method: string, params: JsonObject, extensions?: JsonObject) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { ...(extensions && { extensions }) },
  };
  const session = { peer: peerOf(revision), logLevel: undefined };
  const request = { kind: "request", id: 1, method, params: { _meta, ...params } } as const;
  return codecFor(revision).decodeCall(request, session);
}

function termsOf(revision: Revision, method: string, params: JsonObject, extensions?: JsonObject) {
  const decoded = decode(revision, method, params, extensions);
  return decoded.ok ? decoded.value.tasks : decoded.failure;
}

function said<M extends Method>(revision: Revision, method: M, outcome: OutcomeOf<M>, params?: Params<M>): JsonObject {
  const encoded = codecFor(revision).encodeOutcome(method, outcome, server, params);
  if (!encoded.ok) throw new Error(encoded.failure.message);
  return JSON.parse(JSON.stringify(encoded.value));
}

function got(revision: Revision, details: DetailedTask): JsonObject {
  return said(revision, "tasks/get", { kind: "complete", result: details });
}

function called(revision: Revision, tasks: TaskTerms | undefined): JsonObject {
  const call = createCall({
    method: "tools/call",
    params: { name: "buy" },
    peer: peerOf(revision, { [tasksExtension]: {} }),
    abort: new LazyAbort(),
    notify: () => undefined,
    tasks,
  });
  return codecFor(revision).encodeCall(call);
}

describe("what a caller says of tasks", () => {
  it("is, since 2026-07-28, that it has the extension", () => {
    const having = { [tasksExtension]: {} };
    for (const method of ["tools/call", "tasks/get", "resources/read"]) {
      const params = { name: "buy", taskId: "t", uri: "u" };
      expect(termsOf("2026-07-28", method, params, having)).toEqual({ wanted: false });
      expect(termsOf("2026-07-28", method, params)).toBeUndefined();
    }
    expect(termsOf("2026-07-28", "tools/call", { name: "buy" }, { [tasksExtension]: true })).toBeUndefined();
    expect(termsOf("2026-07-28", "tools/call", { name: "buy" }, { "com.example/x": {} })).toBeUndefined();
  });

  it.each([{}, { ttl: 1 }, null, 1, "task"])("does not depend on the task %j that it wants in older words", (wish) => {
    expect(termsOf("2026-07-28", "tools/call", { name: "buy", task: wish })).toBeUndefined();
  });

  it.each([
    [{ ttl: 1000 }, { wanted: true, ttlMs: 1000 }],
    [{}, { wanted: true }],
    [{ ttl: null, own: 1 }, { wanted: true }],
    [undefined, undefined],
  ])("is in 2025-11-25 what it wants of one call: %j means %j", (wish, terms) => {
    const params = wish === undefined ? { name: "buy" } : { name: "buy", task: wish };
    expect(termsOf("2025-11-25", "tools/call", params)).toEqual(terms);
  });

  it.each([
    [null, "params.task must be an object"],
    [[], "params.task must be an object"],
    [{ ttl: "1" }, "params.task.ttl must be a number"],
  ])("must not be %j in 2025-11-25", (wish, message) => {
    const params = { name: "buy", task: wish };
    expect(termsOf("2025-11-25", "tools/call", params)).toEqual({ code: "invalid-params", message });
  });

  it("is in 2025-11-25 that it can follow one, when it asks about tasks", () => {
    for (const method of ["tasks/get", "tasks/cancel", "tasks/list", "tasks/result"]) {
      expect(termsOf("2025-11-25", method, { taskId: "t" })).toEqual({ wanted: false });
    }
    expect(termsOf("2025-11-25", "tools/list", {})).toBeUndefined();
    expect(termsOf("2025-11-25", "resources/read", { uri: "u", task: {} })).toBeUndefined();
  });

  it.each(older)("is nothing in %s", (revision) => {
    expect(termsOf(revision, "tools/call", { name: "buy", task: { ttl: 1 } })).toBeUndefined();
    expect(termsOf(revision, "tools/call", { name: "buy", task: 3 })).toBeUndefined();
  });
});

describe("methods about tasks", () => {
  const all = ["tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result"];

  it.each([
    ["2026-07-28", ["tasks/get", "tasks/update", "tasks/cancel"]],
    ["2025-11-25", ["tasks/get", "tasks/cancel", "tasks/list", "tasks/result"]],
    ...older.map((revision) => [revision, []] as const),
  ] as const)("of %s are %j", (revision, known) => {
    const found = all.filter((method) => decode(revision, method, { taskId: "t", inputResponses: {} }).ok);
    expect(found).toEqual(known);
    for (const method of all.filter((one) => !found.includes(one))) {
      const failure = { code: "method-not-found", message: `unknown method ${method}` };
      expect(decode(revision, method, {})).toEqual({ ok: false, failure });
    }
  });

  it("that are unknown are so only in a request that is in order", () => {
    expect(decode("2026-07-28", "tasks/list", { _meta: {} })).toMatchObject({ failure: { code: "invalid-params" } });
  });

  it.each([
    ["2026-07-28", "tasks/get", {}, "params.taskId must be a string"],
    ["2025-11-25", "tasks/result", { taskId: 1 }, "params.taskId must be a string"],
    ["2025-11-25", "tasks/list", { cursor: 1 }, "params.cursor must be a string"],
    ["2026-07-28", "tasks/update", { taskId: "t" }, "params.inputResponses must be an object"],
    [
      "2026-07-28",
      "tasks/update",
      { taskId: "t", inputResponses: { a: 1 } },
      "params.inputResponses.a must be an object",
    ],
    [
      "2026-07-28",
      "subscriptions/listen",
      { notifications: { taskIds: [1] } },
      "params.notifications.taskIds[0] must be a string",
    ],
  ] as const)("of %s refuse %s %j", (revision, method, params, message) => {
    expect(decode(revision, method, params)).toEqual({ ok: false, failure: { code: "invalid-params", message } });
  });

  it("keep the answers of an update to themselves: they answer no earlier round", () => {
    const inputResponses = { a: { action: "decline" } };
    const decoded = decode("2026-07-28", "tasks/update", { taskId: "t", inputResponses });
    expect(decoded).toMatchObject({ value: { params: { inputResponses }, answers: undefined, state: undefined } });
  });
});

describe("a client asks for a task", () => {
  it("by a parameter in 2025-11-25, and only when it wants one", () => {
    expect(called("2025-11-25", { wanted: true, ttlMs: 1500.7 })).toEqual({
      name: "buy",
      arguments: {},
      task: { ttl: 1500 },
    });
    expect(called("2025-11-25", { wanted: true })).toEqual({ name: "buy", arguments: {}, task: {} });
    expect(called("2025-11-25", { wanted: false, ttlMs: 1 })).toEqual({ name: "buy", arguments: {} });
    expect(called("2025-11-25", undefined)).toEqual({ name: "buy", arguments: {} });
  });

  it.each(older)("not at all in %s", (revision) => {
    expect(called(revision, { wanted: true })).toEqual({ name: "buy", arguments: {} });
  });

  it("by the extension since 2026-07-28", () => {
    expect(called("2026-07-28", { wanted: true, ttlMs: 1 })).toEqual({
      name: "buy",
      arguments: {},
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { extensions: { [tasksExtension]: {} } },
      },
    });
  });
});

describe("a call that ends with a task", () => {
  it("says so flatly since 2026-07-28, and nothing that is no part of a task", () => {
    const more = { result, requestState: "s", questions: {}, ttl: 1, _meta: { own: 1, [related]: { taskId: "u" } } };
    expect(said("2026-07-28", "tools/call", { kind: "task", task: { ...task, ...more } })).toEqual({
      resultType: "task",
      ...task,
      _meta: { own: 1, ...signature },
    });
  });

  it.each([
    [{ ttlMs: null }, { ttlMs: null }],
    [{ ttlMs: Number.POSITIVE_INFINITY }, { ttlMs: null }],
    [
      { ttlMs: 1.9, pollIntervalMs: 0.5 },
      { ttlMs: 1, pollIntervalMs: 0 },
    ],
    [{ pollIntervalMs: Number.NaN }, { pollIntervalMs: undefined }],
  ] as const)("says the times %j as %j", (times, wire) => {
    expect(modern.encodeOutcome("tools/call", { kind: "task", task: { ...task, ...times } })).toEqual({
      ok: true,
      value: { resultType: "task", ...task, ...wire },
    });
  });

  it("says so in a member in 2025-11-25", () => {
    const given = { ...task, _meta: { own: 1, ...signature } };
    expect(said("2025-11-25", "tools/call", { kind: "task", task: given })).toEqual({
      task: legacyTask,
      _meta: { own: 1 },
    });
    expect(said("2025-11-25", "tools/call", { kind: "task", task: { ...task, ttlMs: null } })).toEqual({
      task: { ...legacyTask, ttl: null },
    });
  });

  it.each(older)("cannot say so in %s", (revision) => {
    const encoded = codecFor(revision).encodeOutcome("tools/call", { kind: "task", task });
    expect(encoded).toMatchObject({ ok: false, failure: { code: "internal" } });
  });

  it.each(revisions)("is one of a tool in %s, and of nothing else", (revision) => {
    const encoded = codecFor(revision).encodeOutcome("resources/read", { kind: "task", task });
    expect(encoded).toMatchObject({ ok: false, failure: { code: "internal" } });
  });

  it("is read in both words", () => {
    const wire = { resultType: "task", ...task, own: 1, _meta: { ...signature, mine: 2 } };
    expect(modern.decodeResult("tools/call", wire)).toEqual({
      kind: "task",
      task: { ...task, own: 1, _meta: { mine: 2 } },
    });
    expect(core.decodeResult("tools/call", { task: legacyTask, _meta: { mine: 2 } })).toEqual({
      kind: "task",
      task: { ...task, _meta: { mine: 2 } },
    });
  });

  it("may leave out times that are none", () => {
    const bare = { taskId: "t", status: "working", pollInterval: null, pollIntervalMs: "1" };
    for (const outcome of [
      modern.decodeResult("tools/call", { ...bare, resultType: "task" }),
      core.decodeResult("tools/call", { task: bare }),
    ]) {
      expect(outcome).toMatchObject({ kind: "task", task: { ttlMs: null } });
      expect(outcome.kind === "task" && outcome.task.pollIntervalMs).toBeUndefined();
    }
  });

  it.each([
    [
      "2026-07-28",
      "resources/read",
      { resultType: "task", ...task },
      "resources/read result.resultType must not be task",
    ],
    ["2026-07-28", "tasks/get", { resultType: "task", ...task }, "tasks/get result.resultType must not be task"],
    ["2026-07-28", "tools/call", { resultType: "task" }, "tools/call result.taskId must be a string"],
    [
      "2025-11-25",
      "tools/call",
      { task: { taskId: "t", status: "busy" } },
      "tools/call result.status must be working or input_required or completed or failed or cancelled",
    ],
    ["2025-11-25", "resources/read", { task: legacyTask }, "resources/read result.contents must be an array"],
  ] as const)("is refused in %s as the answer to %s %j", (revision, method, wire, message) => {
    expect(codecFor(revision).decodeResult(method, wire)).toEqual({
      kind: "failed",
      failure: { code: "invalid-response", message },
    });
  });

  it("is none when the tool has a result of that name", () => {
    const wire = { content: [], task: legacyTask };
    expect(core.decodeResult("tools/call", wire)).toEqual({ kind: "complete", result: wire });
  });
});

describe("a task since 2026-07-28", () => {
  const complete = { resultType: "complete", _meta: signature };

  it.each([
    [{ ...task }, {}],
    [cancelled, {}],
    [asking, { inputRequests: { a: form, b: roots } }],
    [completed, { result: { ...result, resultType: "complete" } }],
    [toolFailed, { result: { ...bad, resultType: "complete" } }],
    [failed, { error: { code: -32603, message: "too slow", data: { reason: "timeout" } } }],
  ] as const)("says %j with what its status brings", (details, brought) => {
    const wire = got("2026-07-28", details);
    expect(wire).toEqual({ ...task, ...complete, status: details.status, ...brought });
    const told = modern.encodeNotification("notifications/tasks", { ...details } as JsonObject, { subscriptionId: 3 });
    const { resultType: _, ...same } = wire;
    expect(told).toEqual({ ...same, _meta: { "io.modelcontextprotocol/subscriptionId": 3 } });
  });

  it.each([asking, completed, toolFailed, cancelled, { ...task }])("is read as it was said: %j", (details) => {
    expect(modern.decodeResult("tasks/get", got("2026-07-28", details))).toEqual({ kind: "complete", result: details });
    const wire = modern.encodeNotification("notifications/tasks", { ...details } as JsonObject, { subscriptionId: 3 });
    expect(modern.decodeNotification("notifications/tasks", wire ?? {})).toEqual({
      method: "notifications/tasks",
      params: details,
    });
  });

  it("is read with the failure that its error is", () => {
    const wire = { ...got("2026-07-28", failed), error: { code: -32602, message: "m", data: 1 } };
    expect(modern.decodeResult("tasks/get", wire)).toMatchObject({
      result: { status: "failed", failure: { code: "invalid-params", message: "m", data: 1 } },
    });
  });

  it("has a result without what only the wire needs, and with what a tool left out", () => {
    const wire = { ...task, status: "completed", result: { resultType: "complete" } };
    expect(modern.decodeResult("tasks/get", wire)).toMatchObject({ result: { result: { content: [] } } });
  });

  it.each([
    [{}, ".taskId must be a string"],
    [{ ...task, status: "completed" }, ".result must be an object"],
    [{ ...task, status: "completed", result: { content: 1 } }, ".result: tools/call result.content must be an array"],
    [{ ...task, status: "failed" }, ".error must be an object"],
    [{ ...task, status: "failed", error: { code: "x" } }, ".error.code must be a number"],
    [{ ...task, status: "input_required" }, ".inputRequests must be an object"],
    [
      { ...task, status: "input_required", inputRequests: { a: { method: "ping" } } },
      ".inputRequests.a: unknown method ping",
    ],
  ])("is refused as %j", (wire, problem) => {
    expect(modern.decodeResult("tasks/get", wire)).toEqual({
      kind: "failed",
      failure: { code: "invalid-response", message: `tasks/get result${problem}` },
    });
    expect(modern.decodeNotification("notifications/tasks", wire)).toBeUndefined();
  });

  it("cannot be said without what it came to", () => {
    for (const details of [
      { ...task, status: "completed" },
      { ...task, status: "failed" },
    ] as const) {
      expect(modern.encodeOutcome("tasks/get", { kind: "complete", result: details })).toMatchObject({ ok: false });
      expect(modern.encodeNotification("notifications/tasks", details)).toBeUndefined();
    }
  });

  it("says nothing of what older words or this side alone need", () => {
    const _meta = { ...inside, [related]: { taskId: "t" }, own: 1 };
    const told = modern.encodeNotification("notifications/tasks", { ...task, _meta });
    expect(told).toEqual({ ...task, _meta: { own: 1 } });
    const signed: Result<"tools/call"> = { content: [], _meta: { ...signature, [related]: { taskId: "t" } } };
    const wire = got("2026-07-28", { ...completed, result: signed, _meta: { [related]: { taskId: "t" } } });
    expect(wire).toEqual({
      ...task,
      ...complete,
      status: "completed",
      result: { content: [], resultType: "complete" },
    });
  });

  it("is acknowledged with nothing when it is updated or cancelled", () => {
    const done = { kind: "complete", result: { ...task, own: 1 } } as const;
    expect(said("2026-07-28", "tasks/cancel", done)).toEqual(complete);
    expect(said("2026-07-28", "tasks/update", { kind: "complete", result: task as object })).toEqual(complete);
    for (const method of ["tasks/cancel", "tasks/update"] as const) {
      expect(modern.decodeResult(method, complete)).toEqual({ kind: "complete", result: {} });
    }
  });

  it("is listened to by its id, and the answer says which", () => {
    const params = { notifications: { taskIds: ["t"] } };
    expect(decode("2026-07-28", "subscriptions/listen", params)).toMatchObject({ value: { params } });
    const acknowledged = modern.encodeNotification("notifications/subscriptions/acknowledged", params, {
      subscriptionId: 1,
    });
    expect(acknowledged).toMatchObject(params);
  });
});

describe("a task of 2025-11-25", () => {
  it.each([
    [{ ...task }, "working"],
    [cancelled, "cancelled"],
    [asking, "input_required"],
    [completed, "completed"],
    [toolFailed, "failed"],
    [failed, "failed"],
  ] as const)("says of %j only that it is %s", (details, status) => {
    const wire = { ...legacyTask, status };
    expect(got("2025-11-25", details)).toEqual(wire);
    expect(
      said("2025-11-25", "tasks/list", { kind: "complete", result: { tasks: [details], nextCursor: "n" } }),
    ).toEqual({ tasks: [wire], nextCursor: "n" });
    const method = "notifications/tasks";
    expect(core.encodeNotification(method, { ...details, _meta: inside } as JsonObject)).toEqual(wire);
    expect(core.notificationName(method)).toBe("notifications/tasks/status");
  });

  it("is the answer to its cancellation", () => {
    const { status: _, ...rest } = cancelled;
    const result = { ...rest, status: "cancelled" } as const;
    const wire = said("2025-11-25", "tasks/cancel", { kind: "complete", result });
    expect(wire).toEqual({ ...legacyTask, status: "cancelled" });
    expect(core.decodeResult("tasks/cancel", wire)).toEqual({ kind: "complete", result });
  });

  it("came to the very result of the tool, which says whose it is", () => {
    const outcome = { kind: "complete", result } as const;
    const wire = said("2025-11-25", "tasks/result", outcome, { taskId: "t" });
    expect(wire).toEqual({ ...result, _meta: { own: 1, [related]: { taskId: "t" } } });
    expect(core.decodeResult("tasks/result", wire)).toEqual(outcome);
    expect(core.decodeResult("tasks/result", { _meta: { [related]: { taskId: "t" } } })).toEqual({
      kind: "complete",
      result: { content: [] },
    });
  });

  it("has a result in the words of its time", () => {
    const outcome = { kind: "complete", result: { content: [], structuredContent: [1] } } as const;
    expect(said("2025-11-25", "tasks/result", outcome, { taskId: "t" })).toMatchObject({
      content: [{ type: "text", text: "[1]" }],
    });
  });

  it.each([
    ["working", {}],
    ["completed", {}],
    ["failed", {}],
    ["cancelled", {}],
    ["input_required", { questions: {} }],
  ])("is read when it is %s without inventing what it came to", (status, brought) => {
    const wire = { ...legacyTask, status };
    const read = { ...task, status, ...brought };
    expect(core.decodeResult("tasks/get", wire)).toEqual({ kind: "complete", result: read });
    expect(core.decodeNotification("notifications/tasks/status", wire)).toEqual({
      method: "notifications/tasks",
      params: read,
    });
  });

  it("is read from a list, whatever else is in it", () => {
    const tasks = [null, legacyTask, { taskId: "t" }];
    expect(core.decodeResult("tasks/list", { tasks, nextCursor: null })).toEqual({
      kind: "complete",
      result: { tasks: [null, task, { taskId: "t" }] },
    });
  });

  it.each([
    ["tasks/get", {}, ".taskId must be a string"],
    ["tasks/cancel", { taskId: "t" }, ".status must be working or input_required or completed or failed or cancelled"],
    ["tasks/list", { tasks: {} }, ".tasks must be an array"],
  ] as const)("is refused in %s as %j", (method, wire, problem) => {
    expect(core.decodeResult(method, wire)).toEqual({
      kind: "failed",
      failure: { code: "invalid-response", message: `${method} result${problem}` },
    });
  });

  it.each(older)("is nothing that %s could tell of", (revision) => {
    const { encodeNotification } = codecFor(revision);
    expect(encodeNotification("notifications/tasks", task)).toBeUndefined();
    expect(encodeNotification("notifications/message", { _meta: { [related]: { taskId: "t" } } })).toEqual({});
    const outcome = { kind: "complete", result: { content: [], _meta: { [related]: { taskId: "t" } } } } as const;
    expect(said(revision, "tools/call", outcome)).toEqual({ content: [] });
  });
});

describe("the capability", () => {
  const extensions = { "com.example/x": {}, [tasksExtension]: {} };
  const info = { name: "host", version: "1" };
  const stated = { supportedVersions: [], serverInfo: server };
  const inCore = { cancel: {}, requests: { tools: { call: {} } } };

  it("of a server is an extension since 2026-07-28", () => {
    const result = { ...stated, capabilities: { tools: {}, extensions, tasks: inCore } };
    expect(said("2026-07-28", "server/discover", { kind: "complete", result }).capabilities).toEqual({
      tools: {},
      extensions,
    });
  });

  it("of a server is a part of the core in 2025-11-25", () => {
    const said = core.encodeInitializeResult({ ...stated, capabilities: { tools: {}, extensions } });
    expect(said.capabilities).toEqual({ tools: {}, extensions: { "com.example/x": {} }, tasks: inCore });
    const only = core.encodeInitializeResult({ ...stated, capabilities: { extensions: { [tasksExtension]: {} } } });
    expect(only.capabilities).toEqual({ tasks: inCore });
  });

  it("of a server tells in 2025-11-25 that tasks can be listed, when the server does", () => {
    const capabilities = { extensions: { [tasksExtension]: {} }, tasks: { list: {} } };
    expect(core.encodeInitializeResult({ ...stated, capabilities }).capabilities).toEqual({
      tasks: { ...inCore, list: {} },
    });
    expect(
      core.encodeInitializeResult({ ...stated, capabilities: { tasks: { list: {} } } as object }).capabilities,
    ).toEqual({});
  });

  it.each(older)("of a server is not said in %s, nor heard", (revision) => {
    const { encodeInitializeResult, decodeInitializeResult } = codecFor(revision);
    const capabilities = { extensions, tasks: inCore };
    const plain = { extensions: { "com.example/x": {} } };
    expect(encodeInitializeResult({ ...stated, capabilities }).capabilities).toEqual(plain);
    expect(decodeInitializeResult({ protocolVersion: revision, capabilities })).toMatchObject({ ok: true });
    const welcome = decodeInitializeResult({
      protocolVersion: revision,
      capabilities: { ...capabilities, completions: {} },
    });
    expect(welcome.ok && welcome.value.capabilities).toEqual({ ...plain, completions: {} });
  });

  it.each([
    [{ tasks: inCore }, { tasks: inCore, extensions: { [tasksExtension]: {} } }],
    [{ tasks: { list: {}, requests: {} } }, { tasks: { list: {}, requests: {} } }],
    [{ extensions: { [tasksExtension]: {} } }, {}],
    [
      { tasks: inCore, extensions: { "com.example/x": {} } },
      { tasks: inCore, extensions },
    ],
  ])("of a server of 2025-11-25 is heard from %j as %j", (capabilities, heard) => {
    const welcome = core.decodeInitializeResult({ protocolVersion: "2025-11-25", capabilities });
    expect(welcome.ok && welcome.value.capabilities).toEqual(heard);
  });

  it.each([...older, "2025-11-25"] as const)("of a client is neither said nor heard in %s", (revision) => {
    const { encodeInitializeRequest, decodeInitializeRequest } = codecFor(revision);
    const capabilities = { roots: {}, extensions };
    const plain = { roots: {}, extensions: { "com.example/x": {} } };
    expect(encodeInitializeRequest({ info, capabilities }).capabilities).toEqual(plain);
    const heard = (stated: JsonObject) =>
      decodeInitializeRequest({ protocolVersion: revision, clientInfo: { ...info }, capabilities: stated });
    expect(heard(capabilities)).toMatchObject({ value: { capabilities: plain } });
    expect(heard({ extensions: { [tasksExtension]: {} } })).toMatchObject({ value: { capabilities: {} } });
  });
});

describe("what the parts of a server tell each other", () => {
  it.each(revisions)("is not heard from a peer of %s, and not said to one", (revision) => {
    const method = "tools/list";
    const decoded = decode(revision, method, {});
    if (!decoded.ok) return expect.unreachable();
    const request = {
      kind: "request",
      id: 1,
      method,
      params: { _meta: { ...decoded.value.meta, ...inside } },
    } as const;
    const again = codecFor(revision).decodeCall(request, { peer: peerOf(revision), logLevel: undefined });
    expect(again).toMatchObject({ ok: true, value: { meta: decoded.value.meta } });
    expect(again.ok && Object.keys(again.value.meta)).toEqual(Object.keys(decoded.value.meta));
    const call = createCall({
      method,
      params: {},
      peer: peerOf(revision),
      abort: new LazyAbort(),
      notify: () => undefined,
      meta: inside,
    });
    return expect(JSON.stringify(codecFor(revision).encodeCall(call))).not.toContain("plugbay/");
  });
});
