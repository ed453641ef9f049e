import { describe, expect, it } from "vitest";
import { gate, hello, modern, notification, request, serve, serveLegacy } from "../../test/support/served.ts";
import type { JsonObject } from "../json/json.ts";
import { type Message, parseText } from "../jsonrpc/message.ts";
import type { Budget } from "../protocol/budget.ts";
import { metaKeys } from "../protocol/meta.ts";
import type { Service } from "../protocol/service.ts";
import { createServer, resource, tool } from "../server/index.ts";
import { createManualClock } from "../testing/clock.ts";
import { createFakePeer, type FakePeer } from "../testing/fake-peer.ts";
import { serveChannel } from "./serve-channel.ts";
import { toChannelBounds } from "./to-channel-bounds.ts";

/** A server whose `hold` goes on until the test lets it, and whose other tools do not. */
function busy() {
  const hold = gate();
  const signals: AbortSignal[] = [];
  const running: unknown[] = [];
  const server = createServer({
    name: "busy",
    version: "1",
    logging: true,
    onError: () => {},
    tools: {
      hold: tool({
        run: async (input, ctx) => {
          signals.push(ctx.signal);
          running.push((input as { n?: number }).n);
          await hold.opened;
          return "held";
        },
      }),
      quick: tool({ run: () => "quick" }),
      count: tool({
        run: (_, ctx) => {
          for (const progress of [1, 1, 0.5, 2]) ctx.progress(progress, 2, `at ${progress}`);
          return "counted";
        },
      }),
      late: tool({
        run: (_, ctx) => {
          void hold.opened.then(() => {
            ctx.progress(1);
            ctx.log("error", "late");
          });
          return "over";
        },
      }),
    },
    methods: {
      "x/bigint": () => ({ n: 1n }) as unknown as JsonObject,
      "x/circle": () => {
        const circle: Record<string, unknown> = {};
        circle.self = circle;
        return circle as JsonObject;
      },
    },
    resources: [resource("file:///a", { read: () => "text" })],
  });
  return { server, hold, signals, running };
}

const boundsOf = (connection: Budget) => toChannelBounds({ budgets: { connection } }, "a test");

const call = (id: number | string, name: string, args: JsonObject = {}) =>
  request(id, "tools/call", { name, arguments: args });
const answersTo = ({ heard }: FakePeer, id: unknown) => heard.filter((message) => message.id === id);
const idsOf = ({ heard }: FakePeer) => heard.map(({ id }) => id).filter((id) => typeof id === "number");

