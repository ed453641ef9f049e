import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Connection } from "../protocol/connection.ts";
import { McpError } from "../protocol/errors.ts";
import type { ElicitResult } from "../protocol/input.ts";
import { abortReason, type Call, type Outcome, onAbort, type Service } from "../protocol/service.ts";
import type { Task } from "../protocol/task.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { createManualClock } from "../testing/clock.ts";
import { createRequestHandlers, type QuestionHandlers } from "./request-handlers.ts";
import { createRequests, type RequestsOptions } from "./requests.ts";
import type { ClientWarning } from "./warning.ts";

type Script = (call: Call) => Promise<Outcome>;

const result: CallToolResult = { content: [{ type: "text", text: "done" }] };
const complete: Outcome = { kind: "complete", result };
const at = "2026-01-01T00:00:00Z";
const task: Task = { taskId: "t", status: "working", createdAt: at, lastUpdatedAt: at, ttlMs: null };
const never: Script = () => new Promise(() => {});

function setUp(script: Script, options: Partial<RequestsOptions> & QuestionHandlers = {}) {
  const clock = createManualClock();
  const warnings: ClientWarning[] = [];
  const connection: Connection = {
    service: script as Service,
    revision: "2026-07-28",
    server: { supportedVersions: [], capabilities: {}, serverInfo: { name: "shop", version: "1" } },
    peer: { revision: "2026-07-28", capabilities: {} },
    ended: new Promise(() => {}),
    close: async () => {},
  };
  const handlers = createRequestHandlers(options);
  const requests = createRequests({
    connection,
    handlers,
    clock,
    warn: (warning) => warnings.push(warning),
    limits: { idleMs: 30_000, totalMs: 600_000 },
    maxOpenRequests: 1024,
    maxQueuedCalls: 10_000,
    maxRounds: 10,
    onLog: undefined,
    logLevel: "info",
    ...options,
  });
  const send = (callOptions = {}) => requests.send("tools/call", { name: "buy" }, callOptions);
  return { clock, handlers, requests, send, warnings };
}

