import { describe, expect, it, vi } from "vitest";
import { welcome } from "../../../test/support/connected.ts";
import { httpConnecting } from "../../../test/support/http-connected.ts";
import type { ConnectOptions } from "../../connect/connect-options.ts";
import { clientLimits, type MessageLimits } from "../../protocol/limits.ts";

const text = (said: string) => ({ content: [{ type: "text", text: said }] });

/** A client of a server that speaks HTTP+SSE. */
async function sse(options: ConnectOptions = {}, limits?: MessageLimits) {
  const connecting = httpConnecting(options, { transport: "sse", limits, headers: { authorization: "x" } });
  const { http } = connecting;
  const stream = (await http.expect("GET")).stream();
  stream.raw("event: endpoint\ndata: post?session=1\n\n");
  const hello = await http.expect("initialize");
  hello.reply(202);
  stream.say({ jsonrpc: "2.0", id: hello.id, result: welcome("2024-11-05") });
  (await http.expect("notifications/initialized")).reply(202);
  return { ...connecting, stream, client: await connecting.client };
}

describe("a server that speaks HTTP+SSE", () => {
  it("is asked nothing else when it is known", async () => {
    const { http } = await sse();
    expect(http.said()).toEqual(["GET", "initialize", "notifications/initialized"]);
    expect(http.requests.map(({ headers }) => headers.authorization)).toEqual(["x", "x", "x"]);
  });

  it("is POSTed to where it says, and answers over its stream", async () => {
    const { http, client, stream, url } = await sse();
    const onProgress = vi.fn();
    const result = client.callTool("a", {}, { onProgress });
    const request = await http.expect("tools/call");
    expect(request.url).toEqual(new URL("post?session=1", url));
    request.reply(202, {}, "Accepted");
    stream.say({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: request.id, progress: 1 },
    });
    stream.say({ jsonrpc: "2.0", id: request.id, result: text("A") });
    expect(await result).toMatchObject(text("A"));
    expect(onProgress).toHaveBeenCalledOnce();
  });

  it("fails a call at once whose response has both a result and an error (B6)", async () => {
    const { http, client, stream } = await sse();
    const result = client.callTool("a");
    result.catch(() => {});
    const request = await http.expect("tools/call");
    request.reply(202);
    stream.say({ jsonrpc: "2.0", id: request.id, result: text("A"), error: { code: 1, message: "?" } });
    await expect(result).rejects.toMatchObject({
      code: "invalid-response",
      message: expect.stringContaining(
        'the response to tools/call is malformed: "result" and "error" exclude each other',
      ),
    });
  });

  it("is answered by POST", async () => {
    const { http, stream } = await sse();
    stream.say({ jsonrpc: "2.0", id: 5, method: "ping" });
    expect((await http.expect("POST")).message).toEqual({ jsonrpc: "2.0", id: 5, result: {} });
  });

  it.each(["https://127.0.0.1:3000/x", "http://127.0.0.1:3001/x", "//evil.example/x", "http://["])(
    "is refused when it wants messages at %s",
    async (place) => {
      const { http, client } = httpConnecting({}, { transport: "sse" });
      (await http.expect("GET")).stream().raw(`event: endpoint\ndata: ${place}\n\n`);
      await expect(client).rejects.toMatchObject({ code: "invalid-response" });
      expect(http.said()).toEqual(["GET"]);
    },
  );

  it.each([
    [404, "http-error"],
    [200, "invalid-response"],
  ])("is not there when the stream is answered with %i", async (status, code) => {
    const { http, client } = httpConnecting({}, { transport: "sse" });
    (await http.expect("GET")).reply(status, { "content-type": "text/html" });
    await expect(client).rejects.toMatchObject({ code });
  });

  it("that never says where to POST, is given up in time", async () => {
    const { http, client, clock } = httpConnecting({ connectTimeoutMs: 1_000 }, { transport: "sse" });
    const stream = (await http.expect("GET")).stream();
    await clock.advanceAsync(1_000);
    await expect(client).rejects.toMatchObject({ code: "timeout" });
    expect(stream.discarded).toBe(true);
  });

  it("C122: fails a request that it does not take", async () => {
    const { http, client } = await sse();
    const results = [client.callTool("a"), client.callTool("b"), client.callTool("c")];
    for (const result of results) result.catch(() => {});
    (await http.expect("tools/call")).reply(500);
    (await http.expect("tools/call")).error(-32602, "bad", { status: 400 });
    (await http.expect("tools/call")).fail(new Error("down"));
    await expect(results[0]).rejects.toMatchObject({ code: "http-error", data: { status: 500 } });
    await expect(results[1]).rejects.toMatchObject({ code: "invalid-params", message: "bad" });
    await expect(results[2]).rejects.toMatchObject({ code: "connection-closed" });
  });

  it.each(["end", "break"] as const)("ends the connection when its stream is over: %s", async (how) => {
    const { http, client, stream } = await sse();
    const result = client.callTool("a");
    result.catch(() => {});
    (await http.expect("tools/call")).reply(202);
    stream[how]();
    await expect(result).rejects.toMatchObject({ code: "connection-closed" });
    expect(await client.closed).toMatchObject({ code: "connection-closed" });
  });

  it("ends the connection when an event is too large", async () => {
    const { client, stream } = await sse({}, { ...clientLimits, maxMessageBytes: 1_000 });
    stream.raw(`data: ${"x".repeat(2_000)}`);
    expect(await client.closed).toMatchObject({
      message: expect.stringContaining("an event is longer than 1000 bytes (maxMessageBytes)"),
    });
  });

  it("is let go of by close", async () => {
    const { http, client, stream } = await sse();
    const result = client.callTool("a");
    result.catch(() => {});
    const request = await http.expect("tools/call");
    await client.close();
    expect(await client.closed).toBeUndefined();
    expect(stream.discarded).toBe(true);
    expect(request.aborted).toBe(true);
  });
});
