import { describe, expect, it } from "vitest";
import { complete, failureOf, makeCall, resultOf, send } from "../../../test/support/direct.ts";
import { gate } from "../../../test/support/served.ts";
import {
  bad,
  form,
  legacy,
  legacyPeer,
  taskCluster,
  textOf,
  wanting,
  yes,
} from "../../../test/support/task-cluster.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Question } from "../../protocol/input.ts";
import { metaKeys } from "../../protocol/meta.ts";
import type { Ask } from "../../protocol/service.ts";
import type { Context } from "../context.ts";

const both = async ({ ask }: Context): Promise<string> => {
  const [first, second] = await Promise.all([ask("One?", form, { key: "one" }), ask("Two?", form, { key: "two" })]);
  return JSON.stringify([first.ok, second.ok]);
};

describe("questions of a task", () => {
  it("are all told, and answered one by one", async () => {
    const { begin, is, update } = taskCluster(both);
    const id = await begin();
    expect(Object.keys((await is(id, "input_required")).questions)).toEqual(["one", "two"]);
    expect(resultOf(await update(id, { two: yes, three: yes }))).toEqual({});
    expect(Object.keys((await is(id, "input_required")).questions)).toEqual(["one"]);
    await update(id, { two: { action: "decline" } });
    await update(id, { one: yes });
    expect(textOf(await is(id, "completed"))).toBe("[true,true]");
    expect(resultOf(await update(id, { one: yes }))).toEqual({});
  });

  it("are answered in a process that does not run the task", async () => {
    const nodes: string[] = [];
    const { begin, is, update } = taskCluster(async (context, node) => {
      nodes.push(node);
      return both(context);
    });
    const id = await begin("a");
    await is(id, "input_required", "b");
    await update(id, { one: yes, two: yes }, "b");
    expect(textOf(await is(id, "completed", "b"))).toBe("[true,true]");
    expect(nodes).toEqual(["a"]);
  });

  it.each(["a", "b"])("are put again under another key when the answer is malformed, by way of %s", async (node) => {
    const { begin, is, update, until, get } = taskCluster(both);
    const id = await begin("a");
    await is(id, "input_required", node);
    await update(id, { one: bad, two: yes }, node);
    const keys = await until(async () => {
      const task = await get(id, node);
      const asked = task.status === "input_required" ? Object.keys(task.questions ?? {}) : [];
      return asked.length > 0 && !asked.includes("one") ? asked : undefined;
    });
    expect(keys).toEqual(["one~2"]);
    await update(id, { one: yes }, node);
    await is(id, "input_required", node);
    await update(id, { "one~2": yes }, node);
    expect(textOf(await is(id, "completed", node))).toBe("[true,true]");
  });

  it("come one after the other, with other work between them", async () => {
    const { opened, open } = gate();
    const { begin, is, update } = taskCluster(async ({ ask }) => {
      const work = ask("One?", form, { key: "one" }).then(() => opened);
      await ask("Two?", form, { key: "two" });
      await work;
      return (await ask("Three?", form, { key: "three" })).ok;
    });
    const id = await begin();
    await is(id, "input_required");
    await update(id, { one: yes });
    await update(id, { two: yes });
    await is(id, "working");
    open();
    expect(Object.keys((await is(id, "input_required")).questions)).toEqual(["three"]);
    await update(id, { three: yes });
    expect(textOf(await is(id, "completed"))).toBe("true");
  });

  it("that nobody answers end the task with its time, and never before", async () => {
    const { begin, is, get, clock } = taskCluster(both, { tasks: { ttlMs: 60_000 } });
    const id = await begin();
    await is(id, "input_required");
    await clock.advanceAsync(59_999);
    expect(await get(id)).toMatchObject({ status: "input_required" });
    await clock.advanceAsync(1);
    expect((await is(id, "failed")).failure).toEqual({ code: "timeout", message: "no answer came in time" });
  });

  it("reject when the task is cancelled", async () => {
    let seen: unknown;
    const { begin, is, cancel, until } = taskCluster((context) =>
      both(context).catch((error: unknown) => {
        seen = error;
      }),
    );
    const id = await begin("a");
    await is(id, "input_required", "b");
    await cancel(id, "b");
    expect(await until(async () => seen)).toMatchObject({ code: "cancelled" });
    await is(id, "cancelled");
  });
});