/** A service whose outcomes the test gives, call by call. */
function scripted() {
  const calls: { readonly call: Call; settle(outcome: Outcome): void; reject(error: unknown): void }[] = [];
  const script: Script = (call) =>
    new Promise((settle, reject) => {
      calls.push({ call, settle, reject });
    });
  return { calls, script };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no error",
    (error: unknown) => (error instanceof McpError ? error.code : `not an McpError: ${error}`),
  );
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("settling", () => {
  it("C2: the outcome settles the call; an abort afterwards changes nothing and reaches nobody", async () => {
    const { calls, script } = scripted();
    const { send } = setUp(script);
    const abort = new AbortController();
    const promise = send({ signal: abort.signal });
    calls[0]?.settle(complete);
    expect(await promise).toBe(result);
    abort.abort();
    expect(calls[0] && abortReason(calls[0].call)).toBeUndefined();
  });

  it("C3: on cancel the caller is rejected first, then the call is aborted once; what comes between is dropped", async () => {
    const order: string[] = [];
    const { requests, send } = setUp(
      (call) =>
        new Promise((settle) => {
          onAbort(call, () => {
            order.push(`aborted: ${abortReason(call)}, open: ${requests.size}`);
            settle(complete);
          });
        }),
    );
    const abort = new AbortController();
    const promise = send({ signal: abort.signal });
    abort.abort("not needed");
    abort.abort("again");
    const error: unknown = await promise.catch((reason: unknown) => reason);
    expect(order).toEqual(["aborted: not needed, open: 0"]);
    expect(error).toMatchObject({
      code: "cancelled",
      message: 'tools/call "buy" on server "shop" was cancelled',
      cause: "not needed",
    });
  });

  it("C2, C3: rejects at once, also when the service ignores the abort", async () => {
    const { send } = setUp(never);
    const abort = new AbortController();
    const promise = send({ signal: abort.signal });
    abort.abort();
    expect(await codeOf(promise)).toBe("cancelled");
  });

  it("does not call the service when the signal is already aborted", async () => {
    const { calls, script } = scripted();
    const { send } = setUp(script);
    expect(await codeOf(send({ signal: AbortSignal.abort() }))).toBe("cancelled");
    expect(calls).toEqual([]);
  });

  it("C4: an outcome after cancel or timeout is discarded and disturbs no other call", async () => {
    const { calls, script } = scripted();
    const { clock, send } = setUp(script);
    const abort = new AbortController();
    const first = codeOf(send({ signal: abort.signal }));
    const second = codeOf(send({ timeoutMs: 5 }));
    const third = send();
    abort.abort();
    clock.advance(5);
    calls[0]?.settle(complete);
    calls[1]?.reject(new Error("late"));
    calls[2]?.settle({ kind: "complete", result: { content: [] } });
    expect([await first, await second, await third]).toEqual(["cancelled", "timeout", { content: [] }]);
  });

  it("C7: cancellation, timeout, failure and loss of the connection have codes of their own", async () => {
    const { calls, script } = scripted();
    const { clock, requests, send } = setUp(script);
    const abort = new AbortController();
    const codes = [send({ signal: abort.signal }), send({ timeoutMs: 1 }), send(), send()].map(codeOf);
    abort.abort();
    clock.advance(1);
    calls[2]?.settle({ kind: "failed", failure: { code: "internal", message: "broken" } });
    await settled();
    requests.refuse("gone");
    requests.endAll();
    expect(await Promise.all(codes)).toEqual(["cancelled", "timeout", "internal", "connection-closed"]);
  });

  it("C10: when the connection ends every open call rejects and is aborted; later ones fail at once", async () => {
    const { calls, script } = scripted();
    const { requests, send } = setUp(script);
    const open = [send(), send(), send()].map(codeOf);
    requests.refuse("the server has gone");
    requests.endAll();
    expect(await Promise.all(open)).toEqual(["connection-closed", "connection-closed", "connection-closed"]);
    expect(calls.map(({ call }) => call.signal.aborted)).toEqual([true, true, true]);
    await expect(send()).rejects.toMatchObject({
      code: "connection-closed",
      message: 'tools/call "buy" on server "shop" failed: the server has gone',
    });
    expect(calls).toHaveLength(3);
  });

  it("C11: outcomes may come in any order", async () => {
    const { calls, script } = scripted();
    const { send } = setUp(script);
    const promises = [send(), send(), send()];
    for (const index of [2, 0, 1]) {
      calls[index]?.settle({ kind: "complete", result: { content: [{ type: "text", text: `${index}` }] } });
    }
    const texts = (await Promise.all(promises)).map(({ content: [block] }) => block?.type === "text" && block.text);
    expect(texts).toEqual(["0", "1", "2"]);
  });

  it("C13: 0 switches the limit off", () => {
    const { calls, script } = scripted();
    const { send } = setUp(script, { maxOpenRequests: 0 });
    for (let count = 0; count < 2_000; count++) void send();
    expect(calls).toHaveLength(2_000);
  });

  it.each<[string, Script]>([
    ["rejects", () => Promise.reject(new TypeError("socket"))],
    [
      "throws",
      () => {
        throw new TypeError("socket");
      },
    ],
  ])("C16: a service that %s fails the call with a typed error and frees its slot", async (_, script) => {
    const { requests, send } = setUp(script);
    const error: unknown = await send().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(McpError);
    expect(error).toMatchObject({
      code: "internal",
      message: 'tools/call "buy" on server "shop" failed: socket',
      cause: new TypeError("socket"),
    });
    expect(requests.size).toBe(0);
  });

  it("takes a task nobody asked for as an invalid response", async () => {
    const { send } = setUp(async () => ({ kind: "task", task }), { tasks: false });
    expect(await codeOf(send())).toBe("invalid-response");
  });

  it("C139: two clients with equal calls never cross results", async () => {
    const one = setUp(async () => ({ kind: "complete", result: { content: [{ type: "text", text: "one" }] } }));
    const other = setUp(async () => ({ kind: "complete", result: { content: [{ type: "text", text: "other" }] } }));
    expect(await Promise.all([one.send(), other.send()])).toEqual([
      { content: [{ type: "text", text: "one" }] },
      { content: [{ type: "text", text: "other" }] },
    ]);
  });
});

