import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { faultLog, send, sendAny } from "../../test/support/direct.ts";
import { callOf, serveFake } from "../../test/support/fake-endpoint.ts";
import { connect } from "../connect/connect.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { rateLimit } from "../middleware/rate-limit.ts";
import { McpError, toolError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/server-event.ts";
import { createCall, type Middleware, type Outcome, type Service, withMiddleware } from "../protocol/service.ts";
import type { CallEnding, Telemetry } from "../protocol/telemetry.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createManualClock } from "../testing/clock.ts";
import { createMemoryChannels } from "../transport/memory-channels.ts";
import { serveChannel } from "../transport/serve-channel.ts";
import { jsonLines } from "./json-lines.ts";
import type { ServerOptions } from "./options.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const secret = "hunter2-secret";

function shop(options: Partial<ServerOptions> = {}) {
  const clock = createManualClock();
  const events: ServerEvent[] = [];
  const ids: string[] = [];
  const server = createServer({
    name: "shop",
    version: "1",
    clock: Object.assign(clock, { date: () => Date.UTC(2026, 10, 18) }),
    onError: () => {},
    onEvent: (event) => events.push(event),
    tools: {
      buy: tool({
        run: (_, ctx) => {
          ids.push(ctx.requestId);
          clock.advance(7);
          return "bought";
        },
      }),
      sold: tool({ run: () => Promise.reject(toolError(`sold to ${secret}`)) }),
      broken: tool({
        run: (_, ctx) => {
          ids.push(ctx.requestId);
          throw new Error(secret);
        },
      }),
      full: tool({ run: () => Promise.reject(new McpError("denied", "no")) }),
      admin: tool({ scopes: ["admin"], run: () => "done" }),
      ask: tool({ run: async (_, ctx) => void (await ctx.ask("Sure?")) }),
    },
    prompts: { hello: prompt({ get: () => "Hello" }) },
    resources: [resource("doc://u:p@a/b", { read: () => ({ text: "abc" }) })],
    ...options,
  });
  return { server, events, ids, clock };
}

describe("onEvent", () => {
  it("hears of each call once: who, what, how it ended and how long it took", async () => {
    const { server, events, ids } = shop();
    const peer = {
      revision: "2026-07-28",
      capabilities: {},
      info: { name: "cli", version: "3" },
      auth: { principal: "ann" },
    } as const;
    await send(server, "tools/call", { name: "buy", arguments: { card: secret } }, { peer });
    expect(events).toEqual([
      {
        kind: "call",
        time: "2026-11-18T00:00:00.000Z",
        requestId: ids[0],
        principal: "ann",
        client: "cli 3",
        revision: "2026-07-28",
        method: "tools/call",
        name: "buy",
        outcome: "complete",
        durationMs: 7,
        resultChars: 6,
      },
    ]);
  });

  it.each([
    ["sold", { kind: "call", outcome: "tool-error", code: "tool-error" }],
    ["broken", { kind: "call", outcome: "tool-error", code: "tool-error" }],
    ["ask", { kind: "call", outcome: "input-required" }],
    ["nothing", { kind: "call", outcome: "failed", code: "invalid-params" }],
    ["admin", { kind: "refused", code: "forbidden" }],
    ["full", { kind: "refused", code: "denied" }],
  ])("tells how a call of %s ended", async (name, event) => {
    const { server, events } = shop();
    await send(server, "tools/call", { name, arguments: { card: secret } });
    expect(events).toMatchObject([{ ...event, method: "tools/call", name }]);
    expect(JSON.stringify(events)).not.toContain(secret);
  });

  it("names resources without what may be secret, and tells how much was read", async () => {
    const { server, events } = shop();
    await send(server, "resources/read", { uri: `doc://u:p@a/b?token=${secret}` });
    await send(server, "resources/read", { uri: "doc://u:p@a/b" });
    await send(server, "prompts/get", { name: "hello" });
    expect(events).toMatchObject([
      { name: "doc://a/b", outcome: "failed", code: "resource-not-found" },
      { name: "doc://a/b", outcome: "complete", resultChars: 3 },
      { name: "hello", outcome: "complete", resultChars: 5 },
    ]);
  });

  it("cuts what callers make up", async () => {
    const { server, events } = shop();
    const long = "x".repeat(100_000);
    await send(server, "tools/call", { name: long });
    await sendAny(server, long);
    expect(JSON.stringify(events).length).toBeLessThan(1_000);
  });

  it("tells of a call over HTTP where it came from", async () => {
    const { server, events, clock } = shop();
    const { open, post } = serveFake(server, { clock });
    const session = await open();
    const reply = post(callOf(1, "buy"), { ...session, "content-length": "321" });
    await clock.advanceAsync(0);
    expect(reply.sent?.status).toBe(200);
    expect(events).toMatchObject([
      { method: "initialize", revision: "2025-11-25" },
      { method: "tools/call", name: "buy", requestBytes: 321 },
    ]);
    expect(JSON.stringify(events)).not.toContain(session["mcp-session-id"]);
  });

  it.each(["option", "withMiddleware"])("hears once of what a rate limit refuses that is put on by %s", async (way) => {
    const limit = rateLimit({ limit: 1, windowMs: 60_000 });
    const others: string[] = [];
    const outer: Middleware = (next) => (call) => {
      others.push(call.method);
      return next(call);
    };
    const { server, events } = shop(way === "option" ? { middleware: [outer, limit] } : {});
    const limited = way === "option" ? server : withMiddleware(withMiddleware(server, limit), outer);
    await send(limited, "tools/call", { name: "buy" });
    await send(limited, "tools/call", { name: "buy" });
    expect(events).toMatchObject([
      { kind: "call", outcome: "complete", name: "buy" },
      { kind: "refused", code: "limit-reached", name: "buy" },
    ]);
    expect(others).toHaveLength(2);
    expect(limited.info).toBe(server.info);
  });

  it("that throws is reported, and the call goes on", async () => {
    const { server } = shop({
      onEvent() {
        throw new Error("full disk");
      },
    });
    await expect(send(server, "tools/call", { name: "buy" })).resolves.toMatchObject({ kind: "complete" });
  });

  it("is a member of the server, for who serves it", () => {
    const onEvent = (): void => {};
    expect(shop({ onEvent }).server.onEvent).toBe(onEvent);
  });
});

describe("jsonLines", () => {
  it("writes one line for each event, whatever is in it", () => {
    const stream = new PassThrough();
    const write = jsonLines(stream);
    write({ kind: "refused", time: "t", code: "forbidden", principal: "ann\nbob", method: "tools/call" });
    write({ kind: "call", time: "t", outcome: "complete", durationMs: 1 });
    const lines = String(stream.read()).split("\n");
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ principal: "ann\nbob" });
  });
});

