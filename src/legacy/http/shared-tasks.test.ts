import { describe, expect, it } from "vitest";
import { messagesOf, serveFake } from "../../../test/support/fake-endpoint.ts";
import { gate } from "../../../test/support/served.ts";
import { never, type Run, taskCluster } from "../../../test/support/task-cluster.ts";
import type { JsonObject } from "../../json/json.ts";

// A session that two processes serve, and a task that its client has begun.

const token = "by this";

async function setUp(run: Run) {
  const cluster = taskCluster(run);
  const { clock, server } = cluster;
  const [a, b] = [serveFake(server("a"), { clock }), serveFake(server("b"), { clock })];
  const session = await a.open();
  const settled = () => clock.advanceAsync(0);

  const begin = async (): Promise<string> => {
    const params = { name: "it", task: {}, _meta: { progressToken: token } };
    const reply = a.post({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, session);
    await reply.begun;
    const [answer] = messagesOf(reply) as unknown as { result: { task: { taskId: string } } }[];
    return answer?.result.task.taskId ?? "";
  };

  /** Opens a stream for what belongs to no call, at one of the processes. */
  const listen = async (at: typeof a) => {
    const reply = at.get(session);
    await settled();
    const params = (method: string): JsonObject[] =>
      messagesOf(reply)
        .filter((message) => message.method === method)
        .map((message) => message.params as JsonObject);
    return {
      reply,
      progress: () => params("notifications/progress").map(({ progress }) => progress),
      tokens: () => params("notifications/progress").map(({ progressToken }) => progressToken),
      statuses: () => params("notifications/tasks/status").map(({ status }) => status),
    };
  };
  const soon = async (isTrue: () => boolean): Promise<void> => {
    for (let turns = 0; turns < 300 && !isTrue(); turns++) await clock.advanceAsync(100);
    expect(isTrue()).toBe(true);
  };
  return { ...cluster, a, b, begin, listen, soon };
}

describe("a task of a session that is shared", () => {
  it("is told of by whichever process has the stream of its client (C25, F159)", async () => {
    const { opened, open } = gate();
    const { begin, listen, soon, b } = await setUp(async ({ progress }) => {
      progress(1, 2);
      await opened;
      progress(2, 2);
      return "done";
    });
    const stream = await listen(b);
    await begin();
    await soon(() => stream.progress().length === 1);
    open();
    await soon(() => stream.statuses().includes("completed"));
    expect([stream.progress(), stream.tokens()]).toEqual([
      [1, 2],
      [token, token],
    ]);
  });

  it("is told of to a client that comes later, and of progress nothing twice (C25, F159)", async () => {
    const [more, end] = [gate(), gate()];
    const { begin, listen, soon, a, b } = await setUp(async ({ progress }) => {
      progress(1, 3);
      await more.opened;
      progress(2, 3);
      await end.opened;
      return "done";
    });
    await begin();
    const first = await listen(a);
    await soon(() => first.progress().length === 1);
    first.reply.leave();
    const second = await listen(b);
    more.open();
    await soon(() => second.progress().length === 1);
    expect([first.progress(), second.progress()]).toEqual([[1], [2]]);
    end.open();
    await soon(() => second.statuses().at(-1) === "completed");
  });

  it("goes on to be told of by another process, and never runs backwards (C25, X2)", async () => {
    const { begin, listen, soon, node, b } = await setUp(async ({ progress, step }, name) => {
      for (let n = 1; n <= 3; n++) {
        progress(n, 5);
        await step(`part ${n}`, () => n);
      }
      if (name === "a") await never();
      progress(4, 5);
      return "done";
    });
    const stream = await listen(b);
    await begin();
    await soon(() => stream.progress().at(-1) === 3);
    node("a").process.kill();
    await soon(() => stream.statuses().at(-1) === "completed");
    const told = stream.progress().map(Number);
    expect(told).toEqual([...new Set(told)].sort((one, other) => one - other));
    expect(told.at(-1)).toBe(4);
  });
});
