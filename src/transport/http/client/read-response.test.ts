import { describe, expect, it } from "vitest";
import { httpModern } from "../../../../test/support/http-connected.ts";
import type { McpError } from "../../../protocol/errors.ts";
import { clientLimits } from "../../../protocol/limits.ts";
import type { HttpClientOptions } from "./open-http.ts";

/** How a call ends that was answered like this. */
async function ending(
  answer: (request: Awaited<ReturnType<Awaited<ReturnType<typeof httpModern>>["http"]["expect"]>>) => void,
  options: Partial<HttpClientOptions> = {},
): Promise<McpError> {
  const { client, http } = await httpModern({}, options);
  const result = client.callTool("a").then(
    () => {
      throw new Error("it succeeded");
    },
    (error: McpError) => error,
  );
  answer(await http.expect("tools/call"));
  return result;
}

const json = { "content-type": "application/json" };
const ok = { jsonrpc: "2.0", id: 2, result: { content: [] } };

describe("C122: a request that is not answered", () => {
  it.each([
    [400, "400 Bad Request"],
    [404, "404 Not Found"],
    [405, "405 Method Not Allowed"],
    [408, "408 Request Timeout"],
    [413, "413 Content Too Large"],
    [418, "418"],
    [500, "500 Internal Server Error"],
    [502, "502 Bad Gateway"],
    [599, "599"],
  ])("but with status %i, fails with it", async (status, name) => {
    expect(await ending((request) => request.reply(status, {}, "<html>"))).toMatchObject({
      code: "http-error",
      message: expect.stringContaining(`failed: the server answered ${name}`),
      data: { status },
    });
  });

  it.each([
    ["7", { retryAfterMs: 7_000 }],
    ["soon", {}],
  ])("but with 503 and Retry-After %s, fails with the status, the URL, and how long to wait", async (value, wait) => {
    const headers = { "retry-after": value, "content-type": "text/html; charset=utf-8" };
    const error = await ending((request) => request.reply(503, headers));
    expect(error.data).toEqual({
      status: 503,
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:3000\/mcp\/\d+$/),
      contentType: "text/html",
      ...wait,
    });
  });

  it("but with 429 and a date, fails with the time until then (C112)", async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const { code, data } = await ending((request) => request.reply(429, { "retry-after": date }));
    expect(code).toBe("limit-reached");
    expect((data as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(50_000);
  });

  it("but with 429, is over a limit of the server, whoever says so (C112)", async () => {
    expect(await ending((request) => request.reply(429, { "retry-after": "7" }, "<html>"))).toMatchObject({
      code: "limit-reached",
      message: expect.stringMatching(/the server answered 429 Too Many Requests; retry in 7 s$/),
      data: { status: 429, retryAfterMs: 7_000 },
    });
    expect(await ending((request) => request.error(-32600, "too many sessions", { status: 429 }))).toMatchObject({
      code: "limit-reached",
      message: expect.stringMatching(/the server answered 429 Too Many Requests: "too many sessions"; retry later$/),
      data: { status: 429 },
    });
  });

  it.each([429, 503])(
    "but with %i and an error that says when to retry, fails with that error (C112)",
    async (status) => {
      const data = { reason: "limit-reached", retryAfterMs: 1_500 };
      const error = await ending((request) => request.error(-32603, "slow down", { status, data }));
      expect(error).toMatchObject({ code: "limit-reached", message: "slow down", data });
    },
  );

  it("but with 401, fails with the challenge", async () => {
    const challenge = 'Bearer resource_metadata="https://x.example/"';
    const error = await ending((request) => request.reply(401, { "www-authenticate": challenge }));
    expect(error).toMatchObject({ code: "unauthorized", data: { status: 401, challenge } });
  });

  it.each([401, 403, 503])(
    "but with %i and a JSON-RPC error, fails with the status, and says the error",
    async (status) => {
      expect(await ending((request) => request.error(-32001, "no token", { status }))).toMatchObject({
        code: status === 401 ? "unauthorized" : "http-error",
        message: expect.stringMatching(status === 401 ? /: "no token"; sign in with / : /: "no token"$/),
        data: { status },
      });
    },
  );

  it.each([
    ["with its id", {}],
    ["without an id", { id: null }],
  ] as const)("but with a JSON-RPC error %s, fails with that error", async (_what, options) => {
    const error = await ending((request) => request.error(-32602, "bad cursor", { status: 400, ...options }));
    expect(error).toMatchObject({ code: "invalid-params", message: "bad cursor" });
  });

  it("but with a JSON-RPC error in a body without an id at all, fails with that error", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", error: { code: -32601, message: "what?" } });
    expect(await ending((request) => request.reply(404, json, body))).toMatchObject({ code: "method-not-found" });
  });

  it.each<[what: string, answer: readonly [number, Record<string, string>, string], message: RegExp]>([
    ["a page", [200, { "content-type": "text/html" }, "<html>"], /with a body of type "text\/html"/],
    ["no type", [200, {}, JSON.stringify(ok)], /with a body of type \(none\)/],
    ["nothing", [200, json, ""], /200 OK with an empty body/],
    ["nothing, accepted", [202, {}, ""], /202 Accepted/],
    ["no JSON", [200, json, '{"jsonrpc":'], /with something else/],
    [
      "JSON that is nested too deeply",
      [200, json, "[".repeat(100) + "]".repeat(100)],
      /with something else \(parse error: .*64.*\)/,
    ],
    ["the answer to another request", [200, json, JSON.stringify({ ...ok, id: 99 })], /with something else/],
    ["its id as a text", [200, json, JSON.stringify({ ...ok, id: "2" })], /with something else/],
    ["a request", [200, json, JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" })], /with something else/],
  ])("but with %s, fails", async (_what, answer, message) => {
    const error = await ending((request) => request.reply(...answer));
    expect(error).toMatchObject({ code: "invalid-response", message: expect.stringMatching(message) });
  });

  it.each([
    ["ECONNREFUSED", "no answer from http://127.0.0.1:3000: the connection was refused"],
    ["ENOTFOUND", "no answer from http://127.0.0.1:3000: no such host"],
    ["EWHATEVER", "no answer from http://127.0.0.1:3000: EWHATEVER"],
  ])("because of %s, fails with the origin and the reason", async (code, message) => {
    const error = await ending((request) => request.fail(Object.assign(new Error("secret?"), { code })));
    expect(error).toMatchObject({ code: "connection-closed", message: expect.stringContaining(message) });
  });

  it("because it is too long, fails", async () => {
    const body = JSON.stringify({ ...ok, result: { content: [], pad: "x".repeat(1_000) } });
    const error = await ending((request) => request.reply(200, json, body), {
      limits: { ...clientLimits, maxMessageBytes: 1_000 },
    });
    expect(error).toMatchObject({
      code: "limit-reached",
      message: expect.stringContaining("the response is longer than 1000 bytes (maxMessageBytes)"),
    });
  });

  it("because an event is too long, fails, and the stream is let go of", async () => {
    const error = await ending((request) => request.stream().raw(`data: ${"x".repeat(2_000)}`), {
      limits: { ...clientLimits, maxMessageBytes: 1_000 },
    });
    expect(error).toMatchObject({
      code: "limit-reached",
      message: expect.stringContaining("an event is longer than 1000 bytes (maxMessageBytes)"),
    });
  });

  it("because its stream ends, fails", async () => {
    const error = await ending((request) => request.stream().end());
    expect(error).toMatchObject({
      code: "connection-closed",
      message: expect.stringContaining("the stream ended before the response to tools/call"),
    });
  });

  it("because its stream breaks, fails", async () => {
    const error = await ending((request) => request.stream().break());
    expect(error).toMatchObject({ code: "connection-closed", message: expect.stringContaining("reset") });
  });

  it("but with a broken answer on its stream, fails", async () => {
    const error = await ending((request) => request.stream().say({ jsonrpc: "2.0", id: request.id, result: 7 }));
    expect(error).toMatchObject({ code: "invalid-response" });
  });
});

describe("what is not part of an answer", () => {
  it("is skipped on a stream", async () => {
    const { client, http } = await httpModern();
    const result = client.callTool("a");
    const request = await http.expect("tools/call");
    const stream = request.stream({ "content-type": "Text/Event-Stream; charset=utf-8" });
    stream.raw(": comment\n\nid: 1\ndata:\n\nevent: ping\ndata: {}\n\ndata: no json\n\n");
    stream.raw(
      `data: {"jsonrpc":"2.0",\r\ndata: "id":${request.id},\r\ndata: "result":{"resultType":"complete","content":[]}}\r\n\r\n`,
    );
    expect(await result).toEqual({ content: [] });
  });

  it("leaves a body that is not too long alone when the limit is off", async () => {
    const { client, http } = await httpModern(
      {},
      { limits: { ...clientLimits, maxMessageBytes: Number.POSITIVE_INFINITY } },
    );
    const result = client.callTool("a");
    const request = await http.expect("tools/call");
    request.result({ resultType: "complete", content: [{ type: "text", text: "x".repeat(100_000) }] });
    expect((await result).content).toHaveLength(1);
  });
});