describe("calls of one client", () => {
  it("C34: a slow tool delays neither ping nor lists nor other tools", async () => {
    const { server, hold } = busy();
    const { client } = await serveLegacy(server);
    client.say(call(1, "hold"), request(2, "ping"), request(3, "tools/list"), call(4, "quick"));
    expect([await client.next(), await client.next(), await client.next()].map(({ id }) => id)).toEqual([2, 3, 4]);
    hold.open();
    expect(await client.next()).toMatchObject({ id: 1 });
  });

  it("C34: also when every place is taken, ping and lists are not delayed", async () => {
    const { server, hold } = busy();
    const { client, settled } = await serveLegacy(server, { budgets: { connection: { maxRunningCalls: 1 } } });
    client.say(call(1, "hold"), call(2, "quick"), request(3, "ping"), request(4, "tools/list"));
    await settled();
    expect(idsOf(client)).toEqual([3, 4]);
    hold.open();
    await settled();
    expect(idsOf(client)).toEqual([3, 4, 1, 2]);
  });

  it.each<[era: string, toCall: (id: number) => JsonObject]>([
    ["legacy", (id) => call(id, "hold", { n: id })],
    ["modern", (id) => request(id, "tools/call", modern({ name: "hold", arguments: { n: id } }))],
  ])("start in the order in which they came: %s", async (_era, toCall) => {
    const { server, running } = busy();
    const { client, settled } = await serveLegacy(server);
    client.say(toCall(1), toCall(2));
    client.say(toCall(3));
    await settled();
    expect(running).toEqual([1, 2, 3]);
  });

  it("C35: are answered in the order in which they are done", async () => {
    const { server, hold } = busy();
    const { client, settled } = await serveLegacy(server);
    client.say(call(1, "hold"), call(2, "quick"));
    await settled();
    hold.open();
    await settled();
    expect(idsOf(client)).toEqual([2, 1]);
  });

  it.each([
    [{ maxRunningCalls: 2 }, 2],
    [{ maxRunningCalls: 0 }, 100],
    [{}, 64],
  ])("run as many at once as %j allows", async (options, most) => {
    const { server, running, hold } = busy();
    const { client, settled } = await serveLegacy(server, { budgets: { connection: options } });
    for (let n = 1; n <= 100; n++) client.say(call(n, "hold", { n }));
    await settled();
    expect(running).toHaveLength(most);
    hold.open();
    await settled();
    expect(running).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  });

  it.each<[era: string, call: (id: number) => JsonObject]>([
    ["legacy", (id) => call(id, "hold", { n: id })],
    ["modern", (id) => request(id, "tools/call", modern({ name: "hold", arguments: { n: id } }))],
  ])("C36: %s ones that may not even wait are refused, and memory does not grow (C34)", async (_era, toCall) => {
    const { server, hold, running } = busy();
    const flood = async function* () {
      yield [parse(request("i", "initialize", hello("2025-11-25"))), parse(notification("notifications/initialized"))];
      for (let id = 1; id <= 10_000; id++) yield [parse(toCall(id))];
      yield [parse(request("last", "ping"))];
    };
    const client = createFakePeer();
    const clock = createManualClock();
    const channel = { ...client.channel, incoming: flood() };
    const serving = serveChannel(channel, server, {
      bounds: boundsOf({ maxRunningCalls: 3, maxQueuedCalls: 4 }),
      clock,
    });
    await clock.advanceAsync(0);
    expect(running).toEqual([1, 2, 3]);
    expect(answersTo(client, "last")).toMatchObject([{ result: {} }]);
    expect(answersTo(client, 8)).toMatchObject([
      {
        error: {
          code: -32603,
          data: { reason: "limit-reached", limit: "maxQueuedCalls", max: 4, scope: "connection" },
        },
      },
    ]);
    hold.open();
    await serving.ended;
    expect(running).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(client.heard).toHaveLength(10_002);
  });

  it("C36: large ones that wait are refused sooner (C34)", async () => {
    const { server, hold, running } = busy();
    const { client, settled } = await serveLegacy(server, {
      budgets: { connection: { maxRunningCalls: 1, maxHeldBytes: 10_000 } },
    });
    for (let id = 1; id <= 6; id++) client.say(call(id, "hold", { n: id, text: "x".repeat(4_000) }));
    await settled();
    expect(idsOf(client)).toEqual([4, 5, 6]);
    hold.open();
    await settled();
    expect(running).toEqual([1, 2, 3]);
  });

  it("C36: are read no further when the client does not read the refusals (C34)", async () => {
    const { server } = busy();
    let read = 0;
    const flood = async function* () {
      yield [parse(request("i", "initialize", hello("2025-11-25"))), parse(notification("notifications/initialized"))];
      for (read = 1; read <= 10_000; read++) yield [parse(call(read, "hold"))];
    };
    const { channel } = createFakePeer();
    const clock = createManualClock();
    const never = new Promise<void>(() => {});
    const full = { ...channel, incoming: flood(), send: (message: Message) => channel.send(message) ?? never };
    serveChannel(full, server, { bounds: boundsOf({ maxRunningCalls: 1, maxQueuedCalls: 1 }), clock });
    await clock.advanceAsync(0);
    expect(read).toBeLessThan(10);
  });

  it("C34: whatever waits, cancellations, answers and pings are read (P5)", async () => {
    const { server, hold, signals, running } = busy();
    server.tools.add("ask", tool({ run: async (_, ctx) => `${(await ctx.roots()).length} roots` }));
    const { client, settled } = await serveLegacy(server, {
      budgets: { connection: { maxOpenRequests: 500 } },
      capabilities: { roots: {} },
    });
    client.say(call("ask", "ask"));
    await settled();
    const question = await client.expect("roots/list");
    for (let id = 1; id <= 600; id++) client.say(call(id, "hold", { n: id }));
    client.say(
      request("ping", "ping"),
      notification("notifications/cancelled", { requestId: 1 }),
      notification("notifications/cancelled", { requestId: 100 }),
      { jsonrpc: "2.0", id: question.id as number, result: { roots: [{ uri: "file:///a" }] } },
    );
    await settled();
    expect(answersTo(client, "ping")).toMatchObject([{ result: {} }]);
    expect(signals[0]).toMatchObject({ aborted: true });
    expect(answersTo(client, "ask")).toMatchObject([{ result: { content: [{ text: "1 roots" }] } }]);
    hold.open();
    await settled();
    expect(running).toHaveLength(498);
    expect(running).not.toContain(100);
  });

  it("C36: are read on when maxQueuedCalls is off, up to maxOpenRequests", async () => {
    const { server, hold } = busy();
    const limits = { budgets: { connection: { maxRunningCalls: 1, maxQueuedCalls: 0, maxOpenRequests: 200 } } };
    const { client, settled } = await serveLegacy(server, limits);
    for (let id = 1; id <= 201; id++) client.say(call(id, "hold"));
    await settled();
    expect(answersTo(client, 201)).toMatchObject([
      { error: { code: -32603, data: { reason: "limit-reached", limit: "maxOpenRequests", max: 200 } } },
    ]);
    hold.open();
    await settled();
    expect(idsOf(client)).toHaveLength(201);
  });
});

