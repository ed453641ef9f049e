import { describe, expect, it } from "vitest";
import { failureOf, resultOf } from "../../../test/support/direct.ts";
import type { Fate } from "../../../test/support/mortal-store.ts";
import { gate } from "../../../test/support/served.ts";
import {
  type ClusterOptions,
  form,
  modern,
  never,
  type Run,
  taskCluster,
  taskOf,
  textOf,
  yes,
} from "../../../test/support/task-cluster.ts";
import type { Outcome } from "../../protocol/service.ts";
import type { DetailedTask } from "../../protocol/task.ts";
import { StoreError } from "../../store/store.ts";
import { tool } from "../tool.ts";

/** Two questions and three steps, with what was done on the way. */
function trip() {
  const done: string[] = [];
  const run: Run = async ({ step, ask }, node) => {
    const did = (key: string) => step(key, () => done.push(key) && `${key} by ${node}`);
    const hold = await did("hold");
    const first = await ask("Charge?", form);
    const charge = await did("charge");
    const second = await ask("Receipt?", form);
    const mail = await did("mail");
    return JSON.stringify({ hold, first: first.ok, charge, second: second.ok, mail });
  };
  return { done, run };
}

/** Runs a task that begins on `a`, and goes on wherever there is life. Undefined when `a` died before there was one. */
async function drive(run: Run, options: ClusterOptions = {}) {
  const system = taskCluster(run, options);
  const { process } = system.node("a");
  const alive = async <T>(answer: (node: string) => Promise<T>): Promise<T> => {
    const dead = process.death.then(() => undefined);
    const first = process.dead ? undefined : await Promise.race([answer("a"), dead]);
    return first ?? answer("b");
  };
  const outcome = await Promise.race([system.call("a"), process.death.then(() => undefined)]);
  if (outcome === undefined) return { ...system, process, task: undefined };
  const { taskId } = taskOf(outcome);
  for (let turns = 0; turns < 400; turns++) {
    const task: DetailedTask = await alive((node) => system.get(taskId, node));
    if (task.status === "input_required") {
      const answers = Object.fromEntries(Object.keys(task.questions).map((key) => [key, yes]));
      await alive((node) => system.update(taskId, answers, node));
    } else if (task.status !== "working") {
      return { ...system, process, task };
    }
    await system.clock.advanceAsync(process.dead ? 1_000 : 0);
  }
  throw new Error("the task does not end");
}

describe("the progress of a task whose process ends", () => {
  it("never runs backwards while another process runs the handler again (X2)", async () => {
    const { opened, open } = gate();
    const { begin, node, get, clock, until } = taskCluster(async ({ step, progress }, name) => {
      for (let n = 1; n <= 5; n++) {
        progress(n, 10, `${n} of 10`);
        await step(`part ${n}`, () => n);
      }
      if (name === "a") await never();
      await opened;
      progress(6, 10, "6 of 10");
      return never();
    });
    const id = await begin("a");
    const told: number[] = [];
    const seen = async (name: string) => {
      const { statusMessage = "0" } = await get(id, name);
      const n = Number.parseInt(statusMessage, 10);
      if (n !== told.at(-1)) told.push(n);
      return n;
    };
    await until(async () => ((await seen("a")) >= 1 ? true : undefined));
    await clock.advanceAsync(1_000);
    expect(await seen("a")).toBe(5);
    node("a").process.kill();
    // The other one takes over when the lease has run out.
    for (let passed = 0; passed < 40; passed++) {
      await clock.advanceAsync(500);
      await seen("b");
    }
    open();
    await until(async () => ((await seen("b")) === 6 ? true : undefined));
    expect(told).toEqual(told.toSorted((one, other) => one - other));
  });
});

