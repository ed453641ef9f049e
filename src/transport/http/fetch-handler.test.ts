import { describe, expect, it, vi } from "vitest";
import { callOf, type ModernRequest, modernCall, modernRequest } from "../../../test/support/fake-endpoint.ts";
import { createHttpService } from "../../../test/support/http-service.ts";
import { hello, notification, request } from "../../../test/support/served.ts";
import { messagesIn, readBlocks } from "../../../test/support/sse-text.ts";
import type { JsonObject } from "../../json/json.ts";
import { createManualClock } from "../../testing/clock.ts";
import { toFetchHandler } from "./fetch-handler.ts";
import type { HttpOptions } from "./options.ts";

const url = "http://localhost/mcp";
const page = "https://app.example";
const both = "application/json, text/event-stream";

const serve = (options: HttpOptions = {}) => {
  const service = createHttpService();
  const handle = toFetchHandler(service.server, options);
  const post = (message: unknown, headers: Readonly<Record<string, string>> = {}, init: RequestInit = {}) =>
    handle(
      new Request(url, {
        method: "POST",
        headers: { accept: both, "content-type": "application/json", ...headers },
        body: typeof message === "string" ? message : JSON.stringify(message),
        ...init,
      }),
    );
  const modern = ({ body, headers }: ModernRequest, init?: RequestInit) => post(body, headers, init);
  const get = (headers: Readonly<Record<string, string>>, init: RequestInit = {}) =>
    handle(new Request(url, { headers: { accept: "text/event-stream", ...headers }, ...init }));
  const open = async (): Promise<{ readonly "mcp-session-id": string }> => {
    const opened = await post(request(0, "initialize", hello("2025-11-25")));
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    await post(notification("notifications/initialized"), session);
    return session;
  };
  return { ...service, handle, post, modern, get, open };
};