describe("calls over the limit of open requests", () => {
  const nameIn = ({ call }: { readonly call: Call }): unknown => (call.params as { readonly name?: unknown }).name;

  function limited(options: Partial<RequestsOptions> & QuestionHandlers = {}) {
    const { calls, script } = scripted();
    const parts = setUp(script, { maxOpenRequests: 2, ...options });
    const call = (name: string, callOptions = {}) => parts.requests.send("tools/call", { name }, callOptions);
    return { ...parts, calls, call, sent: () => calls.map(nameIn) };
  }

  it("wait, and are sent in their order (X12)", async () => {
    const { calls, call, sent } = limited();
    const all = ["a", "b", "c", "d", "e"].map((name) => call(name));
    expect(sent()).toEqual(["a", "b"]);
    calls[1]?.settle(complete);
    await all[1];
    expect(sent()).toEqual(["a", "b", "c"]);
    for (const at of [0, 2, 3, 4]) {
      calls[at]?.settle(complete);
      await settled();
    }
    expect(sent()).toEqual(["a", "b", "c", "d", "e"]);
    await Promise.all(all);
  });

  it("are sent after calls that fail, are cancelled or run out of time, too (X12)", async () => {
    const { clock, calls, call, sent } = limited({ maxOpenRequests: 1 });
    const abort = new AbortController();
    const codes = [
      codeOf(call("fails")),
      codeOf(call("cancelled", { signal: abort.signal })),
      codeOf(call("late")),
      codeOf(call("last")),
    ];
    calls[0]?.reject(new TypeError("socket"));
    await settled();
    expect(sent()).toEqual(["fails", "cancelled"]);
    abort.abort();
    expect(sent()).toEqual(["fails", "cancelled", "late"]);
    clock.advance(30_000);
    expect(sent()).toEqual(["fails", "cancelled", "late", "last"]);
    clock.advance(29_999);
    calls[3]?.settle(complete);
    expect(await Promise.all(codes)).toEqual(["internal", "cancelled", "timeout", "no error"]);
  });

  it("leave the queue when they are cancelled, and nothing is sent (X12)", async () => {
    const { calls, call, sent, requests } = limited({ maxOpenRequests: 1 });
    const abort = new AbortController();
    void call("open");
    const waiting = call("waiting", { signal: abort.signal });
    void call("next");
    abort.abort("changed my mind");
    await expect(waiting).rejects.toMatchObject({ code: "cancelled", cause: "changed my mind" });
    calls[0]?.settle(complete);
    await settled();
    expect(sent()).toEqual(["open", "next"]);
    expect(requests.size).toBe(1);
  });

  it("run out of time while they wait, and say so; once sent they have their whole time (X12, X14)", async () => {
    const { clock, calls, call, sent } = limited({ maxOpenRequests: 1 });
    void call("open", { timeoutMs: 0 });
    const late = call("late", { timeoutMs: 50 });
    const patient = codeOf(call("patient", { timeoutMs: 100 }));
    clock.advance(50);
    await expect(late).rejects.toMatchObject({
      code: "timeout",
      message:
        'tools/call "late" on server "shop" was not sent within 50 ms (timeoutMs): it waited for other calls to be answered (maxOpenRequests); raise timeoutMs or maxOpenRequests',
      data: { phase: "call", timeoutMs: 50 },
    });
    clock.advance(49);
    calls[0]?.settle(complete);
    await settled();
    expect(sent()).toEqual(["open", "patient"]);
    clock.advance(99);
    calls[1]?.settle(complete);
    expect(await patient).toBe("no error");
  });

  it("are counted from the start by maxTotalMs (X12)", async () => {
    const { clock, calls, call } = limited({ maxOpenRequests: 1 });
    void call("open", { timeoutMs: 0 });
    const late = codeOf(call("late", { timeoutMs: 80, maxTotalMs: 100 }));
    clock.advance(60);
    calls[0]?.settle(complete);
    await settled();
    clock.advance(40);
    expect(await late).toBe("timeout");
  });

  it("fail when too many wait, by the name of the option (X12)", async () => {
    const { call, sent } = limited({ maxOpenRequests: 1, maxQueuedCalls: 2 });
    for (const name of ["open", "first", "second"]) void call(name);
    await expect(call("third")).rejects.toMatchObject({
      code: "limit-reached",
      message:
        'tools/call "third" on server "shop" was not sent: 1 calls are unanswered (maxOpenRequests) and 2 wait (maxQueuedCalls); send fewer at once, or raise maxQueuedCalls',
      data: { limit: "maxQueuedCalls", max: 2, scope: "connection" },
    });
    expect(sent()).toEqual(["open"]);
  });

  it("fail with the connection, and are not sent (X12)", async () => {
    const { call, sent, requests } = limited({ maxOpenRequests: 1 });
    const all = ["open", "waiting"].map((name) => codeOf(call(name)));
    requests.refuse("the client is closed");
    requests.endAll();
    expect(await Promise.all(all)).toEqual(["connection-closed", "connection-closed"]);
    expect(sent()).toEqual(["open"]);
  });

  it("do not wait for a call that waits for them: one that asks makes room (X12)", async () => {
    const inner: Promise<unknown>[] = [];
    const onElicit = async () => {
      inner.push(call("inner"));
      await Promise.all(inner);
      return { action: "decline" as const };
    };
    const { calls, call, sent } = limited({ maxOpenRequests: 1, onElicit });
    const outer = call("outer");
    const other = call("other");
    const question = {
      method: "elicitation/create",
      params: { message: "?", requestedSchema: { type: "object", properties: {} } },
    } as const;
    const asked = calls[0]?.call.ask?.(question);
    await settled();
    expect(sent()).toEqual(["outer", "other"]);
    calls[1]?.settle(complete);
    await settled();
    calls[2]?.settle(complete);
    expect(await asked).toEqual({ action: "decline" });
    calls[0]?.settle(complete);
    await Promise.all([outer, other]);
    expect(sent()).toEqual(["outer", "other", "inner"]);
  });

  it("do not wait for what only listens (X12)", async () => {
    const { requests, call, sent } = limited({ maxOpenRequests: 1 });
    void requests.send("subscriptions/listen", { notifications: {} }, {}, { isSubscription: true });
    void call("first");
    expect(sent()).toEqual([undefined, "first"]);
  });

  it("can be many thousands, whatever the first of them does (X12)", async () => {
    const failing: Script = () => {
      throw new TypeError("socket");
    };
    let isOpen = true;
    const { calls, script } = scripted();
    const { send, requests } = setUp((call) => (isOpen ? script(call) : failing(call)), { maxOpenRequests: 1 });
    const codes = Array.from({ length: 10_000 }, () => codeOf(send()));
    isOpen = false;
    calls[0]?.settle(complete);
    expect(new Set(await Promise.all(codes))).toEqual(new Set(["no error", "internal"]));
    expect(requests.size).toBe(0);
  });
});

