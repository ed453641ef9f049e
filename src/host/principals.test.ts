// Loaded here, so that nothing in a test waits for it by chance.
import "../server/lazy-parts.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { modern } from "../../test/support/served.ts";
import { bearer } from "../auth/server/index.ts";
import { connect } from "../connect/connect.ts";
import { isObject, type JsonObject } from "../json/json.ts";
import { metaKeys } from "../protocol/meta.ts";
import type { Revision } from "../protocol/revision.ts";
import { tasksExtension } from "../protocol/task.ts";
import { createServer, prompt, resource, tool } from "../server/index.ts";
import { type HttpServeHandle, serveHttp } from "../transport/node/serve-http.ts";
import { type Host, openHost } from "./index.ts";

// One connection of a host to a server, and two principals at the host.

const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const answers = { accepted: { action: "accept", content: { ok: true } } } as const;
const keys = { one: "0op0l4ykw55TFPGq7tfCoIhgQBKQVFpgrTC_P7gktvk", two: "fLNrCJkrN1lXNkYDYvSPvsxB5lOU5lVNdZ2RTE7Rsg0" };

let paid: string[];
let upstream: HttpServeHandle;
let host: Host | undefined;
let served: HttpServeHandle | undefined;

const bank = () =>
  createServer({
    name: "bank",
    version: "1",
    stateKeys: [keys.one],
    tasks: { pollIntervalMs: 5, afterMs: 1 },
    tools: {
      pay: tool({
        input: { type: "object", properties: { to: { type: "string" } } },
        run: async ({ to }, ctx) => {
          const { ok } = await ctx.ask("Sure?", form);
          if (ok) paid.push(String(to));
          return `paid ${String(to)}`;
        },
      }),
      slow: tool({ task: "required", run: () => "the secret of ann" }),
      hangs: tool({
        task: "required",
        run: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("ended"))),
      }),
      asks: tool({
        task: "required",
        run: async (_, ctx) => `answered ${String((await ctx.ask("Sure?", form)).ok)}`,
      }),
    },
    prompts: { offer: prompt({ get: async (_, ctx) => `offered ${String((await ctx.ask("Sure?", form)).ok)}` }) },
    resources: [
      resource("bank://vault", { read: async (_, ctx) => `open ${String((await ctx.ask("Sure?", form)).ok)}` }),
    ],
  });

beforeEach(async () => {
  paid = [];
  upstream = await serveHttp(bank(), { port: 0 });
});

afterEach(async () => {
  await served?.close();
  await host?.close();
  await upstream.close();
});

const auth = () => bearer((token) => ({ principal: token }));

async function open(revision: Revision, stateKeys: readonly string[] = [keys.one]): Promise<string> {
  host = await openHost({ bank: { target: upstream.url, connectOptions: { revision } } }, { stateKeys });
  await host.settled();
  served = await serveHttp(host, { port: 0, auth: auth() });
  return served.url;
}

const abilities = {
  [metaKeys.clientCapabilities]: { elicitation: { form: {} }, extensions: { [tasksExtension]: {} } },
};
const withoutTasks = { [metaKeys.clientCapabilities]: { elicitation: { form: {} } } };

let lastId = 0;

/** A request of 2026-07-28, of somebody who does what no client of ours does. */
async function ask(url: string, who: string, method: string, { meta = abilities, ...params }: JsonObject) {
  const { name, uri, taskId } = params;
  const named = name ?? uri ?? taskId;
  const response = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${who}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof named === "string" && { "mcp-name": named }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method, params: modern(params, meta as JsonObject) }),
  });
  const text = await response.text();
  const event = /^data: (.*\n)*?(?=\n)/m.exec(text)?.[0];
  const last = text.startsWith("{")
    ? text
    : (text.split("\n").findLast((line) => line.startsWith("data: {")) ?? event ?? "").slice(6);
  return JSON.parse(last) as {
    readonly result?: JsonObject;
    readonly error?: { readonly code: number; readonly message: string };
  };
}

/** Answers everything that a result asks for. */
function answered({ inputRequests }: JsonObject): JsonObject {
  const names = isObject(inputRequests) ? Object.keys(inputRequests) : [];
  return Object.fromEntries(names.map((name) => [name, answers.accepted]));
}

const refused = { error: { code: -32602, message: expect.stringContaining("the request state is refused") } };
const unknown = { error: { code: -32602, message: expect.stringContaining("unknown task") } };