describe("a process that ends at any moment", () => {
  it("is replaced by another, which repeats no step that was kept", async () => {
    const { calls } = (await drive(trip().run)).process;
    expect(calls).toBeGreaterThan(20);
    const ends = new Set<string>();
    for (let at = 1; at <= calls; at++) {
      for (const carriedOut of [true, false]) {
        const { done, run } = trip();
        const fates: Readonly<Record<string, Fate>> = { a: { at, carriedOut } };
        const { task, shared, clock, server } = await drive(run, { fates });
        const where = `at ${at} ${carriedOut}`;
        const repeated = done.filter((key, index) => done.indexOf(key) !== index);
        // What was done but could not be written down any more is done again: nobody could know.
        expect(repeated.length, where).toBeLessThanOrEqual(carriedOut ? 0 : 1);
        if (task?.status === "completed") {
          const { first, second } = JSON.parse(textOf(task));
          expect([first, second], where).toEqual([true, true]);
        } else if (task !== undefined) {
          expect(task, where).toMatchObject({ failure: { message: expect.stringMatching("before its first step") } });
        }
        ends.add(task?.status ?? "none");
        server("b");
        await clock.advanceAsync(60_000);
        expect(await shared.values.list("shop/tasks:open"), where).toEqual([]);
      }
    }
    expect([...ends]).toEqual(expect.arrayContaining(["completed", "none"]));
  });
});

/** A named call that becomes a task after a while on `a`, is tried again on `b` when that has died, and ends. */
async function repeat(fate: Fate = {}) {
  const done: string[] = [];
  const system = taskCluster(
    async ({ step }, node) => {
      for (const key of ["one", "two", "three", "four"]) {
        // Who is dead does nothing any more, also between a step and what it does.
        const dies = (): boolean => system.node(node).process.dead;
        if (dies()) await never();
        await step(key, () => (dies() ? never() : done.push(key)));
        await new Promise<void>((resolve) => system.clock.after(node === "a" ? 100 : 0, resolve));
      }
      return "done";
    },
    { mode: "auto", fates: { a: fate } },
  );
  const { node, call, clock, get } = system;
  const { process } = node("a");
  const named = { ...modern, meta: { "plugbay/key": "order 1" } };
  const settle = async <T>(promise: Promise<T>): Promise<T | undefined> => {
    let value: T | undefined;
    void promise.then((settled) => {
      value = settled;
    });
    for (let turns = 0; value === undefined && !process.dead && turns < 100; turns++) await clock.advanceAsync(50);
    return value;
  };
  await settle(call("a", named));
  for (let turns = 0; !process.dead && turns < 20; turns++) await clock.advanceAsync(50);
  process.kill();
  let outcome: Outcome | undefined;
  void call("b", named).then((settled) => {
    outcome = settled;
  });
  // Digests are made beside the event loop, so some turns do nothing but wait for them.
  for (let turns = 0; turns < 5_000; turns++) {
    await clock.advanceAsync(1_000);
    if (outcome?.kind === "task") {
      const { status } = await get(outcome.task.taskId, "b");
      if (status !== "working") break;
    } else if (outcome !== undefined) break;
  }
  // Others may still find something to go on with.
  await clock.advanceAsync(60_000);
  return { process, done, outcome };
}

describe("a named call whose process ends at any moment", () => {
  it("is repeated elsewhere without a step being done twice", async () => {
    const { calls } = (await repeat()).process;
    expect(calls).toBeGreaterThan(15);
    let unkept = 0;
    for (let at = 1; at <= calls; at++) {
      for (const carriedOut of [true, false]) {
        const { done, outcome } = await repeat({ at, carriedOut });
        const repeated = done.filter((key, index) => done.indexOf(key) !== index);
        // What was done but could not be written down any more is done again: nobody could know.
        expect(repeated.length, `at ${at} ${carriedOut}: ${done}`).toBeLessThanOrEqual(1);
        if (carriedOut) unkept += repeated.length;
        expect(outcome?.kind, `at ${at} ${carriedOut}`).toMatch(/complete|task/);
      }
    }
    // The last call of a process is rarely another one between a step and what writes it down.
    expect(unkept).toBeLessThanOrEqual(2);
  });
});