describe("time limits", () => {
  it("C8: a timeout rejects the caller, frees the slot and aborts the call (X14)", async () => {
    const { calls, script } = scripted();
    const { clock, requests, send } = setUp(script);
    const promise = send();
    promise.catch(() => {});
    clock.advance(29_999);
    expect(requests.size).toBe(1);
    clock.advance(1);
    expect(requests.size).toBe(0);
    await expect(promise).rejects.toMatchObject({
      code: "timeout",
      message:
        'tools/call "buy" on server "shop" timed out: neither a result nor progress for 30000 ms (timeoutMs); raise timeoutMs, or have the server report progress',
      data: { phase: "call", timeoutMs: 30_000 },
    });
    expect(calls[0]?.call.signal.reason).toMatchObject({ code: "timeout" });
  });

  it("C24: progress starts the idle time anew, never past the total (X14)", async () => {
    const { calls, script } = scripted();
    const { clock, send } = setUp(script);
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => seen.push(progress);
    const promise = send({ timeoutMs: 100, maxTotalMs: 350, onProgress });
    promise.catch(() => {});
    for (const progress of [1, 2, 3, 4]) {
      clock.advance(80);
      calls[0]?.call.notify("notifications/progress", { progress });
    }
    clock.advance(29);
    expect(seen).toEqual([1, 2, 3, 4]);
    clock.advance(1);
    await expect(promise).rejects.toMatchObject({
      code: "timeout",
      message:
        'tools/call "buy" on server "shop" timed out: it took longer than 350 ms in all (maxTotalMs); raise maxTotalMs',
      data: { phase: "call", timeoutMs: 350 },
    });
  });

  it("C15: limits, signal and _meta belong to one request", async () => {
    const { calls, script } = scripted();
    const { clock, send } = setUp(script);
    const short = codeOf(send({ timeoutMs: 10, meta: { trace: "a" } }));
    void send({ meta: { trace: "b" } });
    clock.advance(10);
    expect(await short).toBe("timeout");
    expect(calls.map(({ call }) => [call.meta, call.signal.aborted])).toEqual([
      [{ trace: "a" }, true],
      [{ trace: "b" }, false],
    ]);
  });

  it("lets a caller be patient for longer than the default total, or for ever", async () => {
    const { clock, requests, send } = setUp(never);
    void send({ timeoutMs: 3_600_000 }).catch(() => {});
    void send({ timeoutMs: 0, maxTotalMs: 0 });
    clock.advance(3_599_999);
    expect(requests.size).toBe(2);
    clock.advance(1);
    expect(requests.size).toBe(1);
    clock.advance(1e9);
    expect(requests.size).toBe(1);
  });

  it("does not count the time a question waits for the user as silence, but as part of the total", async () => {
    let answerUser = (_: ElicitResult): void => {};
    const { clock, handlers, requests, send } = setUp(never, {
      onElicit: () =>
        new Promise((resolve) => {
          answerUser = resolve;
        }),
    });
    const promise = send({ timeoutMs: 100, maxTotalMs: 1_000 });
    promise.catch(() => {});
    const signal = new AbortController().signal;
    const form = { message: "?", requestedSchema: { type: "object", properties: {} } };
    const answer = handlers.answer({ method: "elicitation/create", params: form }, signal);
    clock.advance(750);
    expect(requests.size).toBe(1);
    await settled();
    answerUser({ action: "decline" });
    await answer;
    clock.advance(99);
    expect(requests.size).toBe(1);
    clock.advance(151);
    await expect(promise).rejects.toMatchObject({ code: "timeout" });
  });
});

