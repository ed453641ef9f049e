import { describe, expect, it } from "vitest";
import { createLog } from "../../test/e2e/support/events.ts";
import { makeCall, peer } from "../../test/support/direct.ts";
import { connect } from "../connect/index.ts";
import type { Method, Params } from "../protocol/methods.ts";
import type { CallOf } from "../protocol/service.ts";
import { tasksExtension } from "../protocol/task.ts";
import { createServer, resource, tool } from "../server/index.ts";
import { type Gateway, openGateway } from "./open-gateway.ts";
import type { GatewayRule } from "./rule.ts";

const stateKeys = ["0123456789abcdef".repeat(4)];

function createPlant() {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const plant = createServer({
    name: "plant",
    version: "1",
    subscribe: true,
    stateKeys,
    tools: { grow: tool({ task: "required", run: () => finished.then(() => ({ weight: 3, secret: "root" })) }) },
    resources: [resource("plant://open", { read: () => "a" }), resource("plant://closed", { read: () => "b" })],
  });
  return { plant, finish };
}

const open = (plant: ReturnType<typeof createPlant>["plant"], rules: readonly GatewayRule[]): Promise<Gateway> =>
  openGateway({ plant }, { rules, stateKeys });

const client = { ...peer({ extensions: { [tasksExtension]: {} } }), auth: { principal: "ann" } };

function send<M extends Method>(gateway: Gateway, method: M, params: Params<M>) {
  const { call } = makeCall(method, params, { peer: client, tasks: { wanted: false } } as never);
  return gateway(call as CallOf<M>);
}

describe("a task", () => {
  it("is judged again when it is asked about, and can be cancelled all the same", async () => {
    const { plant } = createPlant();
    await using before = await open(plant, []);
    const started = await send(before, "tools/call", { name: "plant__grow" });
    if (started.kind !== "task") throw new Error(`no task: ${JSON.stringify(started)}`);
    const { taskId } = started.task;
    expect(await send(before, "tasks/get", { taskId })).toMatchObject({ result: { status: "working" } });
    await using after = await open(plant, [{ action: "deny", tools: "plant:grow" }]);
    await after.settled();
    expect(await send(after, "tasks/get", { taskId })).toMatchObject({
      kind: "failed",
      failure: { code: "invalid-params", message: expect.stringContaining("unknown task") },
    });
    expect(await send(after, "tasks/cancel", { taskId })).toMatchObject({ kind: "complete" });
    expect(await send(before, "tasks/get", { taskId })).toMatchObject({ result: { status: "cancelled" } });
  });

  it("that was approved needs no other approval, and its result is without what rules hide", async () => {
    const { plant, finish } = createPlant();
    await using gateway = await open(plant, [
      { action: "approve" },
      { action: "redact", redact: { members: "secret" } },
    ]);
    const approved = (async () => {
      for await (const { kind, approval } of gateway.approvals.changes()) {
        if (kind === "waiting") return gateway.approvals.answer(approval.id, { approved: true, by: "boss" });
      }
    })();
    const started = await send(gateway, "tools/call", { name: "plant__grow" });
    await approved;
    if (started.kind !== "task") throw new Error(`no task: ${JSON.stringify(started)}`);
    finish();
    for (;;) {
      const got = await send(gateway, "tasks/get", { taskId: started.task.taskId });
      const text = JSON.stringify(got);
      if (text.includes('"working"')) continue;
      expect(text).toContain("[redacted]");
      expect(text).not.toContain("root");
      break;
    }
    expect(await gateway.approvals.list()).toEqual([]);
  });
});

it.each(["2025-11-25", "2026-07-28"] as const)(
  "who may not read a resource does not hear of it in %s",
  async (revision) => {
    const { plant } = createPlant();
    await using gateway = await open(plant, [{ action: "deny", users: "eve", resources: "plant://closed" }]);
    const heard = createLog<string>();
    await using eve = await connect(gateway, { revision, identity: { principal: "eve" } });
    const listening = new AbortController();
    for (const uri of ["plant://closed", "plant://open"]) {
      const watch = eve.watch(uri, { signal: listening.signal });
      await watch.ready;
      void (async () => {
        for await (const change of watch) heard.add(change.uri);
      })();
    }
    plant.resourceUpdated("plant://closed");
    plant.resourceUpdated("plant://open");
    await heard.find((uri) => uri === "plant://open");
    expect(heard.items).toEqual(["plant://open"]);
    listening.abort();
  },
);