describe("a task whose process has died", () => {
  it("fails when it has done nothing that another could go on from", async () => {
    const { node, begin, get, is, clock } = taskCluster(never);
    const id = await begin("a");
    node("b");
    await clock.advanceAsync(30_000);
    expect(await get(id, "b")).toMatchObject({ status: "working" });
    node("a").process.kill();
    await clock.advanceAsync(9_000);
    expect(await get(id, "b")).toMatchObject({ status: "working" });
    await clock.advanceAsync(21_000);
    expect((await is(id, "failed", "b")).failure).toEqual({
      code: "internal",
      message: "the process that ran it ended before its first step, so no other process can continue it",
    });
  });

  it("goes on from its last step, in a process that comes after it", async () => {
    const done: string[] = [];
    const { node, begin, is, clock, until } = taskCluster(async ({ step }, name) => {
      const first = await step("first", () => done.push("first") && name);
      if (name === "a") await never();
      return `${first}, ${name}`;
    });
    const id = await begin("a");
    await until(async () => (done.length > 0 ? true : undefined));
    await clock.advanceAsync(0);
    node("a").process.kill();
    await clock.advanceAsync(16_000);
    expect(textOf(await is(id, "completed", "b"))).toBe("a, b");
    expect(done).toEqual(["first"]);
  });

  it("goes on in one process, however many look for it", async () => {
    const runs: string[] = [];
    const { node, begin, is, clock, until, shared } = taskCluster(async ({ step }, name) => {
      runs.push(name);
      await step("one", () => 1);
      if (name === "a") await never();
      return name;
    });
    const id = await begin("a");
    await until(async () => ((await shared.streams.read(`shop/run:${id}`, 0)).last > 0 ? true : undefined));
    for (const name of ["b", "c", "d"]) node(name);
    await clock.advanceAsync(0);
    node("a").process.kill();
    await clock.advanceAsync(30_000);
    const by = textOf(await is(id, "completed", "b"));
    expect(runs).toEqual(["a", by]);
  });

  it("that waited for an answer gets it elsewhere, and asks again when that is malformed", async () => {
    const { node, begin, is, clock, update } = taskCluster(async ({ ask }) => (await ask("Sure?", form)).ok);
    const id = await begin("a");
    await is(id, "input_required");
    node("a").process.kill();
    await update(id, { "ask-1": { action: "accept", content: { ok: 1 } } }, "b");
    expect(await is(id, "working", "b")).toBeDefined();
    await clock.advanceAsync(30_000);
    const { questions } = await is(id, "input_required", "b");
    expect(Object.keys(questions)).toEqual(["ask-1~2"]);
    await update(id, { "ask-1~2": yes }, "b");
    expect(textOf(await is(id, "completed", "b"))).toBe("true");
  });

  it("asks another question under a new key when the handler does not ask the same again", async () => {
    const { node, begin, is, clock, update } = taskCluster(
      async ({ ask }, name) => (await ask(`Is ${name} right?`, form)).ok,
    );
    const id = await begin("a");
    await is(id, "input_required");
    await update(id, {}, "b");
    node("a").process.kill();
    await update(id, { "ask-1": yes }, "b");
    await clock.advanceAsync(30_000);
    const { questions } = await is(id, "input_required", "b");
    expect(questions).toMatchObject({ "ask-1~2": { params: { message: "Is b right?" } } });
  });

  it("can be cancelled meanwhile, and then nobody runs it", async () => {
    const runs: string[] = [];
    const { node, begin, cancel, get, clock, until, shared } = taskCluster(async ({ step }, name) => {
      runs.push(name);
      await step("one", () => 1);
      await never();
    });
    const id = await begin("a");
    await until(async () => ((await shared.streams.read(`shop/run:${id}`, 0)).last > 0 ? true : undefined));
    node("a").process.kill();
    expect(resultOf(await cancel(id, "b"))).toMatchObject({ status: "cancelled" });
    await clock.advanceAsync(60_000);
    expect(runs).toEqual(["a"]);
    expect(await get(id, "b")).toMatchObject({ status: "cancelled" });
    expect(await shared.values.list("shop/tasks:open")).toEqual([]);
    expect((await shared.streams.read(`shop/run:${id}`, 0)).last).toBe(0);
  });

  it("stays where nobody knows its tool, until its time is over", async () => {
    const { node, begin, get, is, clock, server } = taskCluster(never, { tasks: { ttlMs: 120_000 } });
    const id = await begin("a");
    node("a").process.kill();
    server("b").tools.remove("it");
    await clock.advanceAsync(100_000);
    expect(await get(id, "b")).toMatchObject({ status: "working" });
    await clock.advanceAsync(30_000);
    await is(id, "failed", "b");
  });

  it("ends with what its arguments are told now, when they no longer fit", async () => {
    const { node, begin, is, clock, server, until, shared } = taskCluster(async ({ step }) => {
      await step("one", () => 1);
      await never();
    });
    const id = await begin("a");
    await until(async () => ((await shared.streams.read(`shop/run:${id}`, 0)).last > 0 ? true : undefined));
    node("a").process.kill();
    server("b").tools.remove("it");
    const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
    server("b").tools.add("it", tool({ input, task: "required", run: () => "" }));
    await clock.advanceAsync(30_000);
    expect(await is(id, "completed", "b")).toMatchObject({ result: { isError: true } });
  });

  it("waits while another can run no more", async () => {
    const { opened, open } = gate();
    const { node, begin, is, get, clock } = taskCluster(
      async ({ ask }) => {
        await ask("Sure?", form);
        await opened;
        return "";
      },
      { tasks: { maxRunning: 1 } },
    );
    const first = await begin("a");
    await is(first, "input_required");
    const second = await begin("b");
    await is(second, "input_required");
    node("a").process.kill();
    await clock.advanceAsync(60_000);
    expect(await node("b").process.store.leases.held(`shop/run:${first}`)).toBe(false);
    expect(await get(first, "b")).toMatchObject({ status: "input_required" });
    open();
  });
});