describe("callbacks", () => {
  it("C18: progress reaches its own call only, and never after it has settled", async () => {
    const { calls, script } = scripted();
    const { send } = setUp(script);
    const heard: string[] = [];
    const first = send({ onProgress: () => heard.push("first") });
    void send({ onProgress: () => heard.push("second") });
    calls[0]?.call.notify("notifications/progress", { progress: 1 });
    calls[0]?.settle(complete);
    await first;
    calls[0]?.call.notify("notifications/progress", { progress: 2 });
    expect(heard).toEqual(["first"]);
  });

  it("C21: without onProgress the server is not asked for progress, and what it sends is nobody's", async () => {
    const { calls, script } = scripted();
    const { send } = setUp(script);
    const promise = send();
    expect(calls[0]?.call.wantsProgress).toBe(false);
    calls[0]?.call.notify("notifications/progress", { progress: 1 });
    calls[0]?.settle(complete);
    expect(await promise).toBe(result);
  });

  it("C23: total and message are there when sent, absent when not; what is no number is dropped", () => {
    const { calls, script } = scripted();
    const { send } = setUp(script);
    const heard: object[] = [];
    void send({ onProgress: (progress: object) => heard.push(progress) });
    calls[0]?.call.notify("notifications/progress", { progress: 1 });
    calls[0]?.call.notify("notifications/progress", { progress: 2, total: 5, message: "half" });
    calls[0]?.call.notify("notifications/progress", { progress: "3" });
    expect(heard).toStrictEqual([{ progress: 1 }, { progress: 2, total: 5, message: "half" }]);
  });

  it("asks for log messages only when somebody hears them", () => {
    const { calls, script } = scripted();
    const { requests, send } = setUp(script);
    const heard: object[] = [];
    void send();
    requests.logLevel = "warning";
    void send({ onLog: (entry: object) => heard.push(entry) });
    expect(calls.map(({ call }) => call.logLevel)).toEqual([undefined, "warning"]);
    calls[1]?.call.notify("notifications/message", { level: "error", logger: "db", data: { id: 1 } });
    calls[1]?.call.notify("notifications/message", { level: "loud", data: "x" });
    expect(heard).toEqual([{ level: "error", logger: "db", data: { id: 1 } }]);
  });

  it("turns an error thrown by a callback into a warning; the call goes on", async () => {
    const { calls, script } = scripted();
    const { send, warnings } = setUp(script);
    const cause = new Error("in the user interface");
    const promise = send({
      onProgress: () => {
        throw cause;
      },
    });
    calls[0]?.call.notify("notifications/progress", { progress: 1 });
    calls[0]?.settle(complete);
    expect(await promise).toBe(result);
    expect(warnings).toEqual([{ kind: "callback-failed", message: "onProgress threw", cause }]);
  });
});

