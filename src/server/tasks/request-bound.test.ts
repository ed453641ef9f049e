import { beforeAll, describe, expect, it } from "vitest";
import { complete, failureOf, makeCall, resultOf, send } from "../../../test/support/direct.ts";
import { form, modern, never, taskOf, yes } from "../../../test/support/task-cluster.ts";
import type { DetailedTask } from "../../protocol/task.ts";
import { loadCompiler } from "../../schema/to-validator.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { Context } from "../context.ts";
import { createServer } from "../server.ts";
import { tool } from "../tool.ts";
import type { TaskOptions } from "./task-record.ts";

const LEASE = 15_000;

beforeAll(async () => {
  await loadCompiler();
});

/** A server on a platform that ends requests, and their timers and handlers with them. */
function serve(run: (context: Context) => unknown, tasks: TaskOptions = {}) {
  const manual = createManualClock();
  let current = { isAlive: true };
  const after = (ms: number, task: () => void): (() => void) => {
    const request = current;
    return manual.after(ms, () => request.isAlive && task());
  };
  const clock = { now: manual.now, date: manual.now, after, requestBound: true };
  const server = createServer({
    name: "bound",
    version: "1",
    clock,
    onError: () => {},
    tasks,
    tools: { work: tool({ task: "auto", timeoutMs: 0, run: (_, context) => run(context) }) },
  });

  /** One request. What it was told to wait for holds it until it is ended. */
  const request = () => {
    const held = new Set<Promise<unknown>>();
    const life = { isAlive: true };
    current = life;
    const waitUntil = (work: Promise<unknown>): void => {
      held.add(work);
      void work.finally(() => held.delete(work));
    };
    const http = { method: "POST", url: "/mcp", header: () => undefined, waitUntil };
    return { parts: { ...modern, http }, held, end: () => Object.assign(life, { isAlive: false }) };
  };
  const start = async () => {
    const { parts, held, end } = request();
    const wanted = { ...parts, tasks: { wanted: true } };
    const { taskId } = taskOf(await send(server, "tools/call", { name: "work" }, wanted));
    return { taskId, held, end };
  };
  const get = async (taskId: string): Promise<DetailedTask> => {
    const task = await complete(server, "tasks/get", { taskId }, request().parts);
    await manual.advanceAsync(0);
    return task;
  };
  const update = async (taskId: string, inputResponses: Record<string, never>) => {
    const { parts, held } = request();
    await complete(server, "tasks/update", { taskId, inputResponses }, parts);
    await Promise.all(held);
  };
  return { server, clock: manual, request, start, get, update };
}

const answers = (task: DetailedTask): Record<string, never> => {
  if (task.status !== "input_required") throw new Error(`the task is ${task.status}`);
  return Object.fromEntries(Object.keys(task.questions).map((key) => [key, yes as never]));
};

const ended = (text: string) => ({ status: "completed", result: { content: [{ text }] } });