describe("progress", () => {
  it.each([7, "7"])("C20: comes with the very token %j that was given", async (progressToken) => {
    const { server } = busy();
    const { client } = await serveLegacy(server);
    client.say(request(1, "tools/call", { name: "count", _meta: { progressToken } }));
    expect((await client.next()).params).toEqual({ progressToken, progress: 1, total: 2, message: "at 1" });
    expect((await client.next()).params).toEqual({ progressToken, progress: 2, total: 2, message: "at 2" });
    expect(await client.next()).toMatchObject({ id: 1, result: {} });
  });

  it("C21: is not sent without a token", async () => {
    const { server } = busy();
    const { client } = await serveLegacy(server);
    client.say(call(1, "count"));
    expect(await client.next()).toMatchObject({ id: 1 });
  });

  it("C22: is not sent after the response, nor is a log message", async () => {
    const { server, hold } = busy();
    const { client, settled } = await serveLegacy(server);
    client.say(request(1, "tools/call", { name: "late", _meta: { progressToken: 1 } }));
    expect(await client.next()).toMatchObject({ id: 1 });
    const before = client.heard.length;
    hold.open();
    await settled();
    expect(client.heard).toHaveLength(before);
  });

  it("is refused with -32602 when its token is of another type", async () => {
    const { server } = busy();
    const { client } = await serveLegacy(server);
    const answer = await client.request("tools/call", { name: "count", _meta: { progressToken: 1.5 } });
    expect(answer).toMatchObject({ error: { code: -32602 } });
  });
});

