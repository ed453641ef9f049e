import { describe, expect, it } from "vitest";
import { complete, failureOf, makeCall, peer, send } from "../../../test/support/direct.ts";
import { form, never, taskCluster, taskOf, yes } from "../../../test/support/task-cluster.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createServer } from "../server.ts";
import { tool } from "../tool.ts";

/** A caller with these scopes. */
const ann = (...scopes: readonly string[]) => ({
  tasks: { wanted: false },
  peer: { ...peer(), auth: { principal: "ann", scopes } },
});

const legacy = (...scopes: readonly string[]) => ({
  tasks: { wanted: true },
  peer: { ...ann(...scopes).peer, revision: "2025-11-25" as const },
});

const forbidden = {
  code: "forbidden",
  message: "the task takes scopes that were not granted",
  data: { reason: "forbidden", scopes: ["orders:write"] },
};

/** A task of ann's that asks her, begun by a tool that takes a scope. */
async function begin(name = "a") {
  const cluster = taskCluster(async ({ ask }) => `ok: ${(await ask("Sure?", form)).ok}`, {
    scopes: ["orders:write"],
  });
  const id = await cluster.begin(name, ann("orders:write"));
  await cluster.is(id, "input_required", name, ann("orders:write"));
  return { ...cluster, id };
}

describe("a task of a tool that takes scopes", () => {
  it.each(["a", "b"])("is refused to a weaker token of its owner on process %s (S6)", async (name) => {
    const { id, server, is } = await begin();
    const params = { taskId: id, inputResponses: { "ask-1": yes } };
    for (const weak of [ann(), ann("orders:read"), ann("orders:write2")]) {
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel", "tasks/result"] as const) {
        expect(failureOf(await send(server(name), method, params, weak)), method).toEqual(forbidden);
      }
    }
    expect(await is(id, "input_required", name, ann("orders:write"))).toMatchObject({ taskId: id });
  });

  it("is not in the lists of a weaker token (S6)", async () => {
    const { id, server } = await begin();
    const listed = async (...scopes: readonly string[]) =>
      (await complete(server("a"), "tasks/list", {}, legacy(...scopes))).tasks.map(({ taskId }) => taskId);
    expect(await listed("orders:write", "more")).toEqual([id]);
    expect(await listed("orders:read")).toEqual([]);
  });

  it("is not told of to a weaker token (S6)", async () => {
    const { id, server, until } = await begin();
    const listen = (...scopes: readonly string[]) => {
      const { call, notes, abort } = makeCall(
        "subscriptions/listen",
        { notifications: { taskIds: [id] } },
        ann(...scopes),
      );
      void server("a")(call);
      return { notes, abort };
    };
    const [weak, strong] = [listen("orders:read"), listen("orders:write")];
    await until(async () => strong.notes[1] && weak.notes[0]);
    await send(server("a"), "tasks/cancel", { taskId: id }, ann("orders:write"));
    await until(async () => strong.notes.find(([, params]) => params.status === "cancelled"));
    const acknowledged = "notifications/subscriptions/acknowledged";
    expect(weak.notes).toEqual([[acknowledged, { notifications: { taskIds: [] } }]]);
    weak.abort.abort("done");
    strong.abort.abort("done");
  });

  it("is unknown to everybody else, whatever their scopes (S6)", async () => {
    const { id, server } = await begin();
    const eve = { ...ann(), peer: { ...peer(), auth: { principal: "eve", scopes: ["orders:write"] } } };
    const failure = failureOf(await send(server("a"), "tasks/get", { taskId: id }, eve));
    expect(failure).toEqual({ code: "invalid-params", message: "unknown task" });
  });

  it("keeps its scopes when it began as a call (S6)", async () => {
    const { server, clock, get } = taskCluster(never, { mode: "auto", scopes: ["orders:write"] });
    const outcome = server("a")(makeCall("tools/call", { name: "it" }, ann("orders:write")).call);
    await clock.advanceAsync(300);
    const { taskId } = taskOf(await outcome);
    await expect(get(taskId, "a", ann("orders:read"))).rejects.toThrow(forbidden.message);
    expect(await get(taskId, "a", ann("orders:write"))).toMatchObject({ status: "working" });
  });
});

describe("two servers on one store", () => {
  /** Servers with the same tool, which answer for themselves. */
  function servers(...names: readonly string[]) {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    return names.map((name) => {
      const it = tool({ task: "required", run: () => `done by ${name}` });
      return createServer({ name, version: "1", store, clock, tools: { it } });
    });
  }

  it("know no tasks of each other (S6)", async () => {
    const [shop, bank] = servers("shop", "bank");
    if (shop === undefined || bank === undefined) throw new Error("there are two");
    const { taskId } = taskOf(await send(shop, "tools/call", { name: "it" }, ann()));
    for (const method of ["tasks/get", "tasks/cancel", "tasks/result"] as const) {
      expect(failureOf(await send(bank, method, { taskId }, ann())).message, method).toBe("unknown task");
    }
    expect((await complete(bank, "tasks/list", {}, legacy())).tasks).toEqual([]);
    expect((await complete(shop, "tasks/list", {}, legacy())).tasks).toMatchObject([{ taskId }]);
    const watching = makeCall("subscriptions/listen", { notifications: { taskIds: [taskId] } }, ann());
    void bank(watching.call);
    for (let turns = 0; turns < 50 && watching.notes.length === 0; turns++) await Promise.resolve();
    watching.abort.abort("done");
  });

  it("give no other the outcome of a call that was named (S11)", async () => {
    const [shop, bank] = servers("shop", "bank");
    if (shop === undefined || bank === undefined) throw new Error("there are two");
    const named = { ...ann(), meta: { "plugbay/key": "order 1" } };
    const first = taskOf(await send(shop, "tools/call", { name: "it" }, named));
    expect(taskOf(await send(shop, "tools/call", { name: "it" }, named)).taskId).toBe(first.taskId);
    expect(taskOf(await send(bank, "tools/call", { name: "it" }, named)).taskId).not.toBe(first.taskId);
  });
});
