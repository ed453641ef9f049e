import { describe, expect, expectTypeOf, it, vi } from "vitest";
import { failureOf, peer, resultOf, send } from "../../../test/support/direct.ts";
import { gate } from "../../../test/support/served.ts";
import {
  bad,
  type ClusterOptions,
  form,
  legacy,
  modern,
  taskCluster,
  textOf,
  wanting,
  yes,
} from "../../../test/support/task-cluster.ts";
import type { Question } from "../../protocol/input.ts";
import { StoreError } from "../../store/store.ts";
import { createServer } from "../server.ts";

/** A task that the process `a` runs, and whose handler ends when it is told to. */
async function working(options: ClusterOptions = {}, parts: object = modern) {
  const { opened, open } = gate<string>();
  const cluster = taskCluster(() => opened, options);
  return { ...cluster, open, id: await cluster.begin("a", parts) };
}

type Task = Awaited<ReturnType<typeof working>>;

/** The key of the one open question, as clients know it. */
async function keyOf({ is, id }: Pick<Task, "is" | "id">, node = "a"): Promise<string> {
  const keys = Object.keys((await is(id, "input_required", node)).questions);
  expect(keys).toHaveLength(1);
  return keys[0] as string;
}

/** What a promise rejects with. Watched from the start, so that it counts as handled. */
function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect.fail(`it resolved to ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

describe("a question from outside of a handler", () => {
  it.each([
    ["a", "a"],
    ["a", "b"],
    ["b", "a"],
    ["b", "c"],
  ])("that the process %s asks and the process %s hears the answer to", async (asking, answering) => {
    const task = await working();
    const answer = task.server(asking).task(task.id).ask("Express?", form);
    expectTypeOf(answer).resolves.toEqualTypeOf<{ ok: boolean }>();
    await task.update(task.id, { [await keyOf(task, answering)]: yes }, answering);
    expect(await answer).toEqual({ ok: true });
    await task.is(task.id, "working");
    task.open("done");
    expect(textOf(await task.is(task.id, "completed"))).toBe("done");
  });

  it("is asked beside questions of the handler that have the same key, and either gets its own answer", async () => {
    const cluster = taskCluster(async ({ ask }) => (await ask("Paper?", form, { key: "it" })).ok);
    const id = await cluster.begin("a");
    await cluster.is(id, "input_required");
    const answer = cluster.server("b").task(id).ask("Express?", form, { key: "it" });
    const keys = await cluster.until(async () => {
      const { questions = {} } = (await cluster.get(id)) as { questions?: Record<string, Question> };
      return Object.keys(questions).length === 2 ? Object.keys(questions) : undefined;
    });
    expect(keys.sort()).toEqual(["it", "outside:it"]);
    await cluster.update(id, { "outside:it": { action: "accept", content: { ok: false } } }, "b");
    expect(await answer).toEqual({ ok: false });
    await cluster.update(id, { it: yes }, "b");
    expect(textOf(await cluster.is(id, "completed"))).toBe("true");
  });

  it("is put again under another key when the answer is malformed", async () => {
    const task = await working();
    const answer = task.server("b").task(task.id).ask("Express?", form, { key: "it" });
    expect(await keyOf(task)).toBe("outside:it");
    await task.update(task.id, { "outside:it": bad });
    const again = await task.until(async () => {
      const key = await keyOf(task).catch(() => "outside:it");
      return key === "outside:it" ? undefined : key;
    });
    expect(again).toBe("outside:it~2");
    await task.update(task.id, { "outside:it": yes });
    expect(await keyOf(task)).toBe("outside:it~2");
    await task.update(task.id, { "outside:it~2": yes });
    expect(await answer).toEqual({ ok: true });
  });

  it("rejects when the user says no, and the task goes on", async () => {
    const task = await working();
    const rejected = rejectionOf(task.server("b").task(task.id).ask("Express?"));
    await task.update(task.id, { [await keyOf(task)]: { action: "decline" } });
    expect(await rejected).toMatchObject({ code: "declined", message: "the user declined: Express?" });
    await task.is(task.id, "working");
  });

  it("with a key has one answer, for whoever asks again", async () => {
    const task = await working();
    const first = task.server("b").task(task.id).ask("Express?", form, { key: "it" });
    await keyOf(task);
    const second = task.server("c").task(task.id).ask("Express?", form, { key: "it" });
    await task.update(task.id, { "outside:it": yes });
    expect(await Promise.all([first, second])).toEqual([{ ok: true }, { ok: true }]);
    expect(await task.server("a").task(task.id).ask("Express?", form, { key: "it" })).toEqual({ ok: true });
    await expect(task.server("a").task(task.id).ask("Slow?", form, { key: "it" })).rejects.toMatchObject({
      code: "invalid-definition",
    });
  });

  it("with a key outlives the process that asked; one without is withdrawn with it", async () => {
    const task = await working();
    const kept = rejectionOf(task.server("b").task(task.id).ask("Express?", form, { key: "it" }));
    await keyOf(task);
    const gone = rejectionOf(task.server("b").task(task.id).ask("Slow?", form));
    await task.until(async () => {
      const { questions = {} } = (await task.get(task.id)) as { questions?: object };
      return Object.keys(questions).length === 2 || undefined;
    });
    await task.server("b").close();
    expect([await kept, await gone]).toMatchObject([{ code: "cancelled" }, { code: "cancelled" }]);
    expect(await keyOf(task)).toBe("outside:it");
    await task.update(task.id, { "outside:it": yes });
    expect(await task.server("c").task(task.id).ask("Express?", form, { key: "it" })).toEqual({ ok: true });
  });

  it.each(["a", "b"])("rejects in the process %s when the task is cancelled", async (asking) => {
    const task = await working();
    const rejected = rejectionOf(task.server(asking).task(task.id).ask("Express?", form));
    await keyOf(task);
    await task.cancel(task.id, "c");
    expect(await rejected).toMatchObject({ code: "cancelled" });
    await task.is(task.id, "cancelled");
  });

  it("rejects when the handler ends first, and after the end", async () => {
    const task = await working();
    const rejected = rejectionOf(task.server("b").task(task.id).ask("Express?", form));
    await keyOf(task);
    task.open("done");
    expect(await rejected).toMatchObject({
      code: "cancelled",
      message: `task ${task.id} is completed: its question was not answered`,
    });
    await expect(task.server("b").task(task.id).ask("Express?", form)).rejects.toMatchObject({
      code: "invalid-params",
      message: `task ${task.id} is completed already`,
    });
  });

  it("rejects when the time of the task is over, never before, and the question is withdrawn", async () => {
    const task = await working({ tasks: { ttlMs: 60_000 } });
    const rejected = rejectionOf(task.server("b").task(task.id).ask("Express?", form));
    let isOver = false;
    void rejected.then(() => {
      isOver = true;
    });
    await keyOf(task);
    await task.clock.advanceAsync(59_999);
    await task.is(task.id, "input_required");
    expect(isOver).toBe(false);
    await task.clock.advanceAsync(1);
    expect(await rejected).toMatchObject({ code: "timeout", message: "no answer came in time" });
    await task.is(task.id, "working");
  });

  it("rejects for a client that cannot be asked, and for a form that is none", async () => {
    const task = await working({}, { ...modern, peer: peer({}) });
    await expect(task.server("b").task(task.id).ask("Express?", form)).rejects.toMatchObject({
      code: "missing-capability",
    });
    const schema = { type: "object", properties: { deep: { type: "object", properties: {} } } } as const;
    await expect(task.server("b").task(task.id).ask("Deep?", schema)).rejects.toMatchObject({
      code: "invalid-definition",
    });
    const server = createServer({ name: "s", version: "1" });
    await expect(server.task("none").ask("Who?")).rejects.toMatchObject({ message: "unknown task" });
  });

  it("is within the budgets of whoever began the task", async () => {
    const task = await working({ budgets: { principal: { maxParkedCalls: 1, maxHeldBytes: 20_000 } } });
    const long = rejectionOf(task.server("b").task(task.id).ask("x".repeat(30_000)));
    expect(await long).toMatchObject({ code: "limit-reached", data: { limit: "maxHeldBytes" } });
    await task.is(task.id, "working");
    const first = task.server("b").task(task.id).ask("One?");
    const key = await keyOf(task);
    const second = rejectionOf(task.server("b").task(task.id).ask("Two?"));
    expect(await second).toMatchObject({ code: "limit-reached", data: { limit: "maxParkedCalls" } });
    await task.update(task.id, { [key]: { action: "accept" } });
    expect(await first).toEqual({});
    const third = task.server("b").task(task.id).ask("Three?");
    await task.update(task.id, { [await keyOf(task)]: { action: "accept" } });
    expect(await third).toEqual({});
  });

  it("is put to a client of 2025-11-25 that waits for the result", async () => {
    const task = await working({}, wanting);
    const asked: Question[] = [];
    const ask = async (question: Question) => {
      asked.push(question);
      return yes;
    };
    const result = send(task.server("a"), "tasks/result", { taskId: task.id }, { ...legacy, ask });
    expect(await task.server("b").task(task.id).ask("Express?", form)).toEqual({ ok: true });
    expect(asked).toMatchObject([{ method: "elicitation/create", params: { message: "Express?" } }]);
    task.open("done");
    expect(textOf({ result: resultOf(await result) })).toBe("done");
  });

  it("fails the task, and rejects, when such a client will not be asked", async () => {
    const task = await working({}, wanting);
    const ask = () => Promise.reject(new Error("no"));
    const rejected = rejectionOf(task.server("b").task(task.id).ask("Express?", form));
    await keyOf(task);
    const result = await send(task.server("a"), "tasks/result", { taskId: task.id }, { ...legacy, ask });
    expect(await rejected).toMatchObject({ code: failureOf(result).code });
  });

  it("finds its answer when the store was away", async () => {
    const task = await working();
    const answer = task.server("b").task(task.id).ask("Express?", form, { key: "it" });
    await keyOf(task);
    const { values } = task.shared;
    const put = values.put.bind(values);
    const read = vi.spyOn(values, "get");
    vi.spyOn(values, "put").mockImplementationOnce((...written) => {
      read.mockRejectedValue(new StoreError("unavailable", "away"));
      return put(...written);
    });
    expect(resultOf(await task.update(task.id, { "outside:it": yes }, "a"))).toEqual({});
    await task.until(async () => read.mock.settledResults.some(({ type }) => type === "rejected") || undefined);
    vi.restoreAllMocks();
    await task.clock.advanceAsync(0);
    await task.clock.advanceAsync(1_000);
    expect(await answer).toEqual({ ok: true });
  });
});
