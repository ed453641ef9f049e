import { describe, expect, it, vi } from "vitest";
import type { FakeHttp } from "../../../test/support/fake-http.ts";
import { httpLegacy } from "../../../test/support/http-connected.ts";

const text = (said: string) => ({ content: [{ type: "text", text: said }] });
const said = (method: string, params: object = {}) => ({ jsonrpc: "2.0", method, params }) as never;
const answer = (id: unknown, result: object) => ({ jsonrpc: "2.0", id, result }) as never;

/** A session without a stream of the server's own, so that every later GET goes on with another one. */
async function withoutServerStream() {
  const connected = await httpLegacy();
  (await connected.http.expect("GET")).reply(405);
  return connected;
}

function gets({ requests }: FakeHttp) {
  return requests.filter(({ method }) => method === "GET").slice(1);
}

describe("C118: the stream of the server", () => {
  it("is opened again after the wait the server asks for, with the last id, also of an event without data", async () => {
    const { http, clock } = await httpLegacy();
    const first = (await http.expect("GET")).stream();
    first.raw("retry: 500\n\n");
    first.say(said("notifications/tools/list_changed"), { id: "a" });
    first.raw("id: b\ndata:\n\n");
    first.end();
    await clock.advanceAsync(499);
    expect(gets(http)).toHaveLength(0);
    await clock.advanceAsync(1);
    expect(gets(http)).toMatchObject([{ headers: { "last-event-id": "b", "mcp-session-id": "s1" } }]);
    gets(http)[0]?.fail(new Error("down"));
    await clock.advanceAsync(500);
    expect(gets(http)).toHaveLength(2);
  });

  it("is opened again without an id when no event had one", async () => {
    const { http, clock } = await httpLegacy();
    (await http.expect("GET")).stream().end();
    await clock.advanceAsync(250);
    expect(gets(http)[0]?.headers).not.toHaveProperty("last-event-id");
  });

  it("waits 250 ms after an error, then twice as long each time, up to 5 s; for ever", async () => {
    const { http, clock } = await httpLegacy();
    (await http.expect("GET")).fail(new Error("down"));
    const waits: number[] = [];
    for (let last = clock.now(); waits.length < 10; ) {
      const { length } = gets(http);
      while (gets(http).length === length) await clock.advanceAsync(50);
      waits.push(clock.now() - last);
      last = clock.now();
      gets(http).at(-1)?.reply(502);
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000, 5000, 5000, 5000]);
  });

  it("waits 250 ms to 1 s after a clean end", async () => {
    const { http, clock } = await httpLegacy();
    (await http.expect("GET")).stream().end();
    const waits: number[] = [];
    for (let last = clock.now(); waits.length < 7; ) {
      const { length } = gets(http);
      while (gets(http).length === length) await clock.advanceAsync(10);
      waits.push(clock.now() - last);
      last = clock.now();
      gets(http).at(-1)?.stream().end();
    }
    expect(waits).toEqual([250, 500, 1000, 1000, 1000, 1000, 1000]);
  });

  it("is not opened more than four times a second, however the server asks for it (H11)", async () => {
    const { http, clock } = await httpLegacy();
    const again = (stream: ReturnType<Awaited<ReturnType<FakeHttp["expect"]>>["stream"]>): void => {
      stream.raw("retry: 0\n\n");
      stream.say(said("notifications/tools/list_changed"));
      stream.end();
    };
    again((await http.expect("GET")).stream());
    for (let ms = 0; ms < 3_000; ms += 10) {
      const { length } = gets(http);
      await clock.advanceAsync(10);
      for (const get of gets(http).slice(length)) again(get.stream());
    }
    expect(gets(http)).toHaveLength(12);
  });

  it("is opened ever more rarely when the server asks for no wait and brings nothing (H11)", async () => {
    const { http, clock } = await httpLegacy();
    const again = (stream: ReturnType<Awaited<ReturnType<FakeHttp["expect"]>>["stream"]>): void => {
      stream.raw("retry: 0\n\n");
      stream.end();
    };
    again((await http.expect("GET")).stream());
    for (let ms = 0; ms < 10_000; ms += 10) {
      const { length } = gets(http);
      await clock.advanceAsync(10);
      for (const get of gets(http).slice(length)) again(get.stream());
    }
    expect(gets(http).length).toBeLessThan(13);
  });

  it("starts over with short waits when it brought something", async () => {
    const { http, clock } = await httpLegacy();
    (await http.expect("GET")).fail(new Error("down"));
    await clock.advanceAsync(250);
    gets(http)[0]?.fail(new Error("down"));
    await clock.advanceAsync(500);
    const stream = gets(http)[1]?.stream();
    stream?.say(said("notifications/tools/list_changed"));
    stream?.break();
    await clock.advanceAsync(250);
    expect(gets(http)).toHaveLength(3);
  });

  it("delivers what the server repeats once, and everything in order", async () => {
    const onNotification = vi.fn();
    const { http, clock } = await httpLegacy({ onNotification });
    const event = (n: number) => [said("notifications/x", { n }), { id: String(n) }] as const;
    const first = (await http.expect("GET")).stream();
    for (const n of [1, 2, 3]) first.say(...event(n));
    first.break();
    await clock.advanceAsync(250);
    const second = gets(http)[0]?.stream();
    expect(gets(http)[0]?.headers["last-event-id"]).toBe("3");
    for (const n of [2, 3, 4, 5]) second?.say(...event(n));
    await clock.advanceAsync(0);
    expect(onNotification.mock.calls.map(([{ params }]) => params.n)).toEqual([1, 2, 3, 4, 5]);
  });

  it("keeps what has the same id on one connection apart", async () => {
    const onNotification = vi.fn();
    const { http, settled } = await httpLegacy({ onNotification });
    const stream = (await http.expect("GET")).stream();
    for (const n of [1, 2]) stream.say(said("notifications/x", { n }), { id: "same" });
    await settled();
    expect(onNotification).toHaveBeenCalledTimes(2);
  });
});

