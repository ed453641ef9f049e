import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { askedBy, failureOf, makeCall, resultOf } from "../../../test/support/direct.ts";
import { eventually } from "../../../test/support/patience.ts";
import { gate } from "../../../test/support/served.ts";
import {
  form,
  modern,
  never,
  type Run,
  resultText,
  taskCluster,
  taskOf,
  textOf,
  yes,
} from "../../../test/support/task-cluster.ts";
import type { Call, Outcome } from "../../protocol/service.ts";
import { createDeadlines } from "../../std/deadlines.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { Environment } from "../environment.ts";
import { Execution, type Job } from "../runs/execution.ts";
import { createPromotion } from "./task-manager.ts";
import type { TaskJob } from "./task-run.ts";

/** A call that lasts, while the store takes its time to keep the task that it becomes. */
async function beingPromoted(run: Run) {
  const system = taskCluster(run, { mode: "auto" });
  const { shared, clock } = system;
  const { opened, open } = gate();
  const { put } = shared.values;
  Object.assign(shared.values, {
    put: async (...args: Parameters<typeof put>) => {
      await opened;
      return put(...args);
    },
  });
  const made = makeCall("tools/call", { name: "it" }, modern);
  const outcome = system.server("a")(made.call);
  await clock.advanceAsync(0);
  await clock.advanceAsync(250);
  const nothingLeft = async (): Promise<boolean> => {
    const { length } = await shared.values.list("shop/tasks:open");
    return length === 0;
  };
  return { ...system, ...made, outcome, keep: open, nothingLeft };
}

describe("a call that becomes a task", () => {
  it("is no task when it ends meanwhile", async () => {
    const { opened, open } = gate<string>();
    const { outcome, keep, nothingLeft, clock } = await beingPromoted(() => opened);
    open("in time");
    expect(resultOf(await outcome)).toEqual(resultText("in time"));
    keep();
    await clock.advanceAsync(0);
    await eventually(async () => expect(await nothingLeft()).toBe(true));
  });

  it("is no task when it asks meanwhile", async () => {
    const { opened, open } = gate();
    const { outcome, keep, nothingLeft, clock } = await beingPromoted(async ({ ask }) => {
      await opened;
      return (await ask("Sure?", form)).ok;
    });
    open();
    expect(askedBy(await outcome).questions).toHaveProperty("ask-1");
    keep();
    await clock.advanceAsync(0);
    await eventually(async () => expect(await nothingLeft()).toBe(true));
  });

  it("is none when its client has left before", async () => {
    const { server, clock, shared } = taskCluster(
      ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      { mode: "auto" },
    );
    const { call, abort } = makeCall("tools/call", { name: "it" }, modern);
    const outcome = server("a")(call);
    await clock.advanceAsync(100);
    abort.abort("bye");
    expect(failureOf(await outcome).code).toBe("cancelled");
    await clock.advanceAsync(1_000);
    expect(await shared.values.list("shop/tasks:open")).toEqual([]);
  });

  it("stays a call when the task cannot be kept", async () => {
    const { opened, open } = gate<string>();
    const { call, clock, shared, faults } = taskCluster(() => opened, { mode: "auto" });
    Object.assign(shared.values, { put: () => Promise.reject(new Error("full")) });
    const outcome = call();
    await clock.advanceAsync(0);
    await clock.advanceAsync(1_000);
    // The store is loaded with its first use.
    await eventually(() => expect(faults.map(([error]) => error)).toEqual([new Error("full")]));
    open("done");
    expect(resultOf(await outcome)).toEqual(resultText("done"));
  });

  it("keeps the steps that it has done as a call", async () => {
    const done: string[] = [];
    const { call, clock, node, is } = taskCluster(
      async ({ step }, name) => {
        await step("before", () => done.push("before"));
        if (name === "a") await never();
        return step("after", () => name);
      },
      { mode: "auto" },
    );
    const outcome = call("a");
    await clock.advanceAsync(0);
    await clock.advanceAsync(250);
    const { taskId } = taskOf(await outcome);
    node("a").process.kill();
    node("b");
    await clock.advanceAsync(30_000);
    expect(textOf(await is(taskId, "completed", "b"))).toBe("b");
    expect(done).toEqual(["before"]);
  });

  it("is one at once where no time is given", async () => {
    const { call, clock } = taskCluster(never, { mode: "auto", tasks: { afterMs: 0 } });
    const outcome = call();
    await clock.advanceAsync(0);
    await clock.advanceAsync(1);
    expect(taskOf(await outcome).status).toBe("working");
  });

  it("becomes one as soon as it runs, when it took long to find out where it stood", async () => {
    const { opened, open } = gate();
    const { call, clock, shared } = taskCluster(
      async ({ ask }) => {
        await ask("Sure?", form);
        await never();
      },
      { mode: "auto" },
    );
    const { state } = askedBy(await call());
    const { acquire } = shared.leases;
    Object.assign(shared.leases, {
      acquire: async (...args: Parameters<typeof acquire>) => {
        await opened;
        return acquire(...args);
      },
    });
    const outcome = call("a", { ...modern, state, answers: { "ask-1": yes } });
    await clock.advanceAsync(0);
    await clock.advanceAsync(1_000);
    open();
    expect(taskOf(await outcome).status).toBe("working");
  });

  it("is held by nobody here while it waits for another call", async () => {
    const { run, promotion } = await suspended();
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    await eventually(() => {
      collect();
      expect(run.deref() === undefined).toBe(true);
    });
    expect(promotion).toBeTypeOf("function");
  });
});

/** A run whose call has ended with a question, and which nobody will ever go on with. */
async function suspended() {
  const deadlines = createDeadlines(createManualClock());
  const asked: Outcome = { kind: "input-required", questions: {} };
  const runs: WeakRef<Execution>[] = [];
  const env = {
    deadlines,
    runner: {
      async run(call: Call, job: Job): Promise<Outcome> {
        const execution = new Execution(call, job, { deadlines, suspend: async () => asked });
        runs.push(new WeakRef(execution));
        job.start(execution);
        return asked;
      },
    },
  };
  const promotion = createPromotion({ env: env as unknown as Environment, afterMs: 250, promote: async () => {} });
  const job: TaskJob = { timeoutMs: 0, useTaskTimeout() {}, start: never, finish: () => asked, fail: () => asked };
  await promotion(makeCall("tools/call", { name: "it" }, modern).call, job);
  const [run] = runs;
  if (run === undefined) throw new Error("nothing was run");
  return { run, promotion };
}
