import { beforeAll, describe, expect, it } from "vitest";
import { askedBy, complete, failureOf, makeCall, type Parts, resultOf, send } from "../../test/support/direct.ts";
import { as, never, taskCluster, taskOf } from "../../test/support/task-cluster.ts";
import { loadCompiler } from "../schema/to-validator.ts";
import type { HttpRequestInfo } from "../std/http-request-info.ts";
import { createManualClock } from "../testing/clock.ts";
import type { ServerBudgets } from "./options.ts";
import { createServer, type Server } from "./server.ts";
import { tool } from "./tool.ts";

const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const yes = { "ask-1": { action: "accept", content: { ok: true } } };

beforeAll(async () => {
  await loadCompiler();
});

const from = (remoteAddress: string): Parts<"tools/call"> => ({
  http: { method: "POST", url: "/mcp", header: () => undefined, remoteAddress } satisfies HttpRequestInfo,
});

describe("calls that wait for answers", () => {
  function asking(budgets: ServerBudgets) {
    const clock = createManualClock();
    const left: string[] = [];
    const buy = tool({
      run: async ({ who }: { who: string }, { ask }) => {
        try {
          return (await ask("Sure?", form)).ok;
        } finally {
          left.push(who);
        }
      },
      input: { type: "object", properties: { who: { type: "string" } }, required: ["who"] },
    });
    const stateKeys = ["3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E"];
    const server = createServer({
      name: "shop",
      version: "1",
      stateKeys,
      clock,
      budgets,
      tools: { buy },
    });
    const call = (who: string, parts: Parts<"tools/call"> = as(who)) =>
      send(server, "tools/call", { name: "buy", arguments: { who } }, parts);
    const ask = async (who: string, parts?: Parts<"tools/call">): Promise<string> =>
      askedBy(await call(who, parts)).state;
    return { call, ask, left, settled: () => clock.advanceAsync(0) };
  }

  it("of one principal push out only each other, however many they are (S9)", async () => {
    const { call, ask, left, settled } = asking({ principal: { maxParkedCalls: 10 } });
    const state = await ask("ann");
    for (let n = 0; n < 1_000; n++) await ask("eve");
    await settled();
    expect(new Set(left)).toEqual(new Set(["eve"]));
    expect(left).toHaveLength(990);
    expect(resultOf(await call("ann", { ...as("ann"), state, answers: yes }))).toMatchObject({
      content: [{ text: "true" }],
    });
    expect(left.filter((who) => who === "ann")).toEqual(["ann"]);
  });

  it("count with all their arguments: the oldest of their principal give way (S9)", async () => {
    const { call, ask, left, settled } = asking({ principal: { maxHeldBytes: 5_000 } });
    const state = await ask("ann");
    const eve = (n: number): string => `eve ${n} ${"x".repeat(2_000)}`;
    for (let n = 0; n < 5; n++) await ask(eve(n), as("eve"));
    await settled();
    expect(left).toEqual([eve(0), eve(1), eve(2)]);
    expect(resultOf(await call("ann", { ...as("ann"), state, answers: yes }))).toMatchObject({
      content: [{ text: "true" }],
    });
  });

  it("give way in a process that is full when their principal has most of them (S9)", async () => {
    const { ask, left, settled } = asking({ process: { maxParkedCalls: 5 } });
    await ask("ann");
    for (let n = 0; n < 4; n++) await ask("eve");
    await ask("bob");
    await settled();
    expect(left).toEqual(["eve"]);
    for (let n = 0; n < 3; n++) await ask("bob");
    await settled();
    expect(left).toEqual(["eve", "eve", "bob", "bob"]);
  });

  it("give way at once in a process that is full of those of others, who have no more each (S9)", async () => {
    const { call, ask, left, settled } = asking({ process: { maxParkedCalls: 2 } });
    await ask("ann");
    await ask("bob");
    const state = await ask("cid");
    await settled();
    expect(left).toEqual(["cid"]);
    expect(resultOf(await call("cid", { ...as("cid"), state, answers: yes }))).toMatchObject({
      content: [{ text: "true" }],
    });
  });

  it("are counted by address where nobody is authenticated (S9)", async () => {
    const { ask, left, settled } = asking({ principal: { maxParkedCalls: 1 } });
    await ask("one", from("192.0.2.1"));
    await ask("two", from("192.0.2.2"));
    await ask("here", {});
    await ask("named like an address", as("address:192.0.2.1"));
    await settled();
    expect(left).toEqual([]);
    await ask("again", from("192.0.2.1"));
    await settled();
    expect(left).toEqual(["one"]);
  });
});