describe("a process that is away for too long", () => {
  it("finds its task taken over, and does nothing to it any more", async () => {
    const { opened, open } = gate();
    let reason: unknown;
    const { node, begin, is, clock, get } = taskCluster(async ({ step, signal }, name) => {
      signal.addEventListener("abort", () => {
        reason ??= signal.reason;
      });
      await step("first", () => name);
      await opened;
      return step("second", () => name);
    });
    const id = await begin("a");
    await clock.advanceAsync(0);
    node("b");
    node("a").process.freeze();
    await clock.advanceAsync(45_000);
    open();
    expect(textOf(await is(id, "completed", "b"))).toBe("b");
    node("a").process.thaw();
    await clock.advanceAsync(30_000);
    expect(reason).toMatchObject({ code: "cancelled" });
    expect(textOf(await is(id, "completed", "b"))).toBe("b");
    expect(await get(id, "b")).toMatchObject({ status: "completed" });
  });

  it("begins no step that another has done meanwhile", async () => {
    const { opened, open } = gate();
    const done: string[] = [];
    const { node, begin, is, clock } = taskCluster(async ({ step }, name) => {
      await step("first", () => name);
      if (name === "a") await opened;
      return step("second", () => done.push(name) && name);
    });
    const id = await begin("a");
    await clock.advanceAsync(0);
    node("b");
    node("a").process.freeze();
    await clock.advanceAsync(45_000);
    expect(textOf(await is(id, "completed", "b"))).toBe("b");
    open();
    await clock.advanceAsync(0);
    node("a").process.thaw();
    await clock.advanceAsync(30_000);
    expect(done).toEqual(["b"]);
  });

  it("does not go on from a step that it could not keep", async () => {
    const { opened, open } = gate();
    const after: string[] = [];
    const { node, begin, is, clock, faults } = taskCluster(async ({ step }, name) => {
      await step("first", () => name);
      const by = await step("second", () => (name === "a" ? opened.then(() => name) : name));
      after.push(name);
      return by;
    });
    const id = await begin("a");
    await clock.advanceAsync(0);
    node("b");
    node("a").process.freeze();
    await clock.advanceAsync(45_000);
    expect(textOf(await is(id, "completed", "b"))).toBe("b");
    open();
    await clock.advanceAsync(0);
    node("a").process.thaw();
    await clock.advanceAsync(30_000);
    expect(after).toEqual(["b"]);
    expect(faults).toEqual([]);
  });

  it("that lasted less than its lease goes on", async () => {
    const { opened, open } = gate();
    const { node, begin, is, clock } = taskCluster(async (_, name) => {
      await opened;
      return name;
    });
    const id = await begin("a");
    node("b");
    node("a").process.freeze();
    await clock.advanceAsync(10_000);
    node("a").process.thaw();
    await clock.advanceAsync(10_000);
    open();
    expect(textOf(await is(id, "completed", "b"))).toBe("a");
  });
});

