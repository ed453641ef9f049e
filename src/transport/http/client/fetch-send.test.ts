import { describe, expect, it, vi } from "vitest";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import type { OutgoingRequest } from "../http-message.ts";
import { fetchSend } from "./fetch-send.ts";

const request: OutgoingRequest = {
  method: "POST",
  url: new URL("http://x.example/mcp"),
  headers: { accept: "a" },
  body: "{}",
};

/** Sends one request that is answered with this. */
function answeredWith(body: BodyInit | null, init?: ResponseInit) {
  return fetchSend(async () => new Response(body, init))(request, new LazyAbort());
}

function streamOf(...chunks: readonly (string | Error)[]): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next === undefined) controller.close();
      else if (typeof next === "string") controller.enqueue(new TextEncoder().encode(next));
      else controller.error(next);
    },
  });
}

describe("fetchSend", () => {
  it("passes the request on, follows no redirect, and shares no signal", async () => {
    const fetch = vi.fn(async () => new Response(null));
    const send = fetchSend(fetch);
    const aborts = [new LazyAbort(), new LazyAbort()];
    for (const abort of aborts) await send(request, abort);
    const calls = fetch.mock.calls as unknown as [URL, RequestInit][];
    expect(calls[0]).toEqual([
      request.url,
      { method: "POST", headers: { accept: "a" }, redirect: "manual", body: "{}", signal: aborts[0]?.signal },
    ]);
    expect(calls[1]?.[1].signal).not.toBe(calls[0]?.[1].signal);
  });

  it("gives status and headers", async () => {
    const response = await answeredWith("", { status: 404, headers: { "X-A": "1" } });
    expect([response.status, response.header("x-a"), response.header("x-b")]).toEqual([404, "1", undefined]);
  });

  it("reads a body, however it is cut", async () => {
    const bytes = new TextEncoder().encode("größe");
    const stream = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });
    expect(await (await answeredWith(stream)).text(100)).toBe("größe");
    expect(await (await answeredWith(null)).text(100)).toBe("");
  });

  it("stops reading what is too long", async () => {
    let cancelled = false;
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(10)),
      cancel() {
        cancelled = true;
      },
    });
    await expect((await answeredWith(endless)).text(100)).rejects.toMatchObject({ code: "limit-reached" });
    expect(cancelled).toBe(true);
  });

  it("refuses what is no UTF-8", async () => {
    const response = await answeredWith(new Uint8Array([0xff]));
    await expect(response.text(100)).rejects.toMatchObject({ code: "invalid-response" });
  });

  it("gives a stream as it comes, and waits while the reader is busy", async () => {
    const response = await answeredWith(streamOf("a", "b", "c"));
    const heard: string[] = [];
    let busy = false;
    await response.read((chunk) => {
      expect(busy).toBe(false);
      heard.push(new TextDecoder().decode(chunk));
      busy = true;
      return new Promise((resolve) => {
        queueMicrotask(() => {
          busy = false;
          resolve();
        });
      });
    });
    expect(heard.join("")).toBe("abc");
  });

  it("rejects when a stream breaks, or the reader throws", async () => {
    const broken = await answeredWith(streamOf("a", new Error("reset")));
    await expect(broken.read(() => undefined)).rejects.toThrow("reset");
    const fine = await answeredWith(streamOf("a"));
    const thrown = fine.read(() => {
      throw new Error("mine");
    });
    await expect(thrown).rejects.toThrow("mine");
  });

  it("lets go of a body that nobody reads, and of one that is being read", async () => {
    const unread = await answeredWith(streamOf("a"));
    unread.discard();
    unread.discard();
    const abort = new LazyAbort();
    const reading = await fetchSend(async () => new Response(streamOf("a", "b")))(request, abort);
    void reading.read(() => new Promise(() => {}));
    reading.discard();
    expect(abort.aborted).toBe(true);
  });

  it("refuses a redirect that the platform does not show", async () => {
    const hidden = Object.defineProperty(new Response(null), "type", { value: "opaqueredirect" });
    await expect(fetchSend(async () => hidden)(request, new LazyAbort())).rejects.toMatchObject({ code: "http-error" });
  });
});