describe("ctx.requestId", () => {
  it("is the id of the masked error, of the event and of what onError hears", async () => {
    const { faults, onError } = faultLog();
    const { server, events, ids } = shop({ onError });
    const outcome = await send(server, "tools/call", { name: "broken" });
    expect(outcome).toMatchObject({ result: { content: [{ text: `internal error, id ${ids[0]}` }] } });
    expect(faults).toMatchObject([[{ message: secret }, { id: ids[0] }]]);
    expect(events).toMatchObject([{ requestId: ids[0] }]);
  });

  it("is unique for each call, and the same for its copies", async () => {
    const again =
      (next: Service): Service =>
      (call) =>
        next({ ...call });
    const { server, events, ids } = shop({ middleware: [again as never] });
    await send(server, "tools/call", { name: "buy" });
    await send(server, "tools/call", { name: "buy" });
    expect(new Set(ids).size).toBe(2);
    expect(events.map(({ requestId }) => requestId)).toEqual(ids);
  });
});

describe("what a handler throws", () => {
  const seen: Outcome[] = [];
  const watching = {
    middleware: [
      (next: Service) => async (call: Parameters<Service>[0]) => {
        const outcome = await next(call);
        seen.push(outcome);
        return outcome;
      },
    ] as never,
  };

  it("is what middleware and telemetry see as the cause, whether a tool or another method threw it", async () => {
    const endings: CallEnding[] = [];
    const telemetry: Telemetry = { startCall: () => ({ end: (ending) => void endings.push(ending) }) };
    const error = new Error(secret);
    const { server } = shop({
      ...watching,
      telemetry,
      prompts: {
        bad: prompt({
          get: () => {
            throw error;
          },
        }),
      },
    });
    seen.length = 0;
    await send(server, "tools/call", { name: "broken" });
    await send(server, "prompts/get", { name: "bad" });
    expect(seen).toMatchObject([
      { kind: "complete", cause: { message: secret } },
      { kind: "failed", cause: error },
    ]);
    expect(endings.map(({ error: thrown }) => thrown)).toEqual([expect.any(Error), error]);
  });

  it.each(["2026-07-28", "2025-06-18"] as const)("never crosses the wire of %s", async (revision) => {
    const { server } = shop(watching);
    const [here, there] = createMemoryChannels();
    const texts: string[] = [];
    const listened: Channel = {
      ...there,
      send(message) {
        texts.push(JSON.stringify(message));
        return there.send(message);
      },
    };
    const serving = serveChannel(listened, server);
    await using client = await connect(here, { revision });
    seen.length = 0;
    expect(await client.callTool("broken")).toMatchObject({ isError: true });
    expect(seen).toMatchObject([{ cause: { message: secret } }]);
    expect(texts.join()).not.toContain(secret);
    await serving.close();
  });

  it("is not kept in a store", async () => {
    const store = memoryStore();
    const { server } = shop({ ...watching, store });
    const meta = { "plugbay/key": "order 1" };
    const abort = new LazyAbort();
    const peer = { revision: "2026-07-28", capabilities: {} } as const;
    const params = { name: "broken" };
    const call = () => createCall({ method: "tools/call", params, peer, meta, abort, notify: () => undefined });
    seen.length = 0;
    const first = await server(call());
    const again = await server(call());
    expect(first).toMatchObject({ kind: "complete", cause: { message: secret } });
    expect(again).toEqual({ kind: "complete", result: first.kind === "complete" && first.result });
  });
});
