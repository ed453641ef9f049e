import { beforeAll, describe, expect, it } from "vitest";
import { able, failureOf, faultLog, makeCall, peer, resultOf, send } from "../../../test/support/direct.ts";
import { gate } from "../../../test/support/served.ts";
import type { QuestionAnswer } from "../../protocol/input.ts";
import { loadCompiler } from "../../schema/to-validator.ts";
import { createManualClock } from "../../testing/clock.ts";
import { type Context, lazyQuestions } from "../context.ts";
import { prompt } from "../prompt.ts";
import { resource } from "../resource.ts";
import { createServer } from "../server.ts";
import { tool } from "../tool.ts";

const info = { name: "shop", version: "1" };

beforeAll(async () => {
  await Promise.all([loadCompiler(), lazyQuestions.load()]);
});

const never = () => new Promise<never>(() => {});

type Run = (input: unknown, context: Context) => unknown;

/** A server with one tool, on a clock of its own. */
function withTool(run: Run, { timeoutMs, toolMs }: { timeoutMs?: number; toolMs?: number } = {}) {
  const clock = createManualClock();
  const { faults, onError } = faultLog();
  const server = createServer({
    ...info,
    clock,
    onError,
    ...(timeoutMs !== undefined && { timeoutMs }),
    tools: { it: tool({ run, ...(toolMs !== undefined && { timeoutMs: toolMs }) }) },
  });
  return { clock, faults, server };
}

/** Sees how a promise stands without waiting for it. */
function watch<T>(promise: Promise<T>): { value?: T } {
  const seen: { value?: T } = {};
  promise.then((value) => {
    seen.value = value;
  });
  return seen;
}