describe("the result of a task", () => {
  const related = { [metaKeys.relatedTask]: expect.objectContaining({ taskId: expect.any(String) }) };

  it("C149: is waited for, and says whose it is", async () => {
    const { opened, open } = gate<string>();
    const { begin, server, clock } = taskCluster(() => opened);
    const taskId = await begin("a", wanting);
    const outcome = send(server("b"), "tasks/result", { taskId }, legacy);
    let ended = false;
    void outcome.then(() => {
      ended = true;
    });
    await clock.advanceAsync(60_000);
    expect(ended).toBe(false);
    open("done");
    expect(resultOf(await outcome)).toEqual({
      content: [{ type: "text", text: "done" }],
      _meta: { [metaKeys.relatedTask]: { taskId } },
    });
    expect(await complete(server("b"), "tasks/result", { taskId }, legacy)).toMatchObject({ _meta: related });
  });

  it("is the very error, also of a cancelled task", async () => {
    const { begin, server, cancel } = taskCluster(() => {
      throw new McpError("rejected", "not today", { data: { a: 1 } });
    });
    const taskId = await begin("a", wanting);
    const outcome = await send(server("a"), "tasks/result", { taskId }, legacy);
    expect(failureOf(outcome)).toEqual({ code: "rejected", message: "not today", data: { a: 1 } });
    const endless = taskCluster(() => new Promise(() => {}));
    const id = await endless.begin("a", wanting);
    const waiting = send(endless.server("a"), "tasks/result", { taskId: id }, legacy);
    await endless.cancel(id, "a", legacy);
    expect(failureOf(await waiting).code).toBe("cancelled");
    void cancel;
  });

  it("is waited for no longer than the call", async () => {
    const { begin, server, get } = taskCluster(() => new Promise(() => {}));
    const taskId = await begin("a", wanting);
    const { call, abort } = makeCall("tasks/result", { taskId }, legacy);
    const outcome = server("a")(call);
    abort.abort("bye");
    expect(failureOf(await outcome).code).toBe("cancelled");
    expect(await get(taskId)).toMatchObject({ status: "working" });
  });

  it("asks the client what is asked meanwhile, once", async () => {
    const { begin, server } = taskCluster(both);
    const taskId = await begin("a", wanting);
    const asked: Question[] = [];
    const ask: Ask = async (question) => {
      asked.push(question);
      return yes;
    };
    const outcomes = await Promise.all([
      complete(server("a"), "tasks/result", { taskId }, { ...legacy, ask }),
      complete(server("a"), "tasks/result", { taskId }, { ...legacy, ask }),
    ]);
    expect(outcomes.map((result) => textOf({ result }))).toEqual(["[true,true]", "[true,true]"]);
    expect(asked.length).toBe(2);
    expect(asked[0]).toMatchObject({
      method: "elicitation/create",
      params: { _meta: { [metaKeys.relatedTask]: { taskId } } },
    });
  });

  it("is asked for by another call when the client leaves the first", async () => {
    const { begin, server } = taskCluster(async ({ ask }) => (await ask("One?", form)).ok);
    const taskId = await begin("a", wanting);
    const { opened, open } = gate();
    const gone: Ask = async () => {
      open();
      throw new McpError("connection-closed", "gone");
    };
    const first = send(server("a"), "tasks/result", { taskId }, { ...legacy, ask: gone });
    await opened;
    const ask: Ask = async () => yes;
    expect(textOf({ result: await complete(server("a"), "tasks/result", { taskId }, { ...legacy, ask }) })).toBe(
      "true",
    );
    expect(textOf({ result: resultOf(await first) })).toBe("true");
  });

  it("is the refusal of a client that will not be asked", async () => {
    const { begin, server, is } = taskCluster(both);
    const taskId = await begin("a", wanting);
    const ask: Ask = async () => {
      throw new McpError("rejected", "I will not");
    };
    const outcome = await send(server("b"), "tasks/result", { taskId }, { ...legacy, ask });
    expect(failureOf(outcome)).toEqual({ code: "rejected", message: "I will not" });
    await is(taskId, "failed");
  });

  it("is that of no task of somebody else", async () => {
    const { begin, server } = taskCluster(() => "");
    const taskId = await begin("a", wanting);
    const peer = { ...legacyPeer, auth: { principal: "bob" } };
    expect(failureOf(await send(server("a"), "tasks/result", { taskId }, { ...legacy, peer })).message).toBe(
      "unknown task",
    );
  });
});
