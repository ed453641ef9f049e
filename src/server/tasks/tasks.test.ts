import { describe, expect, it } from "vitest";
import { askedBy, complete, failureOf, makeCall, resultOf, send } from "../../../test/support/direct.ts";
import { eventually } from "../../../test/support/patience.ts";
import { gate } from "../../../test/support/served.ts";
import {
  as,
  form,
  legacy,
  legacyPeer,
  modern,
  never,
  resultText,
  taskCluster,
  taskOf,
  textOf,
  wanting,
  yes,
} from "../../../test/support/task-cluster.ts";
import { toolError } from "../../protocol/errors.ts";
import { tasksExtension } from "../../protocol/task.ts";
import { createServer } from "../server.ts";
import { tool } from "../tool.ts";

const missing = {
  code: "missing-capability",
  data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
};

describe("what a call becomes", () => {
  const hello = () => "hello";

  it("never, and a task is wanted: there is no such thing", async () => {
    const { server } = taskCluster(hello);
    server("a").tools.add("plain", tool({ run: hello }));
    const outcome = await send(server("a"), "tools/call", { name: "plain" }, wanting);
    expect(failureOf(outcome)).toEqual({ code: "method-not-found", message: "tool plain cannot be run as a task" });
  });

  it("never, on a server without tasks: the wish is ignored", async () => {
    const { call } = taskCluster(hello, { mode: "never" });
    expect(resultOf(await call("a", wanting))).toEqual(resultText("hello"));
  });

  it("never, and no task is wanted: a plain call", async () => {
    const { server } = taskCluster(hello);
    server("a").tools.add("plain", tool({ run: hello }));
    expect(await complete(server("a"), "tools/call", { name: "plain" }, modern)).toEqual(resultText("hello"));
  });

  it("auto, for a client that knows no tasks: a plain call, however long it takes", async () => {
    const { opened, open } = gate<string>();
    const { call, clock } = taskCluster(() => opened, { mode: "auto" });
    const outcome = call("a", {});
    await clock.advanceAsync(20_000);
    open("late");
    expect(resultOf(await outcome)).toEqual(resultText("late"));
  });

  it("auto, and it is quick: a plain result", async () => {
    const { call, clock } = taskCluster(async () => "quick", { mode: "auto" });
    expect(resultOf(await call())).toEqual(resultText("quick"));
    await clock.advanceAsync(1_000);
  });

  it("auto, and it lasts: a task after 250 ms, which goes on without the call", async () => {
    const { opened, open } = gate<string>();
    let signal: AbortSignal | undefined;
    const { server, clock, is } = taskCluster(
      (context) => {
        signal = context.signal;
        return opened;
      },
      { mode: "auto" },
    );
    const { call, abort } = makeCall("tools/call", { name: "it" }, modern);
    const outcome = server("a")(call);
    let ended = false;
    void outcome.then(() => {
      ended = true;
    });
    await clock.advanceAsync(249);
    expect(ended).toBe(false);
    await clock.advanceAsync(1);
    const { taskId, status } = taskOf(await outcome);
    expect(status).toBe("working");
    abort.abort("the client has gone");
    expect(signal?.aborted).toBe(false);
    open("done");
    expect(textOf(await is(taskId, "completed"))).toBe("done");
  });

  it("auto: questions before that are ordinary rounds, and those after it are of the task", async () => {
    const { opened, open } = gate();
    const { call, clock, is, update } = taskCluster(
      async ({ ask }) => {
        await ask("First?", form);
        await opened;
        return (await ask("Second?", form)).ok;
      },
      { mode: "auto" },
    );
    const { state } = askedBy(await call());
    const outcome = call("a", { ...modern, state, answers: { "ask-1": yes } });
    await clock.advanceAsync(0);
    await clock.advanceAsync(300);
    const { taskId } = taskOf(await outcome);
    open();
    const { questions } = await is(taskId, "input_required");
    expect(Object.keys(questions)).toEqual(["ask-2"]);
    await update(taskId, { "ask-2": yes });
    expect(textOf(await is(taskId, "completed"))).toBe("true");
  });

  it("auto, and a task is wanted: a task at once", async () => {
    const { call, is } = taskCluster(hello, { mode: "auto" });
    const { taskId } = taskOf(await call("a", wanting));
    expect(textOf(await is(taskId, "completed"))).toBe("hello");
  });

  it.each(["wanted", "known"])("required, and tasks are %s: a task at once", async (how) => {
    const { call, is } = taskCluster(hello);
    const { taskId, ...task } = taskOf(await call("a", how === "wanted" ? wanting : modern));
    expect(taskId).toMatch(/^[\w-]{22,}$/);
    expect(task).toEqual({
      status: "working",
      createdAt: "1970-01-01T00:00:00.000Z",
      lastUpdatedAt: "1970-01-01T00:00:00.000Z",
      ttlMs: 3_600_000,
      pollIntervalMs: 1_000,
    });
    expect(textOf(await is(taskId, "completed"))).toBe("hello");
  });

  it("required, for a client that knows no tasks: told which capability is missing", async () => {
    const { call } = taskCluster(hello);
    expect(failureOf(await call("a", {}))).toMatchObject(missing);
  });

  it("works without a store of its own, and refuses arguments before there is a task", async () => {
    const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
    const server = createServer({
      name: "shop",
      version: "1",
      tools: { it: tool({ input, task: "required", run: ({ n }) => String(n + 1) }) },
    });
    expect(await complete(server, "tools/call", { name: "it", arguments: {} }, modern)).toMatchObject({
      isError: true,
    });
    const { taskId } = taskOf(await send(server, "tools/call", { name: "it", arguments: { n: 1 } }, modern));
    const task = await complete(server, "tasks/get", { taskId }, modern);
    expect(task).toMatchObject({ status: "completed", result: resultText("2") });
    expect(server.store).toBeUndefined();
    await server.close();
  });
});