describe("cancelling", () => {
  it("C37: is honoured while the call waits for its turn", async () => {
    const { server, hold, running } = busy();
    const { client, settled } = await serveLegacy(server, { budgets: { connection: { maxRunningCalls: 1 } } });
    client.say(call(1, "hold", { n: 1 }), call(2, "hold", { n: 2 }), call(3, "hold", { n: 3 }));
    client.notify("notifications/cancelled", { requestId: 2 });
    await settled();
    hold.open();
    await settled();
    expect(running).toEqual([1, 3]);
    expect(idsOf(client)).toEqual([1, 3]);
  });

  it("C38: aborts the signal with the reason, and no response is written", async () => {
    const { server, hold, signals } = busy();
    const { client, settled } = await serveLegacy(server);
    client.say(call(1, "hold"), notification("notifications/cancelled", { requestId: 1, reason: "enough" }));
    await settled();
    expect(signals).toMatchObject([{ aborted: true, reason: "enough" }]);
    hold.open();
    await settled();
    expect(answersTo(client, 1)).toEqual([]);
  });

  it("C38: no response is written even if the handler finishes in the very moment", async () => {
    const finished: string[] = [];
    const server = createServer({
      name: "s",
      version: "1",
      tools: {
        obedient: tool({
          run: (_, { signal }) =>
            new Promise((resolve) => {
              signal.addEventListener("abort", () => resolve("stopped"));
            }).finally(() => finished.push("obedient")),
        }),
        quick: tool({
          run: () => {
            finished.push("quick");
            return "done";
          },
        }),
      },
    });
    const { client, settled } = await serveLegacy(server);
    const cancel = (requestId: number) => notification("notifications/cancelled", { requestId });
    client.say(call(1, "obedient"), cancel(1));
    client.say(call(2, "quick"), cancel(2));
    await settled();
    expect(finished.sort()).toEqual(["obedient", "quick"]);
    expect(idsOf(client)).toEqual([]);
  });

  it("comes to nothing when it comes before the call", async () => {
    const { server } = busy();
    const { client } = await serveLegacy(server);
    client.say(notification("notifications/cancelled", { requestId: 1 }), call(1, "quick"));
    expect(await client.next()).toMatchObject({ id: 1, result: {} });
  });

  it("C39: what a handler that ignores the signal comes up with is discarded", async () => {
    const { server, hold } = busy();
    const { client, settled } = await serveLegacy(server);
    client.say(call(1, "hold"));
    client.notify("notifications/cancelled", { requestId: 1 });
    await settled();
    hold.open();
    await settled();
    expect(answersTo(client, 1)).toEqual([]);
    client.say(call(1, "quick"));
    await settled();
    expect(answersTo(client, 1)).toHaveLength(1);
  });

  it.each([99, "1", null, {}, undefined])("of %j has no effect", async (requestId) => {
    const { server, hold } = busy();
    const { client, settled } = await serveLegacy(server);
    client.say(call(1, "hold"));
    client.notify("notifications/cancelled", { requestId } as JsonObject);
    await settled();
    hold.open();
    await settled();
    expect(answersTo(client, 1)).toHaveLength(1);
  });
});

describe("both eras on one channel", () => {
  it("do not leak into each other", async () => {
    const capable = { elicitation: { form: {} } };
    const seen: unknown[] = [];
    const server = createServer({
      name: "both",
      version: "1",
      logging: true,
      tools: {
        who: tool({
          run: (_, ctx) => {
            ctx.log("error", "hey");
            seen.push([ctx.client.revision, ctx.client.info?.name, ctx.client.capabilities]);
            return "x";
          },
        }),
      },
    });
    const { client } = await serveLegacy(server, { capabilities: capable });
    client.say(request(1, "tools/call", modern({ name: "who" })));
    const first = await client.next();
    expect(first).toMatchObject({ id: 1, result: { resultType: "complete" } });
    client.say(call(2, "who"));
    expect(await client.next()).toMatchObject({ method: "notifications/message" });
    const second = await client.next();
    expect(second).toEqual({ jsonrpc: "2.0", id: 2, result: { content: [{ type: "text", text: "x" }] } });
    expect(seen).toEqual([
      ["2026-07-28", undefined, {}],
      ["2025-11-25", "fake", capable],
    ]);
  });

  it("modern calls need no handshake, and make none", async () => {
    const { server } = busy();
    const { client } = serve(server);
    expect(await client.request("tools/call", modern({ name: "quick" }))).toHaveProperty(
      "result.resultType",
      "complete",
    );
    expect(await client.request("tools/call", { name: "quick" })).toMatchObject({ error: { code: -32600 } });
    expect(await client.request("initialize", hello("2025-06-18"))).toHaveProperty("result");
  });

  it("legacy results hold nothing modern; modern results say how they ended and how long they keep", async () => {
    const { server } = busy();
    const { client } = await serveLegacy(server);
    const methods: readonly [string, JsonObject][] = [
      ["tools/list", {}],
      ["resources/list", {}],
      ["resources/templates/list", {}],
      ["resources/read", { uri: "file:///a" }],
    ];
    for (const [method, params] of methods) {
      const legacy = JSON.stringify(await client.request(method, params));
      expect(legacy).not.toMatch(/resultType|ttlMs|cacheScope|io\.modelcontextprotocol/);
      const { result } = await client.request(method, modern(params));
      expect(result).toMatchObject({
        resultType: "complete",
        ttlMs: 0,
        cacheScope: "private",
        _meta: { [metaKeys.serverInfo]: { name: "busy", version: "1" } },
      });
    }
  });
});