describe("the time limit", () => {
  it("C40: ends a handler that never settles with one error, after 30 s", async () => {
    const { clock, server } = withTool(never);
    const outcome = send(server, "tools/call", { name: "it" });
    const seen = watch(outcome);
    await clock.advanceAsync(29_999);
    expect(seen).toEqual({});
    await clock.advanceAsync(1);
    expect(failureOf(await outcome)).toEqual({
      code: "timeout",
      message: "no result and no progress within 30000 ms",
      data: { reason: "timeout" },
    });
  });

  it("C40: aborts the signal with the error", async () => {
    const signals: AbortSignal[] = [];
    const { clock, server } = withTool((_, { signal }) => {
      signals.push(signal);
      return never();
    });
    const outcome = send(server, "tools/call", { name: "it" });
    await clock.advanceAsync(30_000);
    await outcome;
    expect(signals[0]?.aborted).toBe(true);
    expect(signals[0]?.reason).toMatchObject({ code: "timeout" });
  });

  it("C40: aborts a signal that is first read after it", async () => {
    const contexts: Context[] = [];
    const { clock, server } = withTool((_, context) => {
      contexts.push(context);
      return never();
    });
    const outcome = send(server, "tools/call", { name: "it" });
    await clock.advanceAsync(30_000);
    await outcome;
    expect(contexts[0]?.signal.aborted).toBe(true);
  });

  it.each([
    ["of the server", { timeoutMs: 100 }],
    ["of the tool", { timeoutMs: 5, toolMs: 100 }],
  ])("C40: is that %s", async (_, limits) => {
    const { clock, server } = withTool(never, limits);
    const seen = watch(send(server, "tools/call", { name: "it" }));
    await clock.advanceAsync(99);
    expect(seen).toEqual({});
    await clock.advanceAsync(1);
    expect(seen.value).toMatchObject({ failure: { code: "timeout" } });
  });

  it.each([
    ["for the server", { timeoutMs: 0 }],
    ["for the tool", { timeoutMs: 5, toolMs: 0 }],
  ])("C40: is off at 0 %s", async (_, limits) => {
    const { clock, server } = withTool(never, limits);
    const seen = watch(send(server, "tools/call", { name: "it" }));
    await clock.advanceAsync(1e9);
    expect(seen).toEqual({});
    expect(clock.pending).toBe(0);
  });

  it.each([true, false])("C24: starts anew with progress (caller listens: %s)", async (wantsProgress) => {
    const run: Run = async (_, { progress }) => {
      for (const step of [1, 2, 3, 3]) {
        await new Promise<void>((resolve) => clock.after(80, resolve));
        progress(step);
      }
      return never();
    };
    const { clock, server } = withTool(run, { timeoutMs: 100 });
    const seen = watch(send(server, "tools/call", { name: "it" }, { wantsProgress }));
    await clock.advanceAsync(4 * 80 + 99);
    expect(seen).toEqual({});
    await clock.advanceAsync(1);
    expect(seen.value).toMatchObject({ failure: { code: "timeout" } });
  });

  it("holds for prompts, resources, completers, lists and methods", async () => {
    const clock = createManualClock();
    const server = createServer({
      ...info,
      clock,
      timeoutMs: 10,
      prompts: { p: prompt({ get: never, complete: { a: never } }) },
      resources: [resource("a://b", { read: never }), resource("t://{x}", { read: never, list: never })],
      methods: { "x/y": never },
    });
    const ref = { type: "ref/prompt", name: "p" } as const;
    const outcomes = [
      send(server, "prompts/get", { name: "p" }),
      send(server, "resources/read", { uri: "a://b" }),
      send(server, "completion/complete", { ref, argument: { name: "a", value: "" } }),
      send(server, "resources/list", {}),
      send(server, "x/y" as "tools/list", {}),
    ];
    await clock.advanceAsync(10);
    const codes = (await Promise.all<unknown>(outcomes)).map((outcome) => failureOf(outcome as never).code);
    expect(codes).toEqual(outcomes.map(() => "timeout"));
  });

  it("is of no interest to a handler that ended in time", async () => {
    const contexts: Context[] = [];
    const { clock, server } = withTool(async (_, context) => {
      contexts.push(context);
      return context.signal.aborted;
    });
    await send(server, "tools/call", { name: "it" });
    await clock.advanceAsync(30_000);
    expect(contexts[0]?.signal.aborted).toBe(false);
  });

  it("leaves no timer when handlers end in time", async () => {
    const { clock, server } = withTool(async () => "done");
    for (let i = 0; i < 3; i++) await send(server, "tools/call", { name: "it" });
    await clock.advanceAsync(30_000);
    expect(clock.pending).toBe(0);
  });

  it("C39: what a handler returns after it is thrown away", async () => {
    const late = gate<string>();
    const { clock, faults, server } = withTool(() => late.opened);
    const outcome = send(server, "tools/call", { name: "it" });
    await clock.advanceAsync(30_000);
    late.open("late");
    expect(await outcome).toMatchObject({ kind: "failed", failure: { code: "timeout" } });
    expect(faults).toEqual([]);
  });

  it("what a handler throws after it is still told to the server, unless it was told to stop", async () => {
    const late = gate<Promise<never>>();
    const { clock, faults, server } = withTool(() => late.opened);
    const outcome = send(server, "tools/call", { name: "it" });
    await clock.advanceAsync(30_000);
    late.open(Promise.reject(new Error("late")));
    expect(await outcome).toMatchObject({ failure: { code: "timeout" } });
    await clock.advanceAsync(0);
    expect(faults).toMatchObject([[{ message: "late" }, { name: "it" }]]);

    const obedient = withTool(async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
    });
    const stopped = send(obedient.server, "tools/call", { name: "it" });
    await obedient.clock.advanceAsync(30_000);
    expect(await stopped).toMatchObject({ failure: { code: "timeout" } });
    expect(obedient.faults).toEqual([]);
  });
});

describe("the time a user takes", () => {
  const form = { type: "object", properties: { ok: { type: "boolean" } } } as const;
  const yes: QuestionAnswer = { action: "accept", content: { ok: true } };

  /** Questions wait until the test answers them, in order. */
  function context() {
    const open: ((answer: QuestionAnswer) => void)[] = [];
    const ask = () => new Promise<QuestionAnswer>((resolve) => open.push(resolve));
    return { parts: { ask, peer: peer(able) }, answer: (index: number) => open[index]?.(yes) };
  }

  it.each<[string, Run]>([
    ["before the first await", (_, { ask }) => ask("a", form).then(never)],
    ["after it", async (_, { ask }) => Promise.resolve().then(() => ask("a", form).then(never))],
  ])("C40: does not count: asked %s", async (_, run) => {
    const { clock, server } = withTool(run, { timeoutMs: 100 });
    const { parts, answer } = context();
    const seen = watch(send(server, "tools/call", { name: "it" }, parts));
    await clock.advanceAsync(1_000);
    expect(seen).toEqual({});
    answer(0);
    await clock.advanceAsync(99);
    expect(seen).toEqual({});
    await clock.advanceAsync(1);
    expect(seen.value).toMatchObject({ failure: { code: "timeout" } });
  });

  it("C40: does not count until the last of several questions is answered", async () => {
    const { clock, server } = withTool((_, { ask }) => Promise.all([ask("a", form), ask("b", form)]).then(never), {
      timeoutMs: 100,
    });
    const { parts, answer } = context();
    const seen = watch(send(server, "tools/call", { name: "it" }, parts));
    await clock.advanceAsync(0);
    answer(0);
    await clock.advanceAsync(1_000);
    expect(seen).toEqual({});
    answer(1);
    await clock.advanceAsync(100);
    expect(seen.value).toMatchObject({ failure: { code: "timeout" } });
  });

  it("counts again after a question that failed", async () => {
    const { clock, server } = withTool((_, { ask }) => ask("a", form).catch(never), { timeoutMs: 100 });
    const ask = () => Promise.reject(new Error("gone"));
    const seen = watch(send(server, "tools/call", { name: "it" }, { ask }));
    await clock.advanceAsync(100);
    expect(seen.value).toMatchObject({ failure: { code: "timeout" } });
  });

  it("sets no timer after the handler has ended", async () => {
    const { clock, server } = withTool((_, { ask }) => void ask("a", form));
    const { parts, answer } = context();
    await send(server, "tools/call", { name: "it" }, parts);
    answer(0);
    await clock.advanceAsync(1_000);
    expect(clock.pending).toBe(0);
  });
});

