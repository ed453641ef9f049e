import { describe, expect, it, vi } from "vitest";
import { callOf, messagesOf, serveFake } from "../../../test/support/fake-endpoint.ts";
import { createHttpService } from "../../../test/support/http-service.ts";
import { eventually } from "../../../test/support/patience.ts";
import { hello, notification, request } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Service } from "../../protocol/service.ts";
import { createServer, tool } from "../../server/index.ts";
import type { HttpOptions } from "../../transport/http/options.ts";

const serve = (options: HttpOptions = {}) => {
  const service = createHttpService();
  return { ...service, ...serveFake(service.server, { sessions: false, ...options }) };
};

const refused = (message: string) => ({ jsonrpc: "2.0", error: { code: -32600, message } });

describe("older clients without sessions", () => {
  it("are greeted without an id, and are promised nothing that needs one", async () => {
    const reply = serve().post(request(0, "initialize", hello("2025-06-18")));
    await reply.begun;
    expect(reply.sent).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
    expect(reply.sent?.headers).not.toHaveProperty("mcp-session-id");
    expect(messagesOf(reply)).toMatchObject([{ id: 0, result: { protocolVersion: "2025-06-18" } }]);
    const [{ result }] = messagesOf(reply) as unknown as [{ result: { capabilities: JsonObject } }];
    expect(result.capabilities).toEqual({ tools: {}, resources: {} });
  });

  it("are told nothing of a service that does not say what it is", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const service: Service = async () => {
      throw new Error("secret");
    };
    const reply = serveFake(service, { sessions: false }).post(request(0, "initialize", hello("2025-06-18")));
    await reply.begun;
    expect(messagesOf(reply)).toEqual([{ jsonrpc: "2.0", id: 0, error: { code: -32603, message: "internal error" } }]);
    error.mockRestore();
  });

  it.each<readonly [string, unknown, JsonObject]>([
    ["ping", request(1, "ping"), { id: 1, result: {} }],
    ["a call", callOf(1, "echo", { text: "x" }), { id: 1, result: { content: [{ type: "text", text: "x" }] } }],
  ])("get %s answered at once, whatever session they name", async (_, message, expected) => {
    const reply = serve().post(message, { "mcp-session-id": "of another process" });
    await reply.begun;
    expect(reply.sent?.status).toBe(200);
    expect(messagesOf(reply)).toEqual([{ jsonrpc: "2.0", ...expected }]);
  });

  it("speak 2025-03-26 unless they say otherwise", async () => {
    const seen: string[] = [];
    const { server } = createHttpService();
    const service: Service = (call) => {
      if (call.method === "tools/list") seen.push(call.peer.revision);
      return server(call);
    };
    const { post } = serveFake(service, { sessions: false });
    const replies = [
      post(request(1, "tools/list")),
      post(request(2, "tools/list"), { "mcp-protocol-version": "2025-11-25" }),
    ];
    await Promise.all(replies.map(({ begun }) => begun));
    expect(seen).toEqual(["2025-03-26", "2025-11-25"]);
  });

  it("hear of progress while they wait", async () => {
    const go = tool({
      run: (_, { progress }) => {
        progress(1, 2);
        return "gone";
      },
    });
    const { post } = serveFake(createServer({ name: "s", version: "1", tools: { go } }), { sessions: false });
    const reply = post(request(1, "tools/call", { name: "go", arguments: {}, _meta: { progressToken: "t" } }));
    await reply.begun;
    await eventually(() => expect(reply.sink?.state).toBe("ended"));
    expect(messagesOf(reply)).toMatchObject([
      { method: "notifications/progress", params: { progressToken: "t", progress: 1 } },
      { id: 1, result: { content: [{ text: "gone" }] } },
    ]);
  });

  it.each(["no/such", "logging/setLevel", "resources/subscribe"])(
    "get a plain error for %s, with 200",
    async (method) => {
      const reply = serve().post(request(1, method));
      await reply.begun;
      expect(reply.sent?.status).toBe(200);
      expect(messagesOf(reply)).toMatchObject([{ id: 1, error: { code: -32601 } }]);
    },
  );

  it("are asked nothing", async () => {
    const reply = serve().post(callOf(1, "ask", { text: "?" }));
    await reply.begun;
    expect(reply.sent?.status).toBe(200);
    expect(messagesOf(reply)).toMatchObject([{ id: 1 }]);
    expect(messagesOf(reply)[0]).not.toHaveProperty("method");
  });

  it.each<readonly [string, unknown, number, object | undefined]>([
    ["a notification", notification("notifications/initialized"), 202, undefined],
    ["an answer", { jsonrpc: "2.0", id: 1, result: {} }, 202, undefined],
    ["a batch", [request(1, "ping")], 400, refused("batches are not supported; send one message a request")],
  ])("may send %s", (_, message, status, body) => {
    const reply = serve().post(message);
    expect(reply.sent?.status).toBe(status);
    expect(messagesOf(reply)).toEqual(body === undefined ? [] : [body]);
  });

  it.each([
    ["GET", "there are no sessions, and so no streams"],
    ["DELETE", "there are no sessions"],
  ])("have no use for %s", (method, message) => {
    const reply = serve().request(method, "");
    expect(reply.sent).toMatchObject({ status: 405, headers: { allow: "POST, OPTIONS" } });
    expect(messagesOf(reply)).toEqual([refused(message)]);
  });

  it("edge 12: do not cancel by leaving", async () => {
    const { post, holding, held, settled } = serve();
    const reply = post(callOf(1, "hold"));
    await holding(1);
    reply.leave();
    await settled();
    expect(held[0]?.aborted).toBe(false);
  });
});

describe("their calls", () => {
  it("run only so many at once, wait only so many, and are refused with 429 beyond that", async () => {
    const { post, holding, held, release, settled } = serve({
      budgets: { principal: { maxRunningCalls: 2, maxQueuedCalls: 1 } },
    });
    const replies = [1, 2, 3].map((id) => post(callOf(id, "hold")));
    await holding(2);
    await settled();
    expect(held.length).toBe(2);
    const refusal = post(callOf(4, "hold"));
    expect(refusal.sent).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    expect(messagesOf(refusal)).toEqual([
      expect.objectContaining({
        error: expect.objectContaining({ data: expect.objectContaining({ limit: "maxQueuedCalls", max: 1 }) }),
      }),
    ]);
    expect(messagesOf(post(request(5, "ping")))).toEqual([{ jsonrpc: "2.0", id: 5, result: {} }]);
    release();
    await Promise.all(replies.map(({ begun }) => begun));
    expect(replies.map(({ sent }) => sent?.status)).toEqual([200, 200, 200]);
  });

  it("are answered before the server closes", async () => {
    const { post, holding, release, endpoint } = serve();
    const reply = post(callOf(1, "hold"));
    await holding(1);
    const closed = endpoint.close();
    release();
    await closed;
    expect(messagesOf(reply)).toMatchObject([{ id: 1, result: { content: [{ text: "held" }] } }]);
  });

  it("are ended with an error when they take too long for that", async () => {
    const { post, holding, endpoint, clock, held } = serve({ drainMs: 1_000 });
    const reply = post(callOf(1, "hold"));
    await holding(1);
    const closed = endpoint.close();
    await clock.advanceAsync(1_000);
    await closed;
    expect(messagesOf(reply)).toMatchObject([{ id: 1, error: { code: -32603 } }]);
    expect(held[0]?.aborted).toBe(true);
  });
});