describe("a task", () => {
  it("C145: starts working, and no end is followed by another", async () => {
    const { opened, open } = gate<string>();
    const { begin, get, cancel, clock } = taskCluster(() => opened);
    const id = await begin();
    expect(await get(id)).toMatchObject({ status: "working" });
    clock.advance(1_500);
    await cancel(id);
    open("too late");
    await clock.advanceAsync(5_000);
    const task = await get(id);
    expect(task).toMatchObject({ status: "cancelled", lastUpdatedAt: "1970-01-01T00:00:01.500Z" });
    expect(task).not.toHaveProperty("result");
  });

  it("C146: is cancelled before the caller is told, and its handler hears of it", async () => {
    let reason: unknown;
    const { begin, get, cancel } = taskCluster(({ signal }) => {
      signal.addEventListener("abort", () => {
        reason = signal.reason;
      });
      return never();
    });
    const id = await begin();
    expect(resultOf(await cancel(id))).toMatchObject({ taskId: id, status: "cancelled" });
    expect(reason).toMatchObject({ code: "cancelled" });
    expect(await get(id)).toMatchObject({ status: "cancelled" });
  });

  it("C146: is cancelled by a process that does not run it", async () => {
    let aborted = false;
    const { begin, is, cancel, until } = taskCluster(({ signal }) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return never();
    });
    const id = await begin("a");
    await cancel(id, "b");
    await is(id, "cancelled", "a");
    await until(async () => aborted || undefined);
  });

  it.each([
    ["first", "a"],
    ["second", "a"],
    ["first", "b"],
    ["second", "b"],
  ])("C145: that ends %s while %s cancels it has one end", async (order, node) => {
    for (let turns = 0; turns < 8; turns++) {
      const { opened, open } = gate<string>();
      const { begin, get, cancel, clock, server } = taskCluster(() => opened);
      const id = await begin("a", wanting);
      await get(id, node);
      const finish = async (): Promise<void> => {
        for (let n = 0; n < turns; n++) await Promise.resolve();
        open("done");
      };
      const asked = order === "first" ? [finish(), cancel(id, node, legacy)] : [cancel(id, node, legacy), finish()];
      const outcome = (await Promise.all(asked)).find((end) => end !== undefined);
      const [seen] = [await get(id, node)];
      expect(seen.status).toBe(outcome?.kind === "complete" ? "cancelled" : "completed");
      await clock.advanceAsync(20_000);
      expect(await get(id, node)).toEqual(seen);
      await server("a").close();
    }
  });

  it("C147: is kept for its time, or a minute after its end, and while it runs for ever", async () => {
    const { opened, open } = gate<string>();
    const { call, begin, get, is, clock } = taskCluster(({ meta }) => (meta.slow ? opened : "quick"));
    const quick = await begin();
    const short = taskOf(await call("a", { ...wanting, tasks: { wanted: true, ttlMs: 1 } }));
    const slow = await begin("a", { ...modern, meta: { slow: true } });
    expect(short.ttlMs).toBe(1);
    await is(quick, "completed");
    await is(short.taskId, "completed");
    await clock.advanceAsync(59_000);
    expect(await get(short.taskId)).toMatchObject({ status: "completed" });
    await clock.advanceAsync(1_001);
    await expect(get(short.taskId)).rejects.toThrow("unknown task");
    expect(await get(quick)).toMatchObject({ status: "completed" });
    await clock.advanceAsync(3_600_000);
    await expect(get(quick)).rejects.toThrow("unknown task");
    expect(await get(slow)).toMatchObject({ status: "working" });
    open("done");
    expect(textOf(await is(slow, "completed"))).toBe("done");
  });

  it("C147: gives way to newer ones when too many have ended", async () => {
    const { begin, get, is } = taskCluster(() => "", { budgets: { principal: { maxTasks: 2 } } });
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      const id = await begin();
      ids.push(id);
      await is(id, "completed");
    }
    await expect(get(ids[0] ?? "")).rejects.toThrow("unknown task");
    expect(await get(ids[1] ?? "")).toMatchObject({ status: "completed" });
  });

  it("is kept no longer than the server allows, and for ever where that is the limit", async () => {
    const { call } = taskCluster(() => "", { tasks: { maxTtlMs: 5_000 } });
    const tasks = { wanted: true, ttlMs: 10_000 };
    expect(taskOf(await call("a", { ...wanting, tasks })).ttlMs).toBe(5_000);
    const endless = taskCluster(() => "", { durable: false, tasks: { ttlMs: Infinity, maxTtlMs: Infinity } });
    const { taskId, ttlMs } = taskOf(await endless.call());
    expect(ttlMs).toBeNull();
    await endless.is(taskId, "completed");
    await endless.clock.advanceAsync(10 * 86_400_000);
    expect(await endless.get(taskId)).toMatchObject({ status: "completed" });
  });

  it("C149: what must or must not be a task, and what has ended, is refused to 2025-11-25 by number", async () => {
    const { call, server, cancel, begin, is } = taskCluster(() => "");
    server("a").tools.add("plain", tool({ run: () => "" }));
    expect(failureOf(await call("a", { peer: legacyPeer })).code).toBe("method-not-found");
    expect(failureOf(await send(server("a"), "tools/call", { name: "plain" }, wanting)).code).toBe("method-not-found");
    const id = await begin("a", wanting);
    await is(id, "completed");
    expect(failureOf(await cancel(id, "a", legacy))).toMatchObject({
      code: "invalid-params",
      message: "the task is completed already",
    });
    expect(resultOf(await cancel(id))).toMatchObject({ taskId: id, status: "completed" });
  });

  it("C156: is refused when too many are under way, and then there is none", async () => {
    const { opened, open } = gate<string>();
    const { call, begin, is, shared } = taskCluster(() => opened, { tasks: { maxRunning: 2 } });
    const [first = "", second = ""] = await Promise.all([begin(), begin()]);
    expect(failureOf(await call())).toMatchObject({ code: "limit-reached" });
    expect((await shared.values.list("shop/tasks:open")).length).toBe(2);
    open("done");
    await is(first, "completed");
    await is(second, "completed");
    await begin();
  });

  it("C156: leaves a call as it is that would have become one too many", async () => {
    const { opened, open } = gate<string>();
    const { call, clock } = taskCluster(() => opened, { mode: "auto", tasks: { maxRunning: 1 } });
    taskOf(await call("a", wanting));
    const outcome = call();
    await clock.advanceAsync(10_000);
    open("done");
    expect(resultOf(await outcome)).toEqual(resultText("done"));
  });

  it("C157: leaves nothing behind in the store but itself, and that for its time", async () => {
    const { begin, is, shared } = taskCluster(async ({ step }) => step("one", () => 1));
    const id = await begin();
    await is(id, "completed");
    await eventually(async () => {
      expect(await shared.values.list("shop/tasks:open")).toEqual([]);
      expect((await shared.streams.read(`shop/run:${id}`, 0)).last).toBe(0);
      expect(await shared.leases.held(`shop/run:${id}`)).toBe(false);
    });
    expect(await shared.values.get(`shop/run:${id}`)).toBeDefined();
  });

  it("C158: a handler that ignores the end is not heard any more, and its steps are not kept", async () => {
    const { opened, open } = gate();
    let late: unknown;
    const { begin, cancel, get, clock, shared } = taskCluster(async ({ step }) => {
      await opened;
      late = await step("late", () => 1).catch((error: unknown) => error);
      return "done";
    });
    const id = await begin();
    await cancel(id);
    open();
    await clock.advanceAsync(0);
    expect(late).toMatchObject({ code: "cancelled" });
    expect((await shared.streams.read(`shop/run:${id}`, 0)).last).toBe(0);
    expect(await get(id)).toMatchObject({ status: "cancelled" });
  });

  it("fails with what fails the call, and completes with an error that the model reads", async () => {
    const told = taskCluster(() => {
      throw toolError("sold out");
    });
    expect(await told.is(await told.begin(), "completed")).toMatchObject({
      result: { ...resultText("sold out"), isError: true },
    });
    const { begin, is } = taskCluster(({ ask }) => ask("?", form));
    const blind = { tasks: { wanted: false }, peer: { revision: "2026-07-28", capabilities: {} } } as const;
    const failed = await is(await begin("a", blind), "failed");
    expect(failed.failure?.code).toBe("missing-capability");
    expect(failed.statusMessage).toBe(failed.failure?.message);
  });

  it("fails when its result is no JSON", async () => {
    const { begin, is, faults } = taskCluster(() => ({ content: [], structuredContent: 1n }) as never);
    expect((await is(await begin(), "failed")).failure?.code).toBe("internal");
    expect(faults.length).toBe(1);
  });

  it("says how far it is, not more often than it is to be asked", async () => {
    const { opened, open } = gate();
    const { begin, get, clock, until, shared } = taskCluster(async ({ progress }) => {
      for (let n = 1; n <= 3; n++) progress(n, 3, `${n} of 3`);
      await opened;
      return "";
    });
    const id = await begin();
    const message = async () => (await get(id)).statusMessage;
    expect(await until(message)).toBe("1 of 3");
    const version = async () => (await shared.values.get(`shop/run:${id}`))?.version;
    const before = await version();
    await clock.advanceAsync(999);
    expect(await version()).toBe(before);
    await clock.advanceAsync(1);
    expect(await message()).toBe("3 of 3");
    open();
  });

  it("has no time limit but its tool's own", async () => {
    const { begin, get, clock } = taskCluster(never, { timeoutMs: 1_000 });
    const id = await begin();
    await clock.advanceAsync(60_000);
    expect(await get(id)).toMatchObject({ status: "working" });
    const strict = taskCluster(never, { toolMs: 1_000 });
    const short = await strict.begin();
    await strict.clock.advanceAsync(1_000);
    expect((await strict.is(short, "failed")).failure?.code).toBe("timeout");
    const auto = taskCluster(never, { mode: "auto", timeoutMs: 1_000 });
    const outcome = auto.call();
    await auto.clock.advanceAsync(250);
    const { taskId } = taskOf(await outcome);
    await auto.clock.advanceAsync(60_000);
    expect(await auto.get(taskId)).toMatchObject({ status: "working" });
  });

  it("is the same for a call that is repeated by its name, wherever", async () => {
    let runs = 0;
    const { begin, is, clock } = taskCluster(() => {
      runs++;
      return "done";
    });
    const named = { ...modern, meta: { "plugbay/key": "order 1" } };
    const [first, second] = await Promise.all([begin("a", named), begin("b", named)]);
    expect(second).toBe(first);
    await is(first, "completed");
    expect(await begin("b", named)).toBe(first);
    expect(await begin("b", { ...as("ann"), meta: named.meta })).not.toBe(first);
    expect(await begin("b", { ...modern, meta: { "plugbay/key": "order 2" } })).not.toBe(first);
    expect(runs).toBe(3);
    await clock.advanceAsync(3_600_000);
    expect(await begin("b", named)).not.toBe(first);
  });

  it("is known to its owner only", async () => {
    const { begin, get, cancel, update } = taskCluster(never);
    const id = await begin("a", as("ann"));
    expect(await get(id, "a", as("ann"))).toMatchObject({ status: "working" });
    for (const other of [as("bob"), modern]) {
      await expect(get(id, "a", other)).rejects.toThrow("unknown task");
      expect(failureOf(await cancel(id, "a", other))).toEqual({ code: "invalid-params", message: "unknown task" });
      expect(failureOf(await update(id, {}, "a", other))).toEqual({ code: "invalid-params", message: "unknown task" });
    }
    for (const none of ["", "x".repeat(1_000), "nobody-knows-this-task", "../a"]) {
      expect(failureOf(await cancel(none))).toEqual({ code: "invalid-params", message: "unknown task" });
    }
  });

  it("is for clients that said they know tasks", async () => {
    const { server } = taskCluster(() => "");
    const params = { taskId: "a", inputResponses: {} };
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"] as const) {
      expect(failureOf(await send(server("a"), method, params)), method).toMatchObject(missing);
    }
    const plain = createServer({ name: "shop", version: "1" });
    expect(failureOf(await send(plain, "tasks/get", params, modern)).code).toBe("method-not-found");
  });
});