describe("tasks", () => {
  const known = async (server: Server, id: string, who: string): Promise<boolean> =>
    (await send(server, "tasks/get", { taskId: id }, as(who))).kind === "complete";

  const places = [
    ["in the memory of a process", "a", "a", { store: undefined }],
    ["of one process on a store", "a", "a", {}],
    ["of all processes on a store", "a", "b", {}],
  ] as const;

  it.each(places)(
    "%s that are finished make room for those of their principal, the oldest first (S9)",
    async (...place) => {
      const [, one, two, options] = place;
      const cluster = taskCluster(() => "done", { budgets: { principal: { maxTasks: 3 } }, ...options });
      const run = async (who: string, node: string): Promise<string> => {
        const id = await cluster.begin(node, as(who));
        await cluster.is(id, "completed", node, as(who));
        cluster.clock.advance(1);
        return id;
      };
      const anns = await run("ann", one);
      const eves: string[] = [];
      for (let n = 0; n < 6; n++) eves.push(await run("eve", n % 2 === 0 ? one : two));
      const kept = await Promise.all(eves.map((id) => known(cluster.server(one), id, "eve")));
      expect(kept).toEqual([false, false, false, true, true, true]);
      expect(await known(cluster.server(two), anns, "ann")).toBe(true);
    },
  );

  it.each(places)("%s are refused to a principal whose share runs, and to nobody else (S9)", async (...place) => {
    const [, one, two, options] = place;
    const cluster = taskCluster(never, { budgets: { principal: { maxTasks: 2 } }, ...options });
    await cluster.begin(one, as("eve"));
    await cluster.begin(two, as("eve"));
    expect(failureOf(await cluster.call(two, as("eve")))).toEqual({
      code: "limit-reached",
      message: "budgets.principal.maxTasks of the server is 2, and used up; retry later",
      data: { reason: "limit-reached", limit: "maxTasks", max: 2, scope: "principal", retryAfterMs: 1_000 },
    });
    await cluster.begin(two, as("ann"));
  });

  it("that are refused stay calls where they may (S9)", async () => {
    const cluster = taskCluster(async ({ meta }) => (meta.quick ? "done" : never()), {
      mode: "auto",
      budgets: { principal: { maxTasks: 1 } },
    });
    const eve = as("eve");
    const first = cluster.call("a", eve);
    await cluster.clock.advanceAsync(300);
    taskOf(await first);
    const { call, abort } = makeCall("tools/call", { name: "it" }, eve);
    const second = cluster.server("a")(call);
    await cluster.clock.advanceAsync(10_000);
    abort.abort("enough");
    cluster.clock.advance(1);
    expect(await Promise.race([second, Promise.resolve("still a call")])).toBe("still a call");
  });

  it("of the principal that has most of them give way to those of others, not to its own (S9)", async () => {
    const cluster = taskCluster(never, { tasks: { maxRunning: 4 } });
    const eves: string[] = [];
    for (let n = 0; n < 4; n++) eves.push(await cluster.begin("a", as("eve")));
    expect(failureOf(await cluster.call("a", as("eve"))).message).toContain("tasks.maxRunning");
    const ann = await cluster.begin("a", as("ann"));
    const ended = await cluster.is(eves[0] ?? "", "failed", "a", as("eve"));
    expect(ended.failure).toMatchObject({
      code: "limit-reached",
      message: expect.stringContaining("to make room"),
      data: { limit: "maxRunning", max: 4, scope: "process" },
    });
    await cluster.begin("a", as("ann"));
    expect(failureOf(await cluster.call("a", as("ann"))).code).toBe("limit-reached");
    for (const id of eves.slice(2)) expect(await cluster.get(id, "a", as("eve"))).toMatchObject({ status: "working" });
    expect(await cluster.get(ann, "a", as("ann"))).toMatchObject({ status: "working" });
  });

  it("count by the bytes that are kept of them, and forget what they were asked to do (S9, H3)", async () => {
    const budgets = { principal: { maxHeldBytes: 1_000_000 } };
    const cluster = taskCluster(() => "x".repeat(300_000), { budgets, durable: false });
    const run = async (who: string): Promise<string> => {
      const input = { name: "it", arguments: { note: "y".repeat(100_000) } };
      const { taskId } = taskOf(await send(cluster.server("a"), "tools/call", input, as(who)));
      await cluster.is(taskId, "completed", "a", as(who));
      cluster.clock.advance(1);
      return taskId;
    };
    const anns = await run("ann");
    const eves: string[] = [];
    for (let n = 0; n < 5; n++) eves.push(await run("eve"));
    const kept = await Promise.all(eves.map((id) => known(cluster.server("a"), id, "eve")));
    expect(kept).toEqual([false, false, true, true, true]);
    expect(await known(cluster.server("a"), anns, "ann")).toBe(true);
    expect((await cluster.shared.values.get(`shop/run:${anns}`))?.text).not.toContain("yyy");
  });

  it("are forgotten by the process that kept too many, those of the principal with most of them first (S9)", async () => {
    const cluster = taskCluster(() => "done", { budgets: { process: { maxTasks: 3 } } });
    const run = async (who: string): Promise<string> => {
      const id = await cluster.begin("a", as(who));
      await cluster.is(id, "completed", "a", as(who));
      return id;
    };
    const ids = { ann: await run("ann"), eve: await run("eve"), eve2: await run("eve"), bob: "" };
    ids.bob = await run("bob");
    await cluster.until(async () => !(await known(cluster.server("a"), ids.eve, "eve")) || undefined);
    expect(await known(cluster.server("a"), ids.ann, "ann")).toBe(true);
    expect(await known(cluster.server("a"), ids.eve2, "eve")).toBe(true);
    expect(await known(cluster.server("a"), ids.bob, "bob")).toBe(true);
  });

  it("count by their bytes in all processes together (H3)", async () => {
    const budgets = { principal: { maxHeldBytes: 1_000_000 } };
    const cluster = taskCluster(() => "x".repeat(300_000), { budgets, durable: false });
    const ids: string[] = [];
    for (const node of ["a", "b", "a", "b", "a"]) {
      const id = await cluster.begin(node, as("eve"));
      await cluster.is(id, "completed", node, as("eve"));
      cluster.clock.advance(1);
      ids.push(id);
    }
    const kept = await Promise.all(ids.map((id) => known(cluster.server("b"), id, "eve")));
    expect(kept).toEqual([false, true, true, true, true]);
  });

  it("hold nothing of a budget once their time is over (S9)", async () => {
    const cluster = taskCluster(() => "done", { durable: false, budgets: { principal: { maxTasks: 1 } } });
    const first = await cluster.begin("a", as("eve"));
    await cluster.is(first, "completed", "a", as("eve"));
    await cluster.clock.advanceAsync(3_700_000);
    expect(await known(cluster.server("a"), first, "eve")).toBe(false);
    const { tasks } = await complete(cluster.server("a"), "tasks/list", {}, as("eve", "2025-11-25"));
    expect(tasks).toEqual([]);
    expect(cluster.clock.pending).toBe(0);
  });
});