describe("a server that closes", () => {
  it("leaves its tasks to others, at once and with the steps under way", async () => {
    const { opened, open } = gate();
    const { server, begin, is, clock } = taskCluster(async ({ step, signal }, name) => {
      const first = await step("first", async () => {
        if (name === "a") await opened;
        return name;
      });
      signal.throwIfAborted();
      return `${first}, ${name}`;
    });
    const id = await begin("a");
    const closed = server("a").close();
    open();
    await closed;
    server("b");
    expect(textOf(await is(id, "completed", "b"))).toBe("a, b");
    await clock.advanceAsync(0);
  });

  it("does not wait for a step that does not end, and can be closed again", async () => {
    const { server, begin, clock, shared } = taskCluster(({ step }) => step("first", never));
    const id = await begin("a");
    const closed = server("a").close();
    await clock.advanceAsync(15_000);
    await closed;
    await server("a").close();
    expect(await shared.leases.held(`shop/run:${id}`)).toBe(false);
    expect(clock.pending).toBeLessThanOrEqual(1);
  });

  it("keeps nothing going when it had no task", async () => {
    const { server, clock } = taskCluster(() => "");
    server("a");
    await clock.advanceAsync(0);
    await server("a").close();
    expect(clock.pending).toBe(0);
    expect(server("a").store).toBeTypeOf("function");
  });
});

describe("a store that is away", () => {
  it("fails a call that needs it, and is found again later", async () => {
    const { server, call, shared, faults, clock } = taskCluster(() => "");
    const subscribe = shared.topics.subscribe;
    Object.assign(shared.topics, { subscribe: () => Promise.reject(new Error("away")) });
    server("a");
    expect(failureOf(await call()).code).toBe("internal");
    expect(faults.length).toBeGreaterThan(0);
    Object.assign(shared.topics, { subscribe });
    await clock.advanceAsync(15_000);
    taskOf(await call());
  });

  it("fails what needs it, with when to try again", async () => {
    const { begin, call, get, shared, faults } = taskCluster(() => gate().opened);
    const id = await begin();
    const { get: read, put } = shared.values;
    const away = () => Promise.reject(new StoreError("unavailable", "redis://secret is away"));
    Object.assign(shared.values, { get: away, put: away });
    await expect(get(id)).rejects.toThrow(/"tasks cannot be reached now".*"retryAfterMs":1000/);
    const failure = failureOf(await call());
    expect(failure).toMatchObject({ code: "internal", data: { retryAfterMs: 1_000 } });
    expect(JSON.stringify(failure)).not.toContain("secret");
    expect(faults.map(([error]) => (error as StoreError).code)).toEqual(["unavailable", "unavailable"]);
    Object.assign(shared.values, { get: read, put });
    expect(await get(id)).toMatchObject({ status: "working" });
  });

  it("for less than the lease loses no result", async () => {
    const { opened, open } = gate<string>();
    const { begin, is, shared, clock, get } = taskCluster(() => opened);
    const id = await begin();
    const { put } = shared.values;
    Object.assign(shared.values, { put: () => Promise.reject(new StoreError("unavailable", "away")) });
    open("done");
    await clock.advanceAsync(4_000);
    expect(await get(id)).toMatchObject({ status: "working" });
    Object.assign(shared.values, { put });
    await clock.advanceAsync(5_000);
    expect(textOf(await is(id, "completed"))).toBe("done");
  });

  it("for less than the lease loses no step", async () => {
    const { begin, is, shared, clock } = taskCluster(({ step }) => step("one", () => "kept"));
    const { append } = shared.streams;
    Object.assign(shared.streams, { append: () => Promise.reject(new StoreError("unavailable", "away")) });
    const id = await begin();
    await clock.advanceAsync(4_000);
    Object.assign(shared.streams, { append });
    await clock.advanceAsync(5_000);
    expect(textOf(await is(id, "completed"))).toBe("kept");
  });
});
