import { describe, expect, it, vi } from "vitest";
import { taskCluster, taskOf } from "../../../test/support/task-cluster.ts";
import { toolError } from "../../protocol/errors.ts";
import { createServer } from "../server.ts";

/** A task whose handler waits for work that is done elsewhere, begun by the process `a`. */
async function waitingTask() {
  const ids: (string | undefined)[] = [];
  const signals: AbortSignal[] = [];
  const cluster = taskCluster((context) => {
    ids.push(context.taskId);
    signals.push(context.signal);
    return new Promise(() => {});
  });
  const { taskId } = taskOf(await cluster.call("a"));
  await vi.waitFor(() => expect(ids).toEqual([taskId]));
  return { ...cluster, id: taskId, signal: signals[0] as AbortSignal };
}

describe("a task, from outside of its handler", () => {
  it.each(["a", "b"])("is finished with what its tool could have returned, by the process %s", async (node) => {
    const { server, get, id, signal } = await waitingTask();
    await server(node).task(id).progress(1, 2, "half");
    expect(await get(id)).toMatchObject({ status: "working", statusMessage: "half" });
    await server(node).task(id).finish("paid");
    expect(await get(id)).toMatchObject({
      status: "completed",
      result: { content: [{ type: "text", text: "paid" }] },
    });
    await vi.waitFor(() => expect(signal.aborted).toBe(true));
  });

  it("fails like its tool, and what is not meant for clients is masked", async () => {
    const first = await waitingTask();
    await first.server("b").task(first.id).fail(toolError("the card was refused"));
    expect(await first.get(first.id)).toMatchObject({
      status: "completed",
      result: { isError: true, content: [{ text: "the card was refused" }] },
    });
    const second = await waitingTask();
    await second.server("b").task(second.id).fail(new Error("db-password"));
    expect(JSON.stringify(await second.get(second.id))).not.toContain("db-password");
  });

  it("is cancelled, and then is over", async () => {
    const { server, get, id, signal } = await waitingTask();
    await server("b").task(id).cancel();
    expect(await get(id)).toMatchObject({ status: "cancelled" });
    await vi.waitFor(() => expect(signal.aborted).toBe(true));
    await expect(server("b").task(id).finish("late")).rejects.toMatchObject({
      message: `task ${id} is cancelled already`,
    });
  });

  it("that nobody knows is refused", async () => {
    const server = createServer({ name: "s", version: "1" });
    await expect(server.task("none").finish("x")).rejects.toMatchObject({
      code: "invalid-params",
      message: "unknown task",
    });
  });
});