describe("a list of tasks", () => {
  it("has those of its owner, page by page, and is refused to who is nobody", async () => {
    const { begin, server, is } = taskCluster(({ meta }) => ({ content: [], isError: meta.bad === true }), {
      pageSize: 2,
    });
    const ann = as("ann", "2025-11-25");
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push(await begin("a", { ...ann, meta: { bad: n === 0 } }));
    await begin("a", as("bob"));
    for (const id of ids) await is(id, "completed", "a", ann);
    const first = await complete(server("a"), "tasks/list", {}, ann);
    const rest = await complete(server("a"), "tasks/list", { cursor: first.nextCursor ?? "" }, ann);
    const tasks = [...first.tasks, ...rest.tasks];
    expect(tasks.map(({ taskId }) => taskId)).toEqual([...ids].sort());
    expect(tasks.filter(({ status }) => status === "failed").map(({ taskId }) => taskId)).toEqual([ids[0]]);
    expect(rest.nextCursor).toBeUndefined();
    expect(failureOf(await send(server("a"), "tasks/list", { cursor: "x" }, ann)).message).toBe("unknown cursor");
    expect(failureOf(await send(server("a"), "tasks/list", {}, legacy)).code).toBe("method-not-found");
  });
});

describe("definitions", () => {
  it("are shown with how they run, and tasks are advertised from the first on", async () => {
    const { server } = taskCluster(() => "", { mode: "never" });
    const offers = async () => (await complete(server("a"), "server/discover", {})).capabilities.extensions;
    expect(await offers()).toBeUndefined();
    server("a").tools.add("auto", tool({ task: "auto", run: () => "" }));
    server("a").tools.add("required", tool({ task: "required", run: () => "" }));
    expect(await offers()).toEqual({ [tasksExtension]: {} });
    const { tools } = await complete(server("a"), "tools/list", {});
    expect(tools.map(({ execution }) => execution)).toEqual([
      undefined,
      { taskSupport: "optional" },
      { taskSupport: "required" },
    ]);
  });

  it("are refused with another mode, and limits that limit nothing too", () => {
    const it = tool({ run: () => "", task: "always" as never });
    expect(() => createServer({ name: "a", version: "1", tools: { it } })).toThrow("tool it: task must be");
    expect(() => createServer({ name: "a", version: "1", tasks: { ttlMs: 0 } })).toThrow(
      "the option ttlMs must be at least 1, not 0",
    );
    expect(() => createServer({ name: "a", version: "1", tasks: { afterMs: 0 } })).not.toThrow();
  });
});