describe("a state that a served host gives", () => {
  const calls: readonly (readonly [string, JsonObject])[] = [
    ["tools/call", { name: "bank__pay", arguments: { to: "shop" } }],
    ["prompts/get", { name: "bank__offer" }],
    ["resources/read", { uri: "bank://vault" }],
  ];

  it.each(calls)(
    "goes on with %s for the principal that it was given to, and for nobody else (S7)",
    async (method, params) => {
      const url = await open("2026-07-28");
      const { result = {} } = await ask(url, "ann", method, params);
      expect(result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
      const back = { ...params, requestState: result.requestState ?? "", inputResponses: answered(result) };
      expect(await ask(url, "bob", method, back)).toMatchObject(refused);
      expect(paid).toEqual([]);
      expect((await ask(url, "ann", method, back)).result).toMatchObject({ resultType: "complete" });
    },
  );

  it("is good for the call that it was given for only (S7)", async () => {
    const url = await open("2026-07-28");
    const params = { name: "bank__pay", arguments: { to: "shop" } };
    const { result = {} } = await ask(url, "ann", "tools/call", params);
    const back = { requestState: result.requestState ?? "", inputResponses: answered(result) };
    const other = { name: "bank__pay", arguments: { to: "thief" } };
    expect(await ask(url, "ann", "tools/call", { ...other, ...back })).toMatchObject(refused);
    expect(await ask(url, "ann", "resources/read", { uri: "bank://vault", ...back })).toMatchObject(refused);
    expect(paid).toEqual([]);
  });

  it("is not that of the server, and that of the server is refused (S7)", async () => {
    const url = await open("2026-07-28");
    const params = { name: "pay", arguments: { to: "shop" } };
    const { result = {} } = await ask(upstream.url, "ann", "tools/call", params);
    const back = { requestState: result.requestState ?? "", inputResponses: answered(result) };
    expect(await ask(url, "ann", "tools/call", { ...params, name: "bank__pay", ...back })).toMatchObject(refused);
    const garbage = { ...params, name: "bank__pay", ...back, requestState: "plugbay-task:bank:1" };
    expect(await ask(url, "ann", "tools/call", garbage)).toMatchObject(refused);
  });

  it("does not open a host with other keys, and opens one with the same (S7)", async () => {
    const url = await open("2026-07-28");
    const params = { name: "bank__pay", arguments: { to: "shop" } };
    const { result = {} } = await ask(url, "ann", "tools/call", params);
    const back = { ...params, requestState: result.requestState ?? "", inputResponses: answered(result) };
    const target = { bank: upstream.url };
    await using foreign = await openHost(target, { stateKeys: [keys.two] });
    await using same = await openHost(target, { stateKeys: [keys.two, keys.one] });
    await using foreignServed = await serveHttp(foreign, { port: 0, auth: auth() });
    await using sameServed = await serveHttp(same, { port: 0, auth: auth() });
    expect(await ask(foreignServed.url, "ann", "tools/call", back)).toMatchObject(refused);
    expect((await ask(sameServed.url, "ann", "tools/call", back)).result).toMatchObject({ resultType: "complete" });
    expect(paid).toEqual(["shop"]);
  });

  it("goes on with a task that asks, for its own caller only (S7)", async () => {
    const url = await open("2026-07-28");
    const params = { name: "bank__asks" };
    const { result = {} } = await ask(url, "ann", "tools/call", { ...params, meta: withoutTasks });
    expect(result).toMatchObject({ resultType: "input_required" });
    const back = { ...params, requestState: result.requestState ?? "", inputResponses: answered(result) };
    expect(await ask(url, "bob", "tools/call", { ...back, meta: withoutTasks })).toMatchObject(refused);
    const { result: last } = await ask(url, "ann", "tools/call", { ...back, meta: withoutTasks });
    expect(last).toMatchObject({ content: [{ text: "answered true" }] });
  });
});

describe.each(["2026-07-28", "2025-11-25"] as const)(
  "a task of a server of %s that a served host hands on",
  (behind) => {
    it("is read, answered and cancelled by a caller of 2026-07-28 that it belongs to, and by nobody else (S7)", async () => {
      const url = await open(behind);
      const { result = {} } = await ask(url, "ann", "tools/call", { name: "bank__hangs" });
      const taskId = String(result.taskId);
      for (const who of ["bob", "carl"]) {
        expect(await ask(url, who, "tasks/get", { taskId })).toMatchObject(unknown);
        expect(await ask(url, who, "tasks/update", { taskId, inputResponses: {} })).toMatchObject(unknown);
        expect(await ask(url, who, "tasks/cancel", { taskId })).toMatchObject(unknown);
      }
      expect((await ask(url, "ann", "tasks/get", { taskId })).result).toMatchObject({ taskId, status: "working" });
      await ask(url, "ann", "tasks/cancel", { taskId });
      expect((await ask(url, "ann", "tasks/get", { taskId })).result).toMatchObject({ taskId, status: "cancelled" });
    });

    it("has an id that says neither the server nor its own id (S7)", async () => {
      const url = await open(behind);
      await using direct = await connect(upstream.url, { revision: behind });
      const own = await direct.tasks.start("slow");
      const { result = {} } = await ask(url, "ann", "tools/call", { name: "bank__hangs" });
      expect(String(result.taskId)).not.toContain("bank");
      for (const taskId of [`bank:${own.id}`, own.id ?? "", "bank:x"]) {
        expect(await ask(url, "ann", "tasks/get", { taskId })).toMatchObject(unknown);
      }
      await ask(url, "ann", "tasks/cancel", { taskId: String(result.taskId) });
    });
  },
);

describe("a task of a server of 2025-11-25 for callers of 2025-11-25", () => {
  it("is read and cancelled by its own caller only (S7)", async () => {
    const url = await open("2025-11-25");
    const as = (who: string) => connect(url, { revision: "2025-11-25", headers: { authorization: `Bearer ${who}` } });
    await using ann = await as("ann");
    await using bob = await as("bob");
    const done = await ann.tasks.start("bank__slow");
    const hanging = await ann.tasks.start("bank__hangs");
    for (const taskId of [done.id ?? "", hanging.id ?? ""]) {
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
        await expect(bob.request(method, { taskId })).rejects.toMatchObject({
          code: "invalid-params",
          message: expect.stringContaining("unknown task"),
        });
      }
    }
    expect((await done.result()).content).toEqual([{ type: "text", text: "the secret of ann" }]);
    expect(await hanging.status()).toMatchObject({ status: "working" });
    await hanging.cancel();
    expect(await hanging.status()).toMatchObject({ status: "cancelled" });
    await using without = await connect(url, {
      revision: "2025-11-25",
      tasks: false,
      headers: { authorization: "Bearer ann" },
    });
    expect(await without.request("tools/call", { name: "bank__slow" })).not.toHaveProperty("_meta");
    await expect(bob.tasks.resume(done.id ?? "")).rejects.toMatchObject({ code: "invalid-params" });
  });
});