describe("a task where handlers end with their request", () => {
  it("holds the request it runs in, until it has ended (I2)", async () => {
    let finish = (_text: string): void => {};
    const { start, get, clock } = serve(
      () =>
        new Promise<string>((resolve) => {
          finish = resolve;
        }),
    );
    const { taskId, held } = await start();
    expect(held.size).toBe(1);
    expect(await get(taskId)).toMatchObject({ status: "working" });
    finish("done");
    await clock.advanceAsync(0);
    expect(held.size).toBe(0);
    expect(await get(taskId)).toMatchObject(ended("done"));
  });

  it("is run again by who brings an answer, and does its steps once (T8, I2)", async () => {
    const done: string[] = [];
    const { start, get, update } = serve(async ({ step, ask }) => {
      done.push("run");
      await step("hold", () => done.push("hold"));
      const first = await ask("Charge?", form);
      await step("charge", () => done.push("charge"));
      const second = await ask("Receipt?", form);
      return `${first.ok} ${second.ok}`;
    });
    const { taskId, held, end } = await start();
    await Promise.all(held);
    end();
    for (let round = 1; round <= 2; round++) {
      const task = await get(taskId);
      // Looking at a task that waits for its client runs nothing.
      expect(await get(taskId)).toEqual(task);
      await update(taskId, answers(task));
    }
    expect(await get(taskId)).toMatchObject(ended("true true"));
    expect(done).toEqual(["run", "hold", "run", "charge", "run"]);
  });

  it("goes on after its last step when its request was ended, for who looks at it (I2)", async () => {
    const runs: string[] = [];
    const { start, get, clock } = serve(async ({ step }) => {
      runs.push(await step("first", () => `step of run ${runs.length + 1}`));
      return runs.length === 1 ? never() : `${runs.at(-1)}`;
    });
    const { taskId, end } = await start();
    await clock.advanceAsync(0);
    end();
    expect(await get(taskId)).toMatchObject({ status: "working" });
    expect(runs).toHaveLength(1);
    await clock.advanceAsync(LEASE);
    await get(taskId);
    expect(await get(taskId)).toMatchObject(ended("step of run 1"));
  });

  it("fails when its request was ended before its first step (I2)", async () => {
    const { start, get, clock } = serve(never);
    const { taskId, end } = await start();
    end();
    await clock.advanceAsync(LEASE);
    await get(taskId);
    expect(await get(taskId)).toMatchObject({
      status: "failed",
      failure: { message: expect.stringContaining("before its first step") },
    });
  });

  it("gives its place to others when its request was ended (I2)", async () => {
    const { start, request, server, clock } = serve(never, { maxRunning: 1 });
    const { end } = await start();
    const second = () => send(server, "tools/call", { name: "work" }, { ...request().parts, tasks: { wanted: true } });
    expect(failureOf(await second())).toMatchObject({ code: "limit-reached" });
    end();
    await clock.advanceAsync(LEASE);
    expect(taskOf(await second())).toMatchObject({ status: "working" });
  });

  it("is looked at by who waits for its result, and answers when it has ended elsewhere (I2)", async () => {
    let finish = (_text: string): void => {};
    const { start, request, server, clock } = serve(
      () =>
        new Promise<string>((resolve) => {
          finish = resolve;
        }),
    );
    const { taskId } = await start();
    const { parts } = request();
    const outcome = send(server, "tasks/result", { taskId }, parts);
    finish("done");
    await clock.advanceAsync(1_000);
    expect(resultOf(await outcome)).toMatchObject({ content: [{ text: "done" }] });
  });

  it("tells who listens of each change once (I2)", async () => {
    let finish = (_text: string): void => {};
    const { start, request, server, clock } = serve(
      () =>
        new Promise<string>((resolve) => {
          finish = resolve;
        }),
    );
    const { taskId } = await start();
    const { parts } = request();
    const listening = makeCall("subscriptions/listen", { notifications: { taskIds: [taskId] } }, parts);
    void server(listening.call);
    await clock.advanceAsync(5_000);
    finish("done");
    await clock.advanceAsync(5_000);
    const statuses = listening.notes.filter(([method]) => method.includes("tasks")).map(([, { status }]) => status);
    expect(statuses).toEqual(["working", "completed"]);
    listening.abort.abort("enough");
  });

  it("is not made where the platform was not told what to wait for, and the caller hears why (I2)", async () => {
    const { server, request } = serve(() => "done");
    const { parts } = request();
    const bare = { ...parts, http: { ...parts.http, waitUntil: undefined } };
    const wanted = await send(server, "tools/call", { name: "work" }, { ...bare, tasks: { wanted: true } });
    expect(failureOf(wanted)).toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("handler(request, env, ctx)"),
    });
    const unwanted = await send(server, "tools/call", { name: "work" }, bare);
    expect(resultOf(unwanted)).toMatchObject({ content: [{ text: "done" }] });
  });
});
