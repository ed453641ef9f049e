import { describe, expect, it } from "vitest";
import { modern, request, serve, serveLegacy } from "../../test/support/served.ts";
import type { JsonObject } from "../json/json.ts";
import { metaKeys } from "../protocol/meta.ts";
import type { Outcome, Service } from "../protocol/service.ts";
import { createServer, resource, tool } from "../server/index.ts";
import type { FakePeer } from "../testing/fake-peer.ts";

const ok = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;

function rich() {
  return createServer({
    name: "rich",
    version: "1",
    stateKeys: ["3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E"],
    listChanged: true,
    subscribe: true,
    logging: true,
    tools: {
      ask: tool({ run: async (_, ctx) => ((await ctx.ask("Sure?", ok)).ok ? "yes" : "no") }),
      log: tool({
        run: (_, ctx) => {
          for (const level of ["debug", "info", "error"] as const) ctx.log(level, level);
          ctx.progress(1);
          return "logged";
        },
      }),
    },
    prompts: {},
    resources: [resource("file:///a", { read: () => "a" })],
  });
}

const without = (key: keyof typeof metaKeys): JsonObject => {
  const { [metaKeys[key]]: _, ...rest } = modern()._meta as JsonObject;
  return rest;
};

describe("what a request must say of itself", () => {
  it.each<[what: string, params: JsonObject]>([
    ["no version", { _meta: without("protocolVersion") }],
    ["no capabilities", { _meta: without("clientCapabilities") }],
    ["a version that is no string", modern({}, { [metaKeys.protocolVersion]: 3 })],
    ["capabilities that are no object", modern({}, { [metaKeys.clientCapabilities]: true })],
    ["an unknown log level", modern({}, { [metaKeys.logLevel]: "loud" })],
  ])("%s is -32602, with the id of the request", async (_what, params) => {
    const { client } = serve(rich());
    client.say(request(17, "tools/list", params));
    expect(await client.next()).toMatchObject({ id: 17, error: { code: -32602 } });
  });

  it.each([{}, { _meta: {} }, { _meta: null }] as JsonObject[])(
    "a request that only modern clients send, with the params %j, is -32602",
    async (params) => {
      const { client } = serve(rich());
      client.say(request("a", "server/discover", params));
      expect(await client.next()).toMatchObject({ id: "a", error: { code: -32602 } });
    },
  );

  it("who it is may be left out", async () => {
    const { client } = serve(rich());
    expect(await client.request("tools/list", modern())).toHaveProperty("result.tools");
  });

  it.each(["2027-01-01", "2025-11-25", "latest"])(
    "the version %s is -32022, with what is supported",
    async (version) => {
      const { client } = serve(rich());
      const answer = await client.request("tools/list", modern({}, { [metaKeys.protocolVersion]: version }));
      const discovery = await client.request("server/discover", modern());
      const { supportedVersions } = discovery.result as JsonObject;
      expect(answer.error).toMatchObject({ code: -32022, data: { requested: version, supported: supportedVersions } });
      expect(supportedVersions).toContain("2026-07-28");
    },
  );

  it.each(["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "made/up"])(
    "%s is -32601, also where a session offers it",
    async (method) => {
      const params = { protocolVersion: "2025-11-25", level: "info", uri: "file:///a" };
      const fresh = serve(rich());
      expect(await fresh.client.request(method, modern(params))).toMatchObject({ error: { code: -32601 } });
      const { client } = await serveLegacy(rich());
      expect(await client.request(method, modern(params))).toMatchObject({ error: { code: -32601 } });
    },
  );

  it("a capability counts for the request that declares it, and for no other", async () => {
    const { client } = serve(rich());
    const capable = { [metaKeys.clientCapabilities]: { elicitation: {} } };
    const asked = await client.request("tools/call", modern({ name: "ask" }, capable));
    expect(asked).toMatchObject({ result: { resultType: "input_required" } });
    expect(await client.request("tools/call", modern({ name: "ask" }))).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    });
  });

  it("a capability of the session does not count", async () => {
    const { client } = await serveLegacy(rich(), { capabilities: { elicitation: {} } });
    expect(await client.request("tools/call", modern({ name: "ask" }))).toMatchObject({ error: { code: -32021 } });
  });

  it("signs its results, unless the service does not say who it is", async () => {
    const { client } = serve(rich());
    expect(await client.request("tools/list", modern())).toMatchObject({
      result: { _meta: { [metaKeys.serverInfo]: { name: "rich", version: "1" } } },
    });
    const shy = (async (call) =>
      call.method === "server/discover" ? Promise.reject(new Error("who?")) : rich()(call)) as Service;
    const served = serve(shy);
    const { result } = await served.client.request("tools/list", modern());
    expect(result).toHaveProperty("tools");
    expect(result).not.toHaveProperty("_meta");
  });
});