describe("options of budgets", () => {
  const create = (options: object) => () => createServer({ name: "shop", version: "1", ...options });

  it.each([
    [
      { maxParkedCalls: 5 },
      'createServer has an unknown option "maxParkedCalls"; did you mean "budgets.process.maxParkedCalls"?',
    ],
    [
      { tasks: { maxKept: 5 } },
      'tasks of createServer has an unknown option "maxKept"; did you mean "budgets.process.maxTasks"?',
    ],
    [
      { budgets: { user: {} } },
      'budgets of createServer has an unknown option "user"; its options are principal, process',
    ],
    [{ budgets: { principal: { maxTask: 5 } } }, 'did you mean "maxTasks"?'],
    [
      { budgets: { principal: { maxTasks: -1 } } },
      "budgets.principal.maxTasks of createServer must be 0 or more, not -1; 0 is off",
    ],
    [
      { budgets: { process: { maxHeldBytes: "1 GB" } } },
      "budgets.process.maxHeldBytes of createServer must be 0 or more",
    ],
  ])("%j is refused (S9)", (options, message) => {
    expect(create(options)).toThrow(message);
  });

  it.each([
    {},
    { budgets: undefined },
    { budgets: { principal: undefined } },
    { budgets: { principal: { maxTasks: 0 } } },
  ])("%j is not (S9)", (options) => {
    expect(create(options)).not.toThrow();
  });
});