describe("the signal", () => {
  it("C38: aborts with the call and keeps its reason", async () => {
    const signals: AbortSignal[] = [];
    const { server } = withTool((_, { signal }) => {
      signals.push(signal);
      return never();
    });
    const { call, abort } = makeCall("tools/call", { name: "it" });
    void server(call);
    expect(signals[0]?.aborted).toBe(false);
    abort.abort("user cancelled");
    expect(signals[0]?.aborted).toBe(true);
    expect(signals[0]?.reason).toBe("user cancelled");
  });

  it("is aborted from the start when the call was", async () => {
    const { server } = withTool((_, { signal }) => signal.aborted);
    const { call, abort } = makeCall("tools/call", { name: "it" });
    abort.abort("too late");
    expect(resultOf(await server(call)).content).toEqual([{ type: "text", text: "true" }]);
  });

  it("is one and the same however often it is read", async () => {
    const { server } = withTool((_, context) => {
      const { signal } = context;
      return signal === context.signal;
    });
    expect(resultOf(await send(server, "tools/call", { name: "it" })).content).toEqual([
      { type: "text", text: "true" },
    ]);
  });

  it("is not made, nor that of the call, unless it is read", async () => {
    const { server } = withTool(async () => "done");
    const made = makeCall("tools/call", { name: "it" });
    const read: string[] = [];
    const call = new Proxy(made.call, {
      get(target, key) {
        if (key === "signal") read.push(key);
        return Reflect.get(target, key, target);
      },
    });
    await server(call);
    expect(read).toEqual([]);
  });

  it("is not aborted by the end of the call", async () => {
    const signals: AbortSignal[] = [];
    const { server } = withTool(async (_, { signal }) => void signals.push(signal));
    const { call, abort } = makeCall("tools/call", { name: "it" });
    await server(call);
    abort.abort("the connection ended");
    expect(signals[0]?.aborted).toBe(false);
  });

  it("C39: a handler that ignores it runs on", async () => {
    const late = gate<string>();
    const { server } = withTool(() => late.opened);
    const { call, abort } = makeCall("tools/call", { name: "it" });
    const outcome = server(call);
    abort.abort("stop");
    late.open("done anyway");
    expect(resultOf(await outcome)).toEqual({ content: [{ type: "text", text: "done anyway" }] });
  });
});

describe("what a handler may return", () => {
  it("a thenable that is no promise", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about
    const thenable = { then: (resolve: (value: string) => void) => resolve("done") };
    const { server } = withTool(() => thenable);
    expect(resultOf(await send(server, "tools/call", { name: "it" })).content).toMatchObject([{ text: "done" }]);
  });

  it("a thenable that settles twice counts once", async () => {
    const settle = (resolve: (value: string) => void, reject: (error: unknown) => void): void => {
      resolve("first");
      resolve("second");
      reject(new Error("third"));
    };
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about
    const { server } = withTool(() => ({ then: settle }));
    expect(resultOf(await send(server, "tools/call", { name: "it" })).content).toMatchObject([{ text: "first" }]);
  });

  it("a thenable that throws is masked", async () => {
    const { faults, server } = withTool(() => ({
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about
      then() {
        throw new Error("secret");
      },
    }));
    expect(resultOf(await send(server, "tools/call", { name: "it" }))).toMatchObject({ isError: true });
    expect(faults).toMatchObject([[{ message: "secret" }, {}]]);
  });
});
