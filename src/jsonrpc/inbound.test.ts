import { describe, expect, it } from "vitest";
import { asyncQueue } from "../std/async-queue.ts";
import { createManualClock } from "../testing/clock.ts";
import type { Channel } from "./channel.ts";
import { createInbound, type IncomingRequest } from "./inbound.ts";
import { type ErrorObject, type Id, type Message, type Request, rpcCodes } from "./message.ts";

const closing: ErrorObject = { code: rpcCodes.internal, message: "the connection is closing" };

describe("answers", () => {
  it("are written once, and free the id", () => {
    const { inbound, sent, open } = setUp();
    const exchange = open(1);
    exchange.succeed({ a: 1 });
    exchange.succeed({ a: 2 });
    exchange.fail(closing);
    expect(sent).toEqual([{ kind: "success", id: 1, result: { a: 1 } }]);
    expect(inbound.size).toBe(0);
    open(1).fail(closing);
    expect(sent).toHaveLength(2);
  });

  it("C35: go out in completion order", () => {
    const { sent, open } = setUp();
    const exchanges = [1, 2, 3].map((id) => open(id));
    for (const index of [2, 0, 1]) exchanges[index]?.succeed({});
    expect(sent.map((message) => ("id" in message ? message.id : undefined))).toEqual([3, 1, 2]);
  });

  it("are none after drop", () => {
    const { inbound, sent, open } = setUp();
    const exchange = open(1);
    exchange.drop();
    exchange.succeed({});
    expect([sent.length, inbound.size]).toEqual([0, 0]);
  });

  it("that are no JSON become an internal error, so that the peer does not wait for ever", () => {
    const { sent, open, refuseSending } = setUp();
    const cyclic = { self: {} };
    cyclic.self = cyclic;
    refuseSending((message) => "result" in message && message.result === cyclic);
    open(1).succeed(cyclic);
    expect(sent).toEqual([
      { kind: "failure", id: 1, error: { code: rpcCodes.internal, message: "the result cannot be encoded as JSON" } },
    ]);
  });

  it("tell when the peer is slow", async () => {
    const { open, slowDown } = setUp();
    const slow = Promise.resolve();
    slowDown(slow);
    expect(open(1).succeed({})).toBe(slow);
    expect(open(2).fail(closing)).toBe(slow);
    expect(open(3).notify("notifications/progress", {})).toBe(slow);
  });
});

describe("notifications", () => {
  it("are sent while the request is open, and not after", () => {
    const { sent, open } = setUp();
    const exchange = open(1);
    exchange.notify("notifications/progress", { progress: 1 });
    exchange.succeed({});
    exchange.notify("notifications/progress", { progress: 2 });
    expect(sent.map(({ kind }) => kind)).toEqual(["notification", "success"]);
  });
});

describe("cancel", () => {
  it("C38: aborts the signal with the reason, and no answer is written", () => {
    const { inbound, sent, open } = setUp();
    const exchange = open(1);
    exchange.abort.onAbort(() => exchange.succeed({ from: "the abort listener" }));
    inbound.cancel(1, "not needed");
    exchange.succeed({ from: "the same tick" });
    expect(exchange.abort.signal.aborted).toBe(true);
    expect(exchange.abort.signal.reason).toBe("not needed");
    expect([sent.length, inbound.size]).toEqual([0, 0]);
  });

  it("C39: what a handler that ignores the signal comes up with is discarded", async () => {
    const { inbound, sent, open } = setUp();
    const exchange = open(1);
    const stubborn = Promise.resolve().then(() => {
      exchange.notify("notifications/progress", {});
      exchange.succeed({});
    });
    inbound.cancel(1, undefined);
    await stubborn;
    expect(sent).toEqual([]);
  });

  it.each<[what: string, id: Id]>([
    ["an id that never was", 99],
    ["a string for a number", "1"],
    ["a request that is over", 2],
  ])("of %s has no effect", (_what, id) => {
    const { inbound, sent, open } = setUp();
    const exchange = open(1);
    open(2).succeed({});
    inbound.cancel(id, "wrong");
    expect([exchange.abort.aborted, inbound.size]).toEqual([false, 1]);
    exchange.succeed({});
    expect(sent).toHaveLength(2);
  });
});