describe("a client that does not read its answers", () => {
  function slow() {
    const { server, running, signals, hold } = busy();
    const client = createFakePeer();
    const clock = createManualClock();
    const room = { wait: undefined as Promise<void> | undefined };
    const channel: typeof client.channel = {
      ...client.channel,
      send(message) {
        client.channel.send(message);
        return room.wait;
      },
    };
    const serving = serveChannel(channel, server, { clock });
    return { client, clock, room, serving, running, signals, hold, settled: () => clock.advanceAsync(0) };
  }

  const quick = (id: number) => request(id, "tools/call", modern({ name: "quick" }));

  it.each<[what: string, message: (id: number) => JsonObject]>([
    ["calls", quick],
    ["lists", (id) => request(id, "tools/list", modern())],
    ["pings", (id) => request(id, "ping")],
    ["refusals", (id) => request(id, "tools/list")],
  ])("is not served any further: %s", async (_what, message) => {
    const { client, room, settled } = slow();
    const { opened, open } = gate();
    client.say(message(1), message(2), message(3));
    await settled();
    expect(client.heard).toHaveLength(3);
    room.wait = opened;
    for (let id = 4; id < 100; id++) client.say(message(id));
    await settled();
    expect(client.heard.length).toBeGreaterThan(3);
    expect(client.heard.length).toBeLessThan(10);
    room.wait = undefined;
    open();
    await settled();
    expect(client.heard).toHaveLength(99);
  });

  it("is still heard when it cancels, as long as nothing else comes first", async () => {
    const { client, room, settled, signals } = slow();
    client.say(request(1, "tools/call", modern({ name: "hold" })), quick(2));
    await settled();
    room.wait = gate().opened;
    client.say(quick(3));
    await settled();
    client.notify("notifications/cancelled", { requestId: 1 });
    await settled();
    expect(signals).toMatchObject([{ aborted: true }]);
  });

  it("is not served when it has been closed meanwhile", async () => {
    const { client, room, settled, serving, running } = slow();
    const { opened, open } = gate();
    room.wait = opened;
    client.say(quick(1));
    await settled();
    client.say(request(2, "tools/call", modern({ name: "hold" })));
    await settled();
    void serving.close();
    open();
    await serving.ended;
    expect(running).toEqual([]);
  });
});

describe("results that are no JSON", () => {
  it.each(["x/bigint", "x/circle"])("%s gets an error, and the connection lives", async (method) => {
    const { server } = busy();
    const { client } = await serveLegacy(server);
    expect(await client.request(method)).toMatchObject({ error: { code: -32603 } });
    expect(await client.request(method, modern())).toMatchObject({ error: { code: -32603 } });
    expect(await client.request("tools/call", { name: "quick" })).toHaveProperty("result");
  });
});