describe("notifications of a call", () => {
  const logsOf = ({ heard }: FakePeer) =>
    heard.filter(({ method }) => method === "notifications/message").map(({ params }) => (params as JsonObject).data);

  it.each<[level: string | undefined, logs: readonly string[]]>([
    [undefined, []],
    ["debug", ["debug", "info", "error"]],
    ["error", ["error"]],
  ])("with the log level %s there are the logs %j", async (level, logs) => {
    const { client } = serve(rich());
    const meta = level === undefined ? {} : { [metaKeys.logLevel]: level };
    await client.request("tools/call", modern({ name: "log" }, meta));
    expect(logsOf(client)).toEqual(logs);
  });

  it("the log level of the session does not count", async () => {
    const { client } = await serveLegacy(rich());
    await client.request("logging/setLevel", { level: "debug" });
    await client.request("tools/call", modern({ name: "log" }));
    expect(logsOf(client)).toEqual([]);
  });

  it.each([7, "7"])("C20: progress comes with the very token %j", async (progressToken) => {
    const { client } = serve(rich());
    client.say(request(1, "tools/call", modern({ name: "log" }, { progressToken })));
    expect((await client.expect("notifications/progress")).params).toEqual({ progressToken, progress: 1 });
  });
});

describe("listening", () => {
  const listen = (id: number | string, notifications: JsonObject) =>
    request(id, "subscriptions/listen", modern({ notifications }));
  const tagged = (id: number | string, method: string, params: JsonObject = {}) => ({
    jsonrpc: "2.0",
    method,
    params: { ...params, _meta: { [metaKeys.subscriptionId]: id } },
  });
  const everything = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ["file:///a"],
  };
  const ack = "notifications/subscriptions/acknowledged";

  it.each([1, "1"])("is acknowledged first, with what is honoured and the very id %j", async (id) => {
    const { client } = serve(rich());
    client.say(listen(id, everything));
    expect(await client.next()).toEqual(tagged(id, ack, { notifications: everything }));
  });

  it("honours only what the server announces", async () => {
    const { client } = serve(createServer({ name: "s", version: "1", listChanged: true, prompts: {} }));
    client.say(listen(1, everything));
    expect(await client.next()).toEqual(tagged(1, ack, { notifications: { promptsListChanged: true } }));
  });

  it("brings only what was asked for, each marked with its subscription", async () => {
    const server = rich();
    const { client, settled } = serve(server);
    client.say(listen(1, { toolsListChanged: true }), listen("b", { resourceSubscriptions: ["file:///a"] }));
    await settled();
    const before = client.heard.length;
    server.listChanged("tools");
    server.listChanged("prompts");
    server.resourceUpdated("file:///a");
    server.resourceUpdated("file:///other");
    await settled();
    expect(client.heard.slice(before)).toEqual([
      tagged(1, "notifications/tools/list_changed"),
      tagged("b", "notifications/resources/updated", { uri: "file:///a" }),
    ]);
  });

  it("without it nothing is told", async () => {
    const server = rich();
    const { client, settled } = serve(server);
    await client.request("tools/list", modern());
    server.listChanged("tools");
    server.resourceUpdated("file:///a");
    await settled();
    expect(client.heard).toHaveLength(1);
  });

  it("may be done twice, and by a session at the same time", async () => {
    const server = rich();
    const { client, settled } = await serveLegacy(server);
    client.say(listen(1, { toolsListChanged: true }), listen(2, { toolsListChanged: true }));
    await settled();
    const before = client.heard.length;
    server.listChanged("tools");
    await settled();
    const told = client.heard.slice(before);
    expect(told).toHaveLength(3);
    expect(told).toEqual(
      expect.arrayContaining([
        { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: {} },
        tagged(1, "notifications/tools/list_changed"),
        tagged(2, "notifications/tools/list_changed"),
      ]),
    );
  });

  it("ends when it is cancelled, without another word", async () => {
    const server = rich();
    const { client, settled } = serve(server);
    client.say(listen(1, everything));
    await settled();
    client.notify("notifications/cancelled", { requestId: 1 });
    await settled();
    server.listChanged("tools");
    await settled();
    expect(client.heard).toHaveLength(1);
  });

  it.each<[how: string, end: (served: ReturnType<typeof serve>) => unknown]>([
    ["the server drains", ({ serving }) => serving.drain()],
    ["the client hangs up", ({ client }) => client.end()],
  ])("ends with a result when %s, and delays nothing", async (_how, end) => {
    const served = serve(rich());
    const { client, serving, settled, clock } = served;
    client.say(listen(1, everything), listen("b", { toolsListChanged: true }));
    await settled();
    end(served);
    await serving.ended;
    expect(clock.now()).toBe(0);
    const meta = (id: unknown) => ({
      [metaKeys.subscriptionId]: id,
      [metaKeys.serverInfo]: { name: "rich", version: "1" },
    });
    expect(client.heard.slice(2)).toEqual([
      { jsonrpc: "2.0", id: 1, result: { resultType: "complete", _meta: meta(1) } },
      tagged(1, "notifications/cancelled", { requestId: 1 }),
      { jsonrpc: "2.0", id: "b", result: { resultType: "complete", _meta: meta("b") } },
      tagged("b", "notifications/cancelled", { requestId: "b" }),
    ]);
  });

  it("ends with a result when the service ends it, and with an error when it fails", async () => {
    const outcomes: Outcome[] = [
      { kind: "complete", result: {} },
      { kind: "failed", failure: { code: "internal", message: "broken" } },
    ];
    const ending = (async (call) =>
      call.method === "subscriptions/listen" ? outcomes.shift() : rich()(call)) as Service;
    const { client, settled } = serve(ending);
    client.say(listen(1, everything), listen(2, everything));
    await settled();
    expect(client.heard).toMatchObject([
      { id: 1, result: { resultType: "complete" } },
      tagged(1, "notifications/cancelled", { requestId: 1 }),
      { id: 2, error: { code: -32603, message: "broken" } },
    ]);
  });

  it("is forgotten when it is over", async () => {
    const signals: AbortSignal[] = [];
    const ending = (async (call) => {
      if (call.method !== "subscriptions/listen") return rich()(call);
      signals.push(call.signal);
      return { kind: "complete", result: {} };
    }) as Service;
    const { client, serving, settled } = serve(ending);
    client.say(listen(1, everything));
    await settled();
    await serving.drain();
    expect(signals).toMatchObject([{ aborted: false }]);
  });

  it("ends with an error when the server closes in haste", async () => {
    const { client, serving, settled } = serve(rich());
    client.say(listen(1, everything));
    await settled();
    await serving.close();
    await settled();
    expect(client.heard.slice(1)).toMatchObject([{ id: 1, error: { code: -32603 } }]);
  });

  it("does not take the place of a call", async () => {
    const { client } = serve(rich(), { budgets: { connection: { maxRunningCalls: 1 } } });
    client.say(listen(1, everything), listen(2, everything));
    expect(await client.request("tools/call", modern({ name: "log" }))).toHaveProperty("result");
  });

  it.each([{}, { notifications: [] }, { notifications: { resourceSubscriptions: "x" } }] as JsonObject[])(
    "is refused with -32602 when its params are %j",
    async (params) => {
      const { client } = serve(rich());
      expect(await client.request("subscriptions/listen", modern(params))).toMatchObject({ error: { code: -32602 } });
    },
  );
});