describe("refusals", () => {
  it("an id in use is refused, and the first request stays as it is", () => {
    const { inbound, channel, sent, open } = setUp();
    const first = open(7);
    expect(inbound.open(request(7), channel)).toEqual({
      kind: "failure",
      id: 7,
      error: { code: rpcCodes.invalidRequest, message: "request id 7 is in use" },
    });
    expect(inbound.open(request("7"), channel)).not.toHaveProperty("kind");
    first.succeed({ first: true });
    expect(sent).toEqual([{ kind: "success", id: 7, result: { first: true } }]);
  });

  it("more open requests than allowed are refused until one is over", () => {
    const { inbound, channel, open } = setUp({ maxOpen: 2 });
    const first = open(1);
    open(2);
    expect(inbound.open(request(3), channel)).toMatchObject({
      kind: "failure",
      id: 3,
      error: {
        code: rpcCodes.internal,
        message: "more than 2 requests are open",
        data: { reason: "limit-reached", limit: "maxOpenRequests", max: 2, scope: "connection", retryAfterMs: 1_000 },
      },
    });
    first.succeed({});
    expect(inbound.open(request(4), channel)).not.toHaveProperty("kind");
  });

  it("C152: 0 is off", () => {
    const { inbound, open } = setUp({ maxOpen: 0 });
    for (let id = 0; id < 3_000; id++) open(id);
    expect(inbound.size).toBe(3_000);
  });
});

describe("endAll", () => {
  it("C41: aborts everything before anything is answered, then answers each once", () => {
    const { inbound, sent, open } = setUp();
    const log: string[] = [];
    for (const id of [1, 2, 3]) open(id).abort.onAbort(() => log.push(`${id} aborted, ${sent.length} answered`));
    inbound.endAll(closing);
    inbound.endAll(closing);
    expect(log).toEqual(["1 aborted, 0 answered", "2 aborted, 0 answered", "3 aborted, 0 answered"]);
    expect(sent).toEqual([1, 2, 3].map((id) => ({ kind: "failure", id, error: closing })));
    expect(inbound.size).toBe(0);
  });

  it("leaves the answer to a handler that gives one at the abort", () => {
    const { inbound, sent, open } = setUp();
    const exchange = open(1);
    exchange.abort.onAbort(() => exchange.succeed({ partial: true }));
    inbound.endAll(closing);
    expect(sent).toEqual([{ kind: "success", id: 1, result: { partial: true } }]);
  });
});

describe("drained", () => {
  it("resolves when the last request is over, however it ended", async () => {
    const { inbound, open, settled } = setUp();
    const log: string[] = [];
    const [first, second] = [open(1), open(2)];
    open(3);
    for (const name of ["a", "b"]) inbound.drained().then(() => log.push(name));
    first.succeed({});
    second.drop();
    await settled();
    expect(log).toEqual([]);
    inbound.cancel(3, undefined);
    await settled();
    expect(log).toEqual(["a", "b"]);
  });

  it("resolves at once when nothing is open", async () => {
    const { inbound, open } = setUp();
    await inbound.drained();
    open(1).succeed({});
    await inbound.drained();
  });
});

function request(id: Id): Request {
  return { kind: "request", id, method: "tools/call", params: {} };
}

/** Requests of a peer on a channel that records what is sent. */
function setUp({ maxOpen = 1024 }: { readonly maxOpen?: number } = {}) {
  const sent: Message[] = [];
  let isRefused = (_message: Message): boolean => false;
  let slow: Promise<void> | undefined;
  const channel: Channel = {
    incoming: asyncQueue(),
    send(message) {
      if (isRefused(message)) throw new TypeError("Converting circular structure to JSON");
      sent.push(message);
      return slow;
    },
    async close() {},
  };
  const inbound = createInbound(maxOpen);
  return {
    sent,
    inbound,
    channel,
    open(id: Id): IncomingRequest {
      const opened = inbound.open(request(id), channel);
      if ("kind" in opened) throw new Error(opened.error.message);
      return opened;
    },
    refuseSending(which: (message: Message) => boolean): void {
      isRefused = which;
    },
    slowDown(until: Promise<void>): void {
      slow = until;
    },
    settled: () => createManualClock().advanceAsync(0),
  };
}
