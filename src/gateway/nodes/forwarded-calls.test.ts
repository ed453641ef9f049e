import { afterEach, describe, expect, it } from "vitest";
import { createLog } from "../../../test/e2e/support/events.ts";
import { makeCall, peer } from "../../../test/support/direct.ts";
import { asJson } from "../../json/json.ts";
import type { Question } from "../../protocol/input.ts";
import type { Method, Params } from "../../protocol/methods.ts";
import { type ClientInfo, session } from "../../protocol/peer.ts";
import { createSealer } from "../../protocol/seal.ts";
import type { CallOf, CallSource, Outcome } from "../../protocol/service.ts";
import { tasksExtension } from "../../protocol/task.ts";
import { createServer, tool } from "../../server/index.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { scopedStore } from "../../store/scoped-store.ts";
import type { Store } from "../../store/store.ts";
import { type HttpServeHandle, serveHttp } from "../../transport/node/serve-http.ts";
import { type Gateway, openGateway } from "../open-gateway.ts";
import { encodeCall } from "./forwarded-call.ts";

const stateKeys = ["0123456789abcdef".repeat(4)];
const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;

interface Started {
  readonly runs: string[];
  readonly running: ReturnType<typeof createLog<string>>;
  readonly cancelled: ReturnType<typeof createLog<string>>;
  readonly upstream: HttpServeHandle;
  readonly one: Gateway;
  readonly other: Gateway;
  readonly store: Store;
}

const open: AsyncDisposable[] = [];

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

/** Two gateways on one store, in front of a server of 2025-11-25 that keeps something for each session. */
async function start(): Promise<Started> {
  const runs: string[] = [];
  const running = createLog<string>();
  const cancelled = createLog<string>();
  const shop = createServer({
    name: "shop",
    version: "1",
    onError: () => {},
    tools: {
      count: tool({
        run: async (_, ctx) => {
          const state = await ctx.session?.state.update((known) => ({ count: Number(known?.count ?? 0) + 1 }));
          return `${state?.count}`;
        },
      }),
      buy: tool({
        run: async (_, ctx) => {
          runs.push("buy");
          const { ok } = await ctx.ask("Buy it?", form);
          return ok ? "bought" : "left";
        },
      }),
      slow: tool({
        run: async (_, ctx) => {
          ctx.progress(1, 2, "half");
          running.add("slow");
          await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve(), { once: true }));
          cancelled.add("slow");
          return "never";
        },
      }),
      fail: tool({ run: () => Promise.reject(new Error("secret")) }),
      job: tool({ task: "required", run: async (_, ctx) => ((await ctx.ask("Go on?", form)).ok ? "done" : "stopped") }),
    },
  });
  const upstream = await serveHttp(shop, { port: 0 });
  const store = memoryStore({});
  const target = { target: upstream.url, connectOptions: { revision: "2025-11-25" as const } };
  const options = { stateKeys, store };
  const [one, other] = [await openGateway({ shop: target }, options), await openGateway({ shop: target }, options)];
  open.push(upstream, store, one, other);
  return { runs, running, cancelled, upstream, one, other, store };
}

const ann: ClientInfo = {
  ...peer({ elicitation: { form: {} }, extensions: { [tasksExtension]: {} } }),
  auth: { principal: "ann" },
};

function send<M extends Method>(gateway: Gateway, method: M, params: Params<M>, given: Partial<CallSource<M>> = {}) {
  const made = makeCall(method, params, { peer: ann, ...given } as never);
  return { ...made, outcome: gateway(made.call as CallOf<M>) as Promise<Outcome<M>> };
}

const call = (gateway: Gateway, name: string, given: Partial<CallSource<"tools/call">> = {}) =>
  send(gateway, "tools/call", { name: `shop__${name}`, arguments: {} }, given);

async function textOf(outcome: Promise<Outcome<"tools/call">>): Promise<string> {
  const ended = await outcome;
  if (ended.kind !== "complete") throw new Error(`it ended so: ${JSON.stringify(ended)}`);
  return ended.result.content.map((block) => (block.type === "text" ? block.text : "")).join();
}

const accept = { action: "accept", content: { ok: true } } as const;