describe("the end", () => {
  it("comes at once for a server that is defined badly, and says why", async () => {
    const input = { type: "object", properties: { a: { pattern: "(a+)+$" } } } as const;
    const tools = { slow: tool({ input, run: () => "ran" }) };
    const { client, serving } = serve(createServer({ name: "s", version: "1", tools }));
    const greeted = client.request("initialize", hello("2025-11-25"));
    const message = expect.stringMatching(
      /^tool slow: input is not a usable schema: #\/properties\/a\/pattern cannot be used/,
    );
    expect(await serving.ended).toMatchObject({ code: "invalid-definition", message });
    expect(await greeted).toMatchObject({ error: { code: -32603, message } });
  });

  it("does not come for a service that does not say what it is", async () => {
    const { server } = busy();
    const shy: Service = (call) => (call.method === "server/discover" ? Promise.reject(new Error()) : server(call));
    const { client } = serve(shy);
    expect(await client.request("tools/call", modern({ name: "quick" }))).toMatchObject({ result: {} });
  });

  it("lets open calls finish when the client hangs up", async () => {
    const { server, hold, signals } = busy();
    const { client, serving, settled } = await serveLegacy(server);
    client.say(call(1, "hold"));
    client.end();
    await settled();
    expect(signals).toMatchObject([{ aborted: false }]);
    hold.open();
    expect(await serving.ended).toBeUndefined();
    expect(answersTo(client, 1)).toMatchObject([{ result: {} }]);
  });

  it.each([
    [{}, 5_000],
    [{ drainMs: 200 }, 200],
  ])("gives them, with %j, %i ms and then an error", async (options, ms) => {
    const { server, signals } = busy();
    const { client, serving, clock } = await serveLegacy(server, options);
    client.say(call(1, "hold"));
    client.end();
    await clock.advanceAsync(ms - 1);
    expect(answersTo(client, 1)).toEqual([]);
    await clock.advanceAsync(1);
    await serving.ended;
    expect(signals).toMatchObject([{ aborted: true }]);
    expect(answersTo(client, 1)).toMatchObject([{ error: { code: -32603, message: "the connection is closing" } }]);
  });

  it("drain answers what is open, refuses what comes, then closes", async () => {
    const { server, hold } = busy();
    const { client, serving, settled } = await serveLegacy(server);
    client.say(call(1, "hold"));
    await settled();
    const drained = serving.drain();
    client.say(call(2, "quick"));
    await settled();
    expect(answersTo(client, 2)).toMatchObject([{ error: { code: -32603 } }]);
    hold.open();
    await drained;
    expect(answersTo(client, 1)).toMatchObject([{ result: {} }]);
    expect(await serving.ended).toBeUndefined();
  });

  it("C41: close aborts what is open, answers it with an error, and takes no more", async () => {
    const { server, signals, running } = busy();
    const { client, serving, settled } = await serveLegacy(server, { budgets: { connection: { maxRunningCalls: 1 } } });
    client.say(call(1, "hold", { n: 1 }), call(2, "hold", { n: 2 }));
    await settled();
    await serving.close();
    await serving.ended;
    expect(signals).toMatchObject([{ aborted: true }]);
    expect(running).toEqual([1]);
    for (const id of [1, 2]) expect(answersTo(client, id)).toMatchObject([{ error: { code: -32603 } }]);
  });

  it("C153: close may be repeated, mixed with drain, and never throws", async () => {
    const { server } = busy();
    const { client, serving } = await serveLegacy(server);
    client.say(call(1, "hold"));
    await Promise.all([serving.drain(), serving.close(), serving.close(), serving.drain()]);
    expect(await serving.ended).toBeUndefined();
    await expect(serving.close()).resolves.toBeUndefined();
  });

  it("C153: close may be called from inside a handler", async () => {
    const server = createServer({
      name: "s",
      version: "1",
      tools: { quit: tool({ run: () => serving.close().then(() => "closed") }) },
    });
    const { client, serving } = await serveLegacy(server);
    client.say(call(1, "quit"));
    expect(await serving.ended).toBeUndefined();
    expect(answersTo(client, 1)).toHaveLength(1);
  });

  it("aborts what is open when the channel breaks, and says why it ended", async () => {
    const { server, signals } = busy();
    const { client, serving, settled } = await serveLegacy(server);
    client.say(call(1, "hold"));
    await settled();
    const broken = new Error("the cable is cut");
    client.fail(broken);
    expect(await serving.ended).toBe(broken);
    expect(signals).toMatchObject([{ aborted: true }]);
  });

  it("counts what it dropped", async () => {
    const { server } = busy();
    const { client, serving, settled } = await serveLegacy(server);
    client.say("rubbish", { jsonrpc: "2.0", id: 99, result: {} });
    await settled();
    expect(serving.counters).toEqual({ strayReplies: 1, malformed: 1 });
  });

  it("leaves no timer behind", async () => {
    const { server } = busy();
    const { client, serving, clock } = await serveLegacy(server);
    await client.request("tools/call", { name: "quick" });
    client.end();
    await serving.ended;
    expect(clock.pending).toBe(0);
  });
});

function parse(message: JsonObject) {
  return parseText(JSON.stringify(message));
}