/** Reads a body until it holds so many messages. */
async function readSome(body: ReadableStream<Uint8Array> | null, atLeast: number) {
  const reader = (body ?? expect.fail("no body")).getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.endsWith("\n\n") || messagesIn(text).length < atLeast) {
    const { done, value } = await reader.read();
    if (done) expect.fail(`the body ended early: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  const rest = async (): Promise<void> => {
    while (!(await reader.read()).done) {}
  };
  return { text, rest, cancel: () => reader.cancel() };
}

const logs = { "io.modelcontextprotocol/logLevel": "info" };
const listening = modernRequest("sub", "subscriptions/listen", { notifications: { toolsListChanged: true } });

describe("a handler of the Fetch standard", () => {
  it("C99: answers in JSON", async () => {
    const response = await serve().modern(modernCall(1, "echo", { text: "x" }));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ id: 1, result: { content: [{ text: "x" }] } });
  });

  it("C99: answers in events", async () => {
    const response = await serve().modern(modernCall(1, "count", { n: 3 }, logs));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const messages = messagesIn(await response.text());
    expect(messages.map(({ method, id }) => method ?? id)).toEqual([...Array(3).fill("notifications/message"), 1]);
  });

  it("C99: accepts with 202 and no body", async () => {
    const { post, open } = serve();
    const response = await post(notification("notifications/x"), await open());
    expect([response.status, await response.text()]).toEqual([202, ""]);
  });

  it("serves sessions, and resumes their streams", async () => {
    const { post, get, open } = serve();
    const session = await open();
    const call = await post(callOf(1, "count", { n: 5 }), session);
    const blocks = readBlocks(await call.text()).filter(({ message }) => message !== undefined);
    const resumed = await get({ ...session, "last-event-id": blocks[1]?.id ?? "" });
    expect(messagesIn(await resumed.text())).toEqual(blocks.slice(2).map(({ message }) => message));
    const deleted = new Request(url, { method: "DELETE", headers: session });
    expect((await serve().handle(deleted)).status).toBe(404);
  });

  it("checks host and origin, and answers pages that may read it", async () => {
    const { handle, post, open } = serve({ allowedOrigins: [page] });
    expect((await handle(new Request("http://evil.example/mcp", { method: "POST" }))).status).toBe(403);
    const foreign = await post(request(1, "ping"), { origin: "https://evil.example" });
    expect([foreign.status, foreign.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    const preflight = await handle(
      new Request(url, { method: "OPTIONS", headers: { origin: page, "access-control-request-method": "POST" } }),
    );
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, page]);
    const session = await open();
    const allowed = await post(request(1, "ping"), { origin: page, ...session });
    expect(allowed.headers.get("access-control-allow-origin")).toBe(page);
    expect(allowed.headers.get("vary")).toBe("origin");
    const streamed = await post(callOf(2, "count", { n: 1 }), { origin: page, ...session });
    expect(streamed.headers.get("access-control-allow-origin")).toBe(page);
    const broken = await post("{oops", { origin: page });
    expect([broken.status, broken.headers.get("access-control-allow-origin")]).toEqual([400, page]);
  });

  it("serves any path that reaches it", async () => {
    const { handle } = serve();
    const { body, headers } = modernCall(1, "echo", { text: "x" });
    const response = await handle(
      new Request("http://localhost/api/v1", {
        method: "POST",
        headers: { accept: both, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    );
    expect(response.status).toBe(200);
  });

  it("answers what is open, then closes", async () => {
    const { modern, handle, holding, release } = serve();
    const answer = modern(modernCall(1, "hold"));
    const listen = await modern(listening);
    await holding(1);
    const closed = handle.close();
    const late = await modern(modernCall(2, "echo", { text: "x" }));
    expect([late.status, late.headers.get("retry-after")]).toEqual([503, "1"]);
    release();
    await closed;
    expect(await (await answer).json()).toMatchObject({ id: 1, result: {} });
    expect(messagesIn(await listen.text()).at(-1)).toMatchObject({ id: "sub", result: { resultType: "complete" } });
  });
});

describe("the body of a request", () => {
  /** A body that comes bit by bit, and hears when nobody wants more. */
  function streamed(chunks: Iterable<Uint8Array>) {
    const iterator = chunks[Symbol.iterator]();
    let given = 0;
    const cancelled = vi.fn();
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const { done, value } = iterator.next();
          if (done) return controller.close();
          given += value.byteLength;
          controller.enqueue(value);
        },
        cancel: cancelled,
      },
      { highWaterMark: 0 },
    );
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    return { init, cancelled, given: () => given };
  }

  function* endless(): Iterable<Uint8Array> {
    while (true) yield new Uint8Array(65_536).fill(32);
  }

  it("C112: is refused with 413 as soon as it is too large, and read no further", async () => {
    const { init, cancelled, given } = streamed(endless());
    const response = await serve({ limits: { maxMessageBytes: 1_000_000 }, allowedOrigins: [page] }).post(
      "",
      { origin: page },
      init,
    );
    expect(response.status).toBe(413);
    expect(response.headers.get("access-control-allow-origin")).toBe(page);
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      error: { code: -32600, message: "the body is too large; send at most 1000000 bytes" },
    });
    expect(cancelled).toHaveBeenCalledOnce();
    expect(given()).toBeLessThan(1_200_000);
  });

  it("may be as large as is allowed, to the byte", async () => {
    const body = JSON.stringify(request(1, "ping"));
    const { post, open } = serve({ limits: { maxMessageBytes: 1_000 } });
    const session = await open();
    const { init } = streamed([new TextEncoder().encode(body.padEnd(1_000))]);
    expect((await post("", session, init)).status).toBe(200);
    const more = streamed([new TextEncoder().encode(body.padEnd(1_001))]);
    expect((await post("", session, more.init)).status).toBe(413);
  });

  it("may be cut anywhere, also within a character", async () => {
    const bytes = new TextEncoder().encode(JSON.stringify(callOf(1, "echo", { text: "é🚀" })));
    const { post, open } = serve();
    const { init } = streamed([...bytes].map((byte) => Uint8Array.of(byte)));
    const response = await post("", await open(), init);
    expect(await response.json()).toMatchObject({ result: { content: [{ text: "é🚀" }] } });
  });

  it.each<readonly [string, Uint8Array]>([
    ["is no UTF-8", Uint8Array.of(0x7b, 0xff, 0xfe, 0x7d)],
    ["ends within a character", Uint8Array.of(0x22, 0xc3)],
  ])("is refused with 400 when it %s", async (_, bytes) => {
    const response = await serve().post("", {}, streamed([bytes]).init);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: "the body cannot be read as UTF-8" } });
  });

  it("may be missing", async () => {
    const response = await serve().handle(
      new Request(url, { method: "POST", headers: { accept: both, "content-type": "application/json" } }),
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: -32700 } });
  });
});

describe("a client that leaves", () => {
  it.each([
    ["subscription", listening],
    ["call", modernCall(1, "count", { n: 1_000_000, paced: true }, logs)],
  ])("edge 12: cancels a modern %s by ending the body of its answer", async (_, asked) => {
    // On this clock, closing would wait for ever for what is still open.
    const { modern, handle } = serve({ clock: createManualClock() });
    const response = await modern(asked);
    await (await readSome(response.body, 1)).cancel();
    await handle.close();
  });

  it("edge 12: cancels a modern call by its signal", async () => {
    const { modern, holding, held } = serve();
    const abort = new AbortController();
    const response = modern(modernCall(1, "hold"), { signal: abort.signal });
    await holding(1);
    abort.abort();
    expect((await response).status).toBe(499);
    expect(held[0]?.aborted).toBe(true);
  });

  it("edge 12: does not cancel a call of a session", async () => {
    const { post, open, holding, held, handle, release } = serve();
    const session = await open();
    const abort = new AbortController();
    const response = post(callOf(1, "hold"), session, { signal: abort.signal });
    await holding(1);
    abort.abort();
    await response;
    expect(held[0]?.aborted).toBe(false);
    const closed = handle.close();
    release();
    await closed;
    expect(held[0]?.aborted).toBe(false);
  });

  it("was gone before it could be answered", async () => {
    const { get, open } = serve({ budgets: { connection: { maxStreams: 1 } } });
    const session = await open();
    const abort = new AbortController();
    abort.abort();
    const response = await get(session, { signal: abort.signal });
    await response.body?.cancel().catch(() => {});
    expect((await get(session)).status).toBe(200);
  });

  it.each<readonly [string, (response: Response, abort: AbortController) => unknown]>([
    ["its body", (response) => response.body?.cancel()],
    ["its signal", (_, abort) => abort.abort()],
  ])("leaves a stream by %s, and can come back to it", async (_, leave) => {
    const { get, open, server } = serve({ budgets: { connection: { maxStreams: 1 } } });
    const session = await open();
    const abort = new AbortController();
    const first = await get(session, { signal: abort.signal });
    expect((await get(session)).status).toBe(429);
    await leave(first, abort);
    server.tools.remove("bump");
    const second = await get(session);
    const { text } = await readSome(second.body, 1);
    expect(messagesIn(text)).toMatchObject([{ method: "notifications/tools/list_changed" }]);
  });
});

describe("C111: a client that does not read", () => {
  it("holds back who writes", async () => {
    const { modern } = serve();
    const response = await modern(modernCall(1, "count", { n: 2_000, size: 1_000 }, logs));
    await new Promise((resolve) => setImmediate(resolve));
    const { text, cancel } = await readSome(response.body, 1);
    expect(text.length).toBeLessThan(70_000);
    await cancel();
  });

  it("gets everything, however much, when it reads after all", async () => {
    const { modern } = serve();
    const response = await modern(modernCall(1, "count", { n: 2_000, size: 1_000 }, logs));
    expect(messagesIn(await response.text()).length).toBe(2_001);
  });

  it("is cut off after three beats, and that is reported", async () => {
    const clock = createManualClock();
    const onWarning = vi.fn();
    const { modern, handle } = serve({ clock, onWarning });
    const response = await modern(modernCall(1, "count", { n: 2_000, size: 1_000 }, logs));
    await clock.advanceAsync(60_000);
    await handle.close();
    expect(onWarning).toHaveBeenCalledExactlyOnceWith({
      kind: "client-dropped",
      message: "a client did not read for too long",
    });
    await expect(response.text()).rejects.toThrow("the client does not read");
  });

  it("is cut off, and its stream can be resumed by another", async () => {
    const clock = createManualClock();
    const { post, get, open } = serve({ clock, budgets: { connection: { maxStreams: 1 } } });
    const session = await open();
    const call = await post(callOf(1, "count", { n: 150, size: 1_000 }), session);
    const { text, rest } = await readSome(call.body, 0);
    const [first] = readBlocks(text);
    await clock.advanceAsync(60_000);
    await expect(rest()).rejects.toThrow();
    const resumed = await get({ ...session, "last-event-id": first?.id ?? "" });
    expect(messagesIn(await resumed.text()).length).toBe(151);
  });

  it("is cut off, and does not keep its session", async () => {
    const clock = createManualClock();
    const onWarning = vi.fn();
    const { post, open, get, server } = serve({ clock, onWarning });
    const session = await open();
    await post(request(1, "resources/subscribe", { uri: "test://watched" }), session);
    await get(session);
    for (let n = 0; n < 5_000; n++) server.resourceUpdated("test://watched");
    await clock.advanceAsync(60_000);
    expect(onWarning).toHaveBeenCalledOnce();
    await clock.advanceAsync(3 * 1_800_000);
    expect((await post(request(1, "ping"), session)).status).toBe(404);
  });

  it("is cut off, and a hook that throws does not stop the beat of the others", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const clock = createManualClock();
    const onWarning = () => {
      throw new Error("hook");
    };
    const { modern } = serve({ clock, onWarning });
    const slow = modernCall(1, "count", { n: 2_000, size: 1_000 }, logs);
    const [response, alive] = [await modern(slow), await modern(listening)];
    const { text } = await readSome(alive.body, 1);
    expect(messagesIn(text).length).toBe(1);
    await clock.advanceAsync(60_000);
    await expect(response.text()).rejects.toThrow();
    expect(clock.pending).toBeGreaterThan(0);
    expect(error).toHaveBeenCalledWith("plugbay: onWarning threw:", expect.any(Error));
    error.mockRestore();
  });
});

it("tells 1,000 listeners of one change, each once, and ends them all", async () => {
  const { modern, server, handle } = serve();
  const responses = await Promise.all(Array.from({ length: 1_000 }, () => modern(listening)));
  server.tools.remove("bump");
  await new Promise((resolve) => setImmediate(resolve));
  await handle.close();
  const all: (readonly JsonObject[])[] = await Promise.all(
    responses.map(async (response) => messagesIn(await response.text())),
  );
  for (const messages of all) {
    expect(messages.map(({ method, id }) => method ?? id)).toEqual([
      "notifications/subscriptions/acknowledged",
      "notifications/tools/list_changed",
      "sub",
    ]);
  }
});

describe("options that went elsewhere", () => {
  it("are refused with the place where they are now", () => {
    const { server } = createHttpService();
    const former = { askTimeoutMs: 1_000 } as HttpOptions;
    const refuse = () => toFetchHandler(server, former);
    expect(refuse).toThrow('unknown option "askTimeoutMs"; did you mean "askTimeoutMs of createServer"?');
  });
});