describe("two processes of a gateway on one store", () => {
  it("use one connection for a caller, whichever its calls reach", async () => {
    const { one, other } = await start();
    const texts: string[] = [];
    for (const gateway of [one, other, other, one, other]) texts.push(await textOf(call(gateway, "count").outcome));
    expect(texts).toEqual(["1", "2", "3", "4", "5"]);
    expect([one, other].map((gateway) => gateway.status().servers[0]?.callerConnections)).toEqual([1, 0]);
  });

  it("use one for a session of a client of 2025-11-25, until the session ends", async () => {
    const { one, other } = await start();
    const known = {
      ...ann,
      revision: "2025-11-25",
      [session]: { id: "s1", state: undefined },
    } as unknown as ClientInfo;
    expect(await textOf(call(one, "count", { peer: known }).outcome)).toBe("1");
    expect(await textOf(call(other, "count", { peer: known }).outcome)).toBe("2");
    const hooks = await (other as unknown as { sessions(): Promise<{ end(id: string): Promise<void> }> }).sessions();
    await hooks.end("s1");
    await expect.poll(() => one.status().servers[0]?.callerConnections).toBe(0);
    expect(await textOf(call(other, "count", { peer: known }).outcome)).toBe("1");
  });

  it.each(["ann", undefined])("go on with a call that waits in the other one (principal: %s)", async (principal) => {
    const { one, other, runs } = await start();
    const { auth: _, ...nobody } = ann;
    const http = { method: "POST", url: "/mcp", header: () => undefined, remoteAddress: "127.0.0.1" };
    const given = principal === undefined ? { peer: nobody as ClientInfo, http } : {};
    const asked = await call(one, "buy", given).outcome;
    if (asked.kind !== "input-required") throw new Error(`not asked: ${JSON.stringify(asked)}`);
    const answers = Object.fromEntries(Object.keys(asked.questions).map((key) => [key, accept]));
    const { state } = asked;
    expect(await textOf(call(other, "buy", { ...given, answers, state }).outcome)).toBe("bought");
    expect(runs).toEqual(["buy"]);
  });

  it("ask a caller that waits for a call in the other one", async () => {
    const { one, other, runs } = await start();
    const known = {
      ...ann,
      revision: "2025-11-25",
      [session]: { id: "s2", state: undefined },
    } as unknown as ClientInfo;
    await call(one, "count", { peer: known }).outcome;
    const asked: Question[] = [];
    const ask = async (question: Question) => {
      asked.push(question);
      return accept;
    };
    expect(await textOf(call(other, "buy", { peer: known, ask }).outcome)).toBe("bought");
    expect(asked).toMatchObject([{ method: "elicitation/create", params: { message: "Buy it?" } }]);
    expect(runs).toEqual(["buy"]);
    const refused = call(other, "buy", { peer: known, ask: () => Promise.reject(new Error("gone")) });
    expect(await refused.outcome).not.toMatchObject({ kind: "complete", result: { isError: undefined } });
  });

  it("hand on progress, and what ends a call", async () => {
    const { one, other, running, cancelled } = await start();
    await call(one, "count").outcome;
    const slow = call(other, "slow", { wantsProgress: true });
    await running.count(1);
    await expect.poll(() => slow.notes.length).toBe(1);
    expect(slow.notes).toMatchObject([["notifications/progress", { progress: 1, total: 2 }]]);
    slow.abort.abort("enough");
    await cancelled.count(1);
  });

  it("say how a call failed", async () => {
    const { one, other } = await start();
    await call(one, "count").outcome;
    expect(await call(other, "fail").outcome).toMatchObject({ kind: "complete", result: { isError: true } });
    expect(await call(other, "nothing").outcome).toMatchObject({ kind: "failed", failure: { code: "invalid-params" } });
  });

  it("know each other's tasks, and what those ask", async () => {
    const { one, other } = await start();
    const started = await call(one, "job", { tasks: { wanted: false } }).outcome;
    if (started.kind !== "task") throw new Error(`no task: ${JSON.stringify(started)}`);
    const { taskId } = started.task;
    const get = async () => {
      const got = await send(other, "tasks/get", { taskId }).outcome;
      return got.kind === "complete" ? (got.result as { status: string; questions?: object }) : undefined;
    };
    await expect.poll(async () => (await get())?.status).toBe("input_required");
    const [key = ""] = Object.keys((await get())?.questions ?? {});
    await send(other, "tasks/update", { taskId, inputResponses: { [key]: accept } }).outcome;
    await expect.poll(async () => (await get())?.status).toBe("completed");
  });

  it("take over what the other one had, when that is gone", async () => {
    const { one, other } = await start();
    expect(await textOf(call(one, "count").outcome)).toBe("1");
    expect((await other.nodes()).map(({ isSelf }) => isSelf).sort()).toEqual([false, true]);
    await one.close();
    expect(await textOf(call(other, "count").outcome)).toBe("1");
    expect(await textOf(call(other, "count").outcome)).toBe("2");
    expect(await other.nodes()).toMatchObject([{ isSelf: true, pid: process.pid }]);
  });

  it("do nothing for somebody who can write to the store and does not know their keys", async () => {
    const { one, other, store, runs } = await start();
    await call(one, "count").outcome;
    const [{ id = "" } = {}] = (await other.nodes()).filter(({ isSelf }) => !isSelf);
    const { topics } = await scopedStore(store, `gateway ${one.info.name}`);
    const work = { server: "shop", owner: { key: "x", account: "x" }, request: { kind: "tool", name: "buy" } };
    const forged = { kind: "call", id: "x", from: "x", work, call: encodeCall(call(one, "nothing").call) };
    const { seal } = createSealer(["fedcba9876543210".repeat(4)], { purpose: "plugbay gateway nodes" });
    await topics.publish(`node:${id}`, JSON.stringify(forged));
    await topics.publish(`node:${id}`, JSON.stringify({ sealed: await seal(asJson(forged)) }));
    // What was written before is read before.
    expect(await textOf(call(other, "count").outcome)).toBe("2");
    expect(runs).toEqual([]);
    const known = createSealer(stateKeys, { purpose: "plugbay gateway nodes" });
    await topics.publish(`node:${id}`, JSON.stringify({ sealed: await known.seal(asJson(forged)) }));
    await expect.poll(() => runs).toEqual(["buy"]);
  });
});