describe("C118: a stream that answers a request", () => {
  it("goes on over a GET with its own last id, after the wait the server asks for", async () => {
    const { http, client, clock } = await withoutServerStream();
    const onProgress = vi.fn();
    const result = client.callTool("a", {}, { onProgress });
    const request = await http.expect("tools/call");
    const stream = request.stream();
    stream.raw("id: 7\nretry: 500\ndata:\n\n");
    stream.end();
    await clock.advanceAsync(499);
    expect(gets(http)).toHaveLength(0);
    await clock.advanceAsync(1);
    const [get] = gets(http);
    expect(get?.headers).toMatchObject({ accept: "text/event-stream", "last-event-id": "7", "mcp-session-id": "s1" });
    const rest = get?.stream();
    rest?.say(said("notifications/progress", { progressToken: request.id, progress: 1 }), { id: "8" });
    rest?.say(answer(request.id, text("A")), { id: "9" });
    rest?.end();
    expect(await result).toMatchObject(text("A"));
    expect(onProgress).toHaveBeenCalledOnce();
    await clock.advanceAsync(60_000);
    expect(gets(http)).toHaveLength(1);
  });

  it("goes on when its connection breaks", async () => {
    const { http, client, clock } = await withoutServerStream();
    const result = client.callTool("a");
    const request = await http.expect("tools/call");
    const stream = request.stream();
    stream.raw("id: 7\ndata:\n\n");
    stream.break();
    await clock.advanceAsync(250);
    gets(http)[0]?.reply(503);
    await clock.advanceAsync(500);
    gets(http)[1]
      ?.stream()
      .say(answer(request.id, text("A")));
    expect(await result).toMatchObject(text("A"));
  });

  it("keeps its own place beside others", async () => {
    const { http, client, clock } = await withoutServerStream();
    const results = [client.callTool("a"), client.callTool("b")];
    const requests = [await http.expect("tools/call"), await http.expect("tools/call")];
    for (const [index, request] of requests.entries()) {
      const stream = request.stream();
      stream.raw(`id: s${index}-1\ndata:\n\n`);
      stream.end();
    }
    await clock.advanceAsync(250);
    expect(gets(http).map(({ headers }) => headers["last-event-id"])).toEqual(["s0-1", "s1-1"]);
    for (const [index, get] of gets(http).entries()) get.stream().say(answer(requests[index]?.id, text(`${index}`)));
    expect(await Promise.all(results)).toMatchObject([text("0"), text("1")]);
  });

  it("fails its request after five connections in a row failed", async () => {
    const { http, client, clock } = await withoutServerStream();
    const result = client.callTool("a");
    result.catch(() => {});
    const stream = (await http.expect("tools/call")).stream();
    stream.raw("id: 7\ndata:\n\n");
    stream.break();
    for (let i = 0; i < 5; i++) {
      await clock.advanceAsync(5_000);
      gets(http)[i]?.fail(Object.assign(new Error(), { code: "ECONNREFUSED" }));
    }
    await expect(result).rejects.toMatchObject({
      code: "connection-closed",
      message: expect.stringMatching(
        /the stream ended before the response to tools\/call: .*the connection was refused/,
      ),
    });
    await clock.advanceAsync(60_000);
    expect(gets(http)).toHaveLength(5);
  });

  it.each([400, 404, 405])(
    "fails its request when the server answers %i to going on, and is not sent again",
    async (status) => {
      const { http, client, clock } = await withoutServerStream();
      const result = client.callTool("a");
      result.catch(() => {});
      const stream = (await http.expect("tools/call")).stream();
      stream.raw("id: 7\ndata:\n\n");
      stream.end();
      await clock.advanceAsync(250);
      gets(http)[0]?.reply(status);
      await expect(result).rejects.toMatchObject({
        code: "connection-closed",
        message: expect.stringContaining(`${status}`),
      });
      expect(http.said().filter((method) => method === "tools/call")).toHaveLength(1);
    },
  );

  it("fails its request at once when no event had an id", async () => {
    const { http, client } = await withoutServerStream();
    const result = client.callTool("a");
    (await http.expect("tools/call")).stream().break();
    await expect(result).rejects.toMatchObject({ code: "connection-closed" });
    expect(gets(http)).toHaveLength(0);
  });

  it("is not followed any more once its call is cancelled", async () => {
    const { http, client, clock } = await withoutServerStream();
    const abort = new AbortController();
    const result = client.callTool("a", {}, { signal: abort.signal });
    const stream = (await http.expect("tools/call")).stream();
    stream.raw("id: 7\ndata:\n\n");
    stream.end();
    await clock.advanceAsync(0);
    abort.abort();
    await expect(result).rejects.toMatchObject({ code: "cancelled" });
    (await http.expect("notifications/cancelled")).reply(202);
    await clock.advanceAsync(60_000);
    expect(gets(http)).toHaveLength(0);
  });
});
