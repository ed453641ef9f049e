import { describe, expect, it, vi } from "vitest";
import { createManualClock } from "../testing/clock.ts";
import { createSafeFetch, type Hop, type HopRequest, type SafeFetchOptions } from "./safe-fetch.ts";

const json = { "content-type": "application/json" };
const ok = (body: BodyInit = "{}", headers: Record<string, string> = json): Response => new Response(body, { headers });
const to = (location: string, status = 302): Response => new Response(null, { status, headers: { location } });

function fetching(
  answer: (request: HopRequest, count: number) => Response | Promise<Response>,
  options: SafeFetchOptions = {},
) {
  let count = 0;
  const hop = vi.fn<Hop>(async (request) => answer(request, ++count));
  return { hop, get: createSafeFetch({ hop, ...options }) };
}

describe("what is fetched from where others say", () => {
  it.each([
    "http://example.com/x",
    "ftp://example.com/x",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:application/json,{}",
    "https://10.0.0.1/x",
    "https://169.254.169.254/latest/meta-data",
    "http://169.254.169.254/x",
    "https://[fd00::1]/x",
    "https://metadata.google.internal/x",
    "https://user:secret@example.com/x",
  ])("is not fetched from %s (V8)", async (url) => {
    const { hop, get } = fetching(() => ok());
    await expect(get(url)).rejects.toMatchObject({ code: "invalid-response", data: { reason: "address-not-allowed" } });
    expect(hop).not.toHaveBeenCalled();
  });

  it("is not fetched from what is no URL", async () => {
    await expect(fetching(() => ok()).get("x")).rejects.toMatchObject({ code: "invalid-response" });
  });

  it.each(["http://localhost:1/x", "http://127.0.0.1:1/x", "https://localhost/x"])(
    "is fetched from %s unless forbidden",
    async (url) => {
      expect((await fetching(() => ok()).get(url)).status).toBe(200);
      const { hop, get } = fetching(() => ok(), { allowInsecureLoopback: false });
      await expect(get(url)).rejects.toMatchObject({ code: "invalid-response" });
      expect(hop).not.toHaveBeenCalled();
    },
  );

  it("is fetched from private hosts that are allowed, by https", async () => {
    const { get } = fetching(() => ok(), { allowPrivateNetwork: ["10.0.0.1"] });
    expect((await get("https://10.0.0.1/x")).status).toBe(200);
    await expect(get("https://10.0.0.2/x")).rejects.toMatchObject({ code: "invalid-response" });
    await expect(get("http://10.0.0.1/x")).rejects.toMatchObject({ code: "invalid-response" });
    expect((await fetching(() => ok(), { allowPrivateNetwork: true }).get("https://10.9.9.9/x")).status).toBe(200);
  });

  it("tells whoever resolves a name which addresses it may have (V8)", async () => {
    const { hop, get } = fetching(() => ok());
    await get("https://example.com/x");
    await get("http://localhost/x");
    const judge = (call: number) =>
      ["93.184.216.34", "10.0.0.1", "127.0.0.1", "::1"].map((address) => hop.mock.calls[call]?.[0].allows(address));
    expect(judge(0)).toEqual([true, false, false, false]);
    expect(judge(1)).toEqual([true, false, true, true]);
  });
});

describe("a redirect", () => {
  it("is followed within its origin, three times", async () => {
    const { hop, get } = fetching((_, count) => (count <= 3 ? to(`/hop${count}`) : ok('{"a":1}')));
    expect(await (await get("https://example.com/x")).json()).toEqual({ a: 1 });
    expect(hop.mock.calls.map(([{ url }]) => url.pathname)).toEqual(["/x", "/hop1", "/hop2", "/hop3"]);
    await expect(fetching(() => to("/again")).get("https://example.com/x")).rejects.toMatchObject({
      code: "invalid-response",
    });
  });

  it.each([
    "https://evil.example/x",
    "http://example.com/x",
    "https://example.com:8443/x",
    "//evil.example",
    "javascript:1",
  ])("to %s is not followed", async (location) => {
    const { hop, get } = fetching(() => to(location));
    await expect(get("https://example.com/x")).rejects.toMatchObject({ code: "invalid-response" });
    expect(hop).toHaveBeenCalledOnce();
  });

  it("of a POST is not followed, and neither is one to nowhere", async () => {
    await expect(
      fetching(() => to("/y", 307)).get("https://example.com/x", { method: "POST", body: "a" }),
    ).rejects.toMatchObject({ code: "invalid-response" });
    await expect(fetching(() => new Response(null, { status: 302 })).get("https://example.com/x")).rejects.toThrow(
      /nowhere/,
    );
  });
});

describe("an answer", () => {
  it.each(["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/jwk-set+json"])(
    "is taken as %s",
    async (type) => {
      expect(
        await (await fetching(() => ok("{}", { "content-type": type })).get("https://example.com")).json(),
      ).toEqual({});
    },
  );

  it.each(["text/html", "text/plain; a=application/json", ""])("is not taken as %j", async (type) => {
    await expect(fetching(() => ok("{}", { "content-type": type })).get("https://example.com")).rejects.toThrow(/JSON/);
  });

  it("that says it failed is given as it is", async () => {
    const { get } = fetching(() => new Response("<h1>no", { status: 404 }));
    expect((await get("https://example.com")).status).toBe(404);
    expect((await fetching(() => new Response(null, { status: 204 })).get("https://example.com")).status).toBe(204);
  });

  it("that is too long is not read to its end", async () => {
    const cancel = vi.fn();
    const endless = new ReadableStream({ pull: (sink) => sink.enqueue(new Uint8Array(1_000)), cancel });
    const { get } = fetching(() => ok(endless), { maxBytes: 5_000 });
    await expect(get("https://example.com")).rejects.toMatchObject({ code: "limit-reached" });
    expect(cancel).toHaveBeenCalled();
  });

  it("that does not come is not waited for", async () => {
    const clock = createManualClock();
    const { hop, get } = fetching(
      ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      { clock },
    );
    const failed = expect(get("https://example.com/secret")).rejects.toMatchObject({
      code: "timeout",
      message: "no answer from https://example.com within 10000 ms",
    });
    await clock.advanceAsync(10_000);
    await failed;
    expect(hop).toHaveBeenCalledOnce();
    expect(clock.pending).toBe(0);
  });

  it("that is not wanted any more is not waited for", async () => {
    const abort = new AbortController();
    const { get } = fetching(
      ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const failed = expect(get("https://example.com", { signal: abort.signal })).rejects.toMatchObject({
      code: "cancelled",
    });
    abort.abort();
    await failed;
    await expect(
      fetching(({ signal }) => Promise.reject(signal.reason)).get("https://example.com", { signal: abort.signal }),
    ).rejects.toMatchObject({ code: "cancelled" });
  });

  it("that breaks off is told of without the URL", async () => {
    const error = Object.assign(new Error("connect to https://example.com/?key=secret"), { code: "ECONNRESET" });
    const { get } = fetching(() => Promise.reject(error));
    const failure = await get("https://example.com/?key=secret").catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({
      code: "connection-closed",
      message: "no answer from https://example.com: ECONNRESET",
    });
    expect(failure).not.toHaveProperty("cause");
  });
});
