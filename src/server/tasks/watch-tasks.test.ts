import { describe, expect, it } from "vitest";
import { failureOf, makeCall, type Parts } from "../../../test/support/direct.ts";
import { gate } from "../../../test/support/served.ts";
import { as, form, modern, never, resultText, taskCluster, yes } from "../../../test/support/task-cluster.ts";
import type { ListenFilter } from "../../protocol/subscription.ts";
import { tasksExtension } from "../../protocol/task.ts";
import { createServer, type Server } from "../server.ts";

function listen(server: Server, notifications: ListenFilter, parts: Parts<"subscriptions/listen"> = modern) {
  const { call, abort, notes } = makeCall("subscriptions/listen", { notifications }, parts);
  const outcome = server(call);
  const statuses = (): readonly unknown[] =>
    notes.filter(([method]) => method === "notifications/tasks").map(([, { status }]) => status);
  return { outcome, abort, notes, statuses };
}

const acknowledged = (notifications: ListenFilter) => ["notifications/subscriptions/acknowledged", { notifications }];

describe("a listener for tasks", () => {
  it.each(["a", "b"])("is told how each stands and what becomes of it, by %s", async (node) => {
    const { begin, update, is, server, until } = taskCluster(async ({ ask }) => (await ask("Sure?", form)).ok);
    const id = await begin("a");
    await is(id, "input_required", node);
    const { notes, statuses, abort, outcome } = listen(server(node), { taskIds: [id, id, "nobody-knows-this-task"] });
    await until(async () => (statuses().length > 0 ? true : undefined));
    expect(notes[0]).toEqual(acknowledged({ taskIds: [id] }));
    expect(notes[1]?.[1]).toMatchObject({ taskId: id, status: "input_required", questions: { "ask-1": {} } });
    await update(id, { "ask-1": yes });
    await until(async () => (statuses().at(-1) === "completed" ? true : undefined));
    expect(notes.at(-1)?.[1]).toMatchObject({ taskId: id, result: resultText("true") });
    const order = [...new Set(statuses())];
    expect(order).toEqual(["input_required", "working", "completed"]);
    abort.abort("bye");
    expect(await outcome).toEqual({ kind: "complete", result: {} });
  });

  it("hears of its own tasks only", async () => {
    const { begin, server, until } = taskCluster(never);
    const mine = await begin("a", as("ann"));
    const other = await begin("a", as("bob"));
    const { notes } = listen(server("a"), { taskIds: [mine, other] }, as("ann"));
    await until(async () => notes[0]);
    expect(notes[0]).toEqual(acknowledged({ taskIds: [mine] }));
  });

  it("must have said that it knows tasks, where there are some", async () => {
    const { server, until } = taskCluster(never);
    expect(failureOf(await listen(server("a"), { taskIds: ["a"] }, {}).outcome)).toMatchObject({
      code: "missing-capability",
      data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
    });
    const { notes } = listen(createServer({ name: "shop", version: "1" }), { taskIds: ["a"] }, {});
    expect(await until(async () => notes[0])).toEqual(acknowledged({}));
  });

  it("C148: that throws keeps neither the task nor other listeners from going on", async () => {
    const { opened, open } = gate<string>();
    const { begin, server, is, until, faults } = taskCluster(() => opened, { durable: false });
    const id = await begin();
    const notify = (method: string): undefined => {
      if (method === "notifications/tasks") throw new Error("broken");
    };
    listen(server("a"), { taskIds: [id] }, { ...modern, notify });
    const { statuses } = listen(server("a"), { taskIds: [id] });
    await until(async () => (statuses().length > 0 ? true : undefined));
    open("done");
    await is(id, "completed");
    await until(async () => (statuses().at(-1) === "completed" ? true : undefined));
    expect(faults.length).toBeGreaterThan(0);
  });

  it("hears nothing more once it has left", async () => {
    const { begin, server, until, cancel, clock } = taskCluster(never);
    const id = await begin();
    const { statuses, abort } = listen(server("a"), { taskIds: [id] });
    await until(async () => (statuses().length > 0 ? true : undefined));
    abort.abort("bye");
    await cancel(id);
    await clock.advanceAsync(0);
    expect(statuses()).toEqual(["working"]);
  });

  it("of a server without a store is told, too", async () => {
    const { begin, is } = taskCluster(() => "");
    await is(await begin(), "completed");
    const { opened, open } = gate<string>();
    const { tool } = await import("../tool.ts");
    const server = createServer({
      name: "shop",
      version: "1",
      tools: { it: tool({ task: "required", run: () => opened }) },
    });
    const outcome = await server(makeCall("tools/call", { name: "it" }, modern).call);
    const taskId = outcome.kind === "task" ? outcome.task.taskId : "";
    const ended = gate();
    const notify = (_: string, { status }: { status?: unknown }): undefined => {
      if (status === "completed") ended.open();
    };
    listen(server, { taskIds: [taskId] }, { ...modern, notify });
    open("done");
    await ended.opened;
    await server.close();
  });
});