describe("sharing a signal", () => {
  it("gives a signal one listener, however many calls share it, and takes it back after the last", async () => {
    const { calls, script } = scripted();
    const { send } = setUp(script);
    const abort = new AbortController();
    const log: string[] = [];
    const { signal } = abort;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      log.push("add");
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      log.push("remove");
      remove(...args);
    };
    const promises = Array.from({ length: 20 }, () => send({ signal }));
    for (const { settle } of calls) settle(complete);
    await Promise.all(promises);
    expect(log).toEqual(["add", "remove"]);
  });

  it("cancels all calls that share it", async () => {
    const { send } = setUp(never);
    const abort = new AbortController();
    const codes = Array.from({ length: 3 }, () => codeOf(send({ signal: abort.signal })));
    abort.abort();
    expect(await Promise.all(codes)).toEqual(["cancelled", "cancelled", "cancelled"]);
  });
});

describe("any sequence of events", () => {
  type Event = "complete" | "failed" | "busy" | "ask" | "throw" | "abort" | "wait" | "notify" | "close";
  const events: Event[] = ["complete", "failed", "busy", "ask", "throw", "abort", "wait", "notify", "close"];

  it("C2: settles the call exactly once and leaves nothing open", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...events), { maxLength: 12 }), async (sequence) => {
        const { calls, script } = scripted();
        const { clock, requests, send } = setUp(script, { onElicit: () => ({ action: "decline" }) });
        const abort = new AbortController();
        let settlements = 0;
        let progressAfterwards = 0;
        const promise = send({
          signal: abort.signal,
          onProgress: () => {
            if (settlements > 0) progressAfterwards++;
          },
        });
        const count = () => {
          settlements++;
        };
        promise.then(count, count);
        const form = { message: "?", requestedSchema: { type: "object", properties: {} } };
        const question = { method: "elicitation/create", params: form } as const;
        const act: Record<Event, () => void> = {
          complete: () => calls.at(-1)?.settle(complete),
          failed: () => calls.at(-1)?.settle({ kind: "failed", failure: { code: "internal", message: "x" } }),
          busy: () => calls.at(-1)?.settle({ kind: "input-required", questions: {}, state: "s" }),
          ask: () => calls.at(-1)?.settle({ kind: "input-required", questions: { q: question } }),
          throw: () => calls.at(-1)?.reject(new Error("broken")),
          abort: () => abort.abort(),
          wait: () => clock.advance(10_000),
          notify: () => void calls.at(-1)?.call.notify("notifications/progress", { progress: 1 }),
          close: () => {
            requests.refuse("closed");
            requests.endAll();
          },
        };
        for (const event of sequence) {
          act[event]();
          await settled();
          expect(settlements).toBeLessThanOrEqual(1);
        }
        clock.advance(700_000);
        await settled();
        expect([settlements, progressAfterwards, requests.size]).toEqual([1, 0, 0]);
      }),
      { numRuns: 150 },
    );
  });
});
