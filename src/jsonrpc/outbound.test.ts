import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import { asyncQueue } from "../std/async-queue.ts";
import type { Clock } from "../std/clock.ts";
import { createDeadlines, type Deadline, type DeadlineLimits } from "../std/deadlines.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { createManualClock } from "../testing/clock.ts";
import type { Channel } from "./channel.ts";
import type { Id, Message, Notification, Response, Success } from "./message.ts";
import { createOutbound, type LostReason, type Reply, type RequestOptions } from "./outbound.ts";

const minute = { idleMs: 60_000, totalMs: 0 };

describe("ids", () => {
  it("C1: are never used twice, not even after the request is over", async () => {
    const { outbound, sent, request } = setUp();
    for (let i = 0; i < 50; i++) {
      const reply = request();
      outbound.settle(success(i + 1));
      await reply;
    }
    for (let i = 0; i < 50; i++) request();
    expect(new Set(requestIds(sent)).size).toBe(100);
  });

  it('C1: 1 and "1" are different keys', async () => {
    const { outbound, request } = setUp();
    const reply = request();
    expect(outbound.settle(success("1"))).toBe(false);
    expect(outbound.settle(success(1, { right: true }))).toBe(true);
    expect(await reply).toEqual(success(1, { right: true }));
  });

  it("are known to whoever makes the params", () => {
    const { outbound, sent } = setUp();
    outbound.request("tools/call", (id) => ({ _meta: { progressToken: id } }));
    expect(sent).toEqual([{ kind: "request", id: 1, method: "tools/call", params: { _meta: { progressToken: 1 } } }]);
  });
});

describe("ids with a prefix", () => {
  const setUpPrefixed = () => {
    const sent: Message[] = [];
    const channel = { send: (message: Message) => void sent.push(message) };
    const deadlines = createDeadlines(createManualClock());
    return { sent, outbound: createOutbound({ channel, deadlines, maxOpenRequests: 0, idPrefix: "a." }) };
  };

  it("tell the requests of several peers of one client apart", async () => {
    const { outbound, sent } = setUpPrefixed();
    const replies = [1, 2].map(() => outbound.request("ping", () => ({})));
    expect(requestIds(sent)).toEqual(["a.1", "a.2"]);
    expect([1, "b.1", "a.3"].map((id) => outbound.settle(success(id)))).toEqual([false, false, false]);
    for (const id of ["a.2", "a.1"]) expect(outbound.settle(success(id))).toBe(true);
    expect(await Promise.all(replies)).toEqual([success("a.1"), success("a.2")]);
  });

  it("are known after the request is over", () => {
    const { outbound } = setUpPrefixed();
    void outbound.request("ping", () => ({}));
    outbound.settle(success("a.1"));
    const about: Notification = { kind: "notification", method: "notifications/progress", params: {} };
    expect(["a.1", "b.1", 1].map((id) => outbound.notify(id, about))).toEqual([true, false, false]);
  });
});

describe("responses", () => {
  it("C11: are accepted in any order", async () => {
    const { outbound, request } = setUp();
    const replies = [request(), request(), request()];
    for (const id of [2, 3, 1]) outbound.settle(success(id, { id }));
    expect(await Promise.all(replies)).toEqual([1, 2, 3].map((id) => success(id, { id })));
  });

  it("that report an error settle the request as it came", async () => {
    const { outbound, request } = setUp();
    const reply = request();
    const failure: Response = { kind: "failure", id: 1, error: { code: -32601, message: "no such method", data: 1 } };
    outbound.settle(failure);
    expect(await reply).toBe(failure);
  });

  it.each<Id | null>([2, "1", null, 2 ** 53 - 1, -1])("C12: to %j disturb no request", async (id) => {
    const { outbound, request, sent } = setUp();
    const reply = request();
    const stray: Response = id === null ? { kind: "failure", id, error: { code: 1, message: "?" } } : success(id);
    expect(outbound.settle(stray)).toBe(false);
    expect([outbound.size, sent.length]).toEqual([1, 1]);
    outbound.settle(success(1));
    expect(await reply).toEqual(success(1));
  });

  it("may come before send returns: nothing stays behind", async () => {
    const { outbound, request, onSend, clock, abort } = setUp();
    onSend(() => outbound.settle(success(1)));
    expect(await request({ limits: minute })).toEqual(success(1));
    expect([outbound.size, clock.pending, abort.listeners]).toEqual([0, 0, 0]);
  });
});

describe("cancelling", () => {
  it("C3: removes the entry, settles the caller, then writes one notification", async () => {
    const { outbound, request, onSend, sent, abort } = setUp();
    const reply = request();
    const seen: unknown[] = [];
    onSend(() => seen.push(outbound.size, outbound.settle(success(1, { too: "late" }))));
    abort.now("not needed");
    abort.now("again");
    expect(seen).toEqual([0, false]);
    expect(sent.slice(1)).toEqual([cancelled(1, "not needed")]);
    expect(await reply).toEqual({ kind: "lost", reason: "cancelled" });
  });

  it("C4: a late response is discarded and is never matched to another request", async () => {
    const { outbound, request, abort } = setUp();
    const first = request();
    abort.now();
    const second = request({ onAbort: () => () => {} });
    expect(outbound.settle(success(1))).toBe(false);
    expect(outbound.size).toBe(1);
    expect(await first).toEqual({ kind: "lost", reason: "cancelled" });
    outbound.settle(success(2));
    expect(await second).toEqual(success(2));
  });

  it("C5: writes nothing and throws nothing when the request is over", async () => {
    const { outbound, request, sent, abort } = setUp();
    const reply = request();
    const [keptListener] = abort.everyListener;
    outbound.settle(success(1));
    expect(abort.listeners).toBe(0);
    keptListener?.();
    expect(sent).toHaveLength(1);
    expect(await reply).toEqual(success(1));
  });

  it("C6: leaves out a reason nobody gave", () => {
    const { request, sent, abort } = setUp();
    request();
    abort.now();
    expect(sent[1]).toEqual({ kind: "notification", method: "notifications/cancelled", params: { requestId: 1 } });
    expect(Object.keys(sent[1]?.kind === "notification" ? sent[1].params : {})).toEqual(["requestId"]);
  });

  it("C9: is not written for a request the protocol forbids to cancel, neither by abort nor by timeout", async () => {
    const { request, sent, abort, clock } = setUp();
    const aborted = request({ cancellable: false });
    abort.now();
    const timedOut = request({ cancellable: false, limits: minute, onAbort: () => () => {} });
    clock.advance(60_000);
    expect(await aborted).toEqual({ kind: "lost", reason: "cancelled" });
    expect(await timedOut).toMatchObject({ kind: "lost", reason: "timeout" });
    expect(sent.map(({ kind }) => kind)).toEqual(["request", "request"]);
  });

  it("works for a signal that has aborted before", async () => {
    const { request, sent, abort, outbound, clock } = setUp();
    abort.now("too late");
    expect(await request({ limits: minute })).toEqual({ kind: "lost", reason: "cancelled" });
    expect(sent.slice(1)).toEqual([cancelled(1, "too late")]);
    clock.advance(60_000);
    expect([outbound.size, sent.length]).toEqual([0, 2]);
  });
});

describe("time limits", () => {
  it("C8: frees the slot, settles as timeout, says so to the peer once, ignores late replies", async () => {
    const { outbound, request, sent, clock, abort } = setUp();
    const reply = request({ limits: { idleMs: 100, totalMs: 0 } });
    clock.advance(99);
    expect([outbound.size, sent.length]).toEqual([1, 1]);
    clock.advance(1);
    expect([outbound.size, abort.listeners]).toEqual([0, 0]);
    expect(sent.slice(1)).toEqual([cancelled(1, "timeout")]);
    expect(outbound.settle(success(1))).toBe(false);
    abort.now();
    clock.advance(1_000);
    expect(sent).toHaveLength(2);
    expect(await reply).toMatchObject({ kind: "lost", reason: "timeout" });
  });

  it("C24: each sign of life starts the idle time anew, up to the total", async () => {
    const { outbound, request, clock } = setUp();
    const heard: number[] = [];
    const reply = request({
      limits: { idleMs: 500, totalMs: 2_000 },
      onNotification: () => heard.push(clock.now()),
    });
    for (let i = 0; i < 30; i++) {
      clock.advance(100);
      outbound.notify(1, progress(1));
    }
    expect(await reply).toMatchObject({ kind: "lost", reason: "timeout" });
    expect(heard.at(0)).toBe(100);
    expect(heard.at(-1)).toBe(1_900);
  });

  it("a sign of life counts although nobody listens to it", () => {
    const { outbound, request, clock } = setUp();
    request({ limits: { idleMs: 500, totalMs: 0 } });
    clock.advance(400);
    expect(outbound.notify(1, progress(1))).toBe(true);
    clock.advance(400);
    expect(outbound.size).toBe(1);
    clock.advance(100);
    expect(outbound.size).toBe(0);
  });

  it("are off unless given", () => {
    const { outbound, request, clock } = setUp();
    request();
    request({ limits: { idleMs: 0, totalMs: 0 } });
    expect(clock.pending).toBe(0);
    expect(outbound.size).toBe(2);
  });
});

describe("notifications", () => {
  it("C18: reach the request they name, and none that is over", () => {
    const { outbound, request } = setUp();
    const heard: string[] = [];
    request({ onNotification: () => heard.push("first") });
    request({ onNotification: () => heard.push("second") });
    expect(outbound.notify(2, progress(2))).toBe(true);
    outbound.settle(success(2));
    expect(outbound.notify(2, progress(2))).toBe(true);
    expect(heard).toEqual(["second"]);
    for (const unknown of ["1", 0, 3, -1]) expect(outbound.notify(unknown, progress(1))).toBe(false);
    expect(heard).toEqual(["second"]);
  });
});

describe("limits", () => {
  it("C13: one request too many fails at once, writes nothing and takes no id", async () => {
    const { outbound, request, sent } = setUp({ maxOpenRequests: 2 });
    request();
    request();
    expect(await request()).toEqual({ kind: "lost", reason: "full", max: 2 });
    expect(sent).toHaveLength(2);
    outbound.settle(success(1));
    request();
    expect(requestIds(sent)).toEqual([1, 2, 3]);
  });

  it("C13: 0 is off", () => {
    const { outbound, request } = setUp({ maxOpenRequests: 0 });
    for (let i = 0; i < 2_000; i++) request();
    expect(outbound.size).toBe(2_000);
  });
});

describe("failing to send", () => {
  it.each<[what: string, broken: "send" | "params"]>([
    ["a message that is no JSON", "send"],
    ["params that cannot be made", "params"],
  ])("C16: %s settles the request with the cause and frees its slot", async (_what, broken) => {
    const { outbound, onSend, abort, clock } = setUp();
    const cause = new TypeError("Do not know how to serialize a BigInt");
    const fail = (): never => {
      throw cause;
    };
    if (broken === "send") onSend(fail);
    const params = broken === "params" ? fail : () => ({});
    const reply = outbound.request("tools/call", params, { limits: minute, onAbort: abort.subscribe });
    expect(await reply).toEqual({ kind: "lost", reason: "unsent", cause });
    expect([outbound.size, abort.listeners, clock.pending]).toEqual([0, 0, 0]);
  });
});

describe("close", () => {
  it("C10: settles every request, and every later one at once", async () => {
    const { outbound, request, sent, abort } = setUp();
    const cause = new Error("broken pipe");
    const replies = [request(), request()];
    outbound.close(cause);
    outbound.close(new Error("too late"));
    replies.push(request());
    const lost = { kind: "lost", reason: "closed", cause };
    expect(await Promise.all(replies)).toEqual([lost, lost, { ...lost, isUnsent: true }]);
    expect([outbound.size, abort.listeners, sent.length]).toEqual([0, 0, 2]);
  });

  it("tells of the requests that the channel could not write (P3)", async () => {
    const channel = { send: () => undefined, unsent: () => [2] };
    const deadlines = createDeadlines(createManualClock());
    const outbound = createOutbound({ channel, deadlines, maxOpenRequests: 0 });
    const replies = [1, 2].map(() => outbound.request("ping", () => ({})));
    outbound.close();
    const lost = { kind: "lost", reason: "closed" };
    expect(await Promise.all(replies)).toEqual([lost, { ...lost, isUnsent: true }]);
  });

  it("has no cause unless it is given one", async () => {
    const { outbound, request } = setUp();
    const reply = request();
    outbound.close();
    expect(Object.keys(await reply)).toEqual(["kind", "reason"]);
  });
});

describe("races", () => {
  it("C2: the first of response, cancel, timeout and close settles a request; what comes later has no effect", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 60 }), async (events) => {
        const { outbound, clock, sent, deadlines } = setUp({ maxOpenRequests: 0 });
        const model = createModel();
        const replies: Promise<Reply>[] = [];
        const aborts: LazyAbort[] = [];

        for (const event of events) {
          const id = event.target + 1;
          switch (event.type) {
            case "request": {
              const abort = new LazyAbort();
              const limits = { idleMs: event.ms, totalMs: 2 * event.ms };
              replies.push(
                outbound.request("x", () => ({}), { limits, onAbort: (listener) => abort.onAbort(listener) }),
              );
              aborts.push(abort);
              model.request(limits, clock.now());
              break;
            }
            case "respond":
              expect(outbound.settle(success(id))).toBe(model.end(id, "success"));
              break;
            case "cancel":
              aborts[event.target]?.abort("enough");
              model.end(id, "cancelled");
              break;
            case "progress":
              outbound.notify(id, progress(id));
              model.touch(id, clock.now());
              break;
            case "wait":
              clock.advance(event.ms);
              model.expire(clock.now());
              break;
            case "close":
              outbound.close();
              model.close();
              break;
          }
          expect([outbound.size, deadlines.running]).toEqual([model.open(), model.open()]);
        }
        outbound.close();
        model.close();

        const endings = model.endings();
        expect((await Promise.all(replies)).map(howItEnded)).toEqual(endings);
        const toldThePeer = (ending: unknown) => ending === "cancelled" || ending === "timeout";
        expect(cancelledIds(sent)).toEqual(
          endings.flatMap((ending, index) => (toldThePeer(ending) ? [index + 1] : [])),
        );
        clock.advance(1_000);
        expect([outbound.size, deadlines.running, clock.pending]).toEqual([0, 0, 0]);
      }),
      { numRuns: 1_000 },
    );
  });
});

type Ending = "success" | "failure" | LostReason;

const event = fc.record({
  type: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom("request", "respond", "cancel", "progress", "wait") },
    { weight: 1, arbitrary: fc.constant("close") },
  ),
  target: fc.nat(12),
  ms: fc.integer({ min: 1, max: 40 }),
});

/** What should become of each request, kept without timers and callbacks. */
function createModel() {
  const requests: { readonly limits: DeadlineLimits; readonly start: number; lastSign: number; ending?: Ending }[] = [];
  let closed = false;
  const findOpen = (id: number) => requests.find(({ ending }, index) => index === id - 1 && ending === undefined);
  return {
    request(limits: DeadlineLimits, now: number): void {
      requests.push({ limits, start: now, lastSign: now, ...(closed ? { ending: "closed" } : {}) });
    },
    end(id: number, ending: Ending): boolean {
      const request = findOpen(id);
      if (request !== undefined) request.ending = ending;
      return request !== undefined;
    },
    touch(id: number, now: number): boolean {
      const request = findOpen(id);
      if (request !== undefined) request.lastSign = now;
      return request !== undefined;
    },
    expire(now: number): void {
      for (const request of requests) {
        const { limits, start, lastSign } = request;
        if (Math.min(lastSign + limits.idleMs, start + limits.totalMs) <= now) request.ending ??= "timeout";
      }
    },
    close(): void {
      closed = true;
      for (const request of requests) request.ending ??= "closed";
    },
    open: (): number => requests.filter(({ ending }) => ending === undefined).length,
    endings: (): readonly (Ending | undefined)[] => requests.map(({ ending }) => ending),
  };
}

function howItEnded(reply: Reply): Ending {
  return reply.kind === "lost" ? reply.reason : reply.kind;
}

function cancelledIds(sent: readonly Message[]): readonly unknown[] {
  const ids = sent.flatMap((message) => (message.kind === "notification" ? [message.params.requestId] : []));
  return ids.sort((a, b) => Number(a) - Number(b));
}

function requestIds(sent: readonly Message[]): readonly Id[] {
  return sent.flatMap((message) => (message.kind === "request" ? [message.id] : []));
}

function success(id: Id, result: JsonObject = {}): Success {
  return { kind: "success", id, result };
}

function progress(progressToken: Id): Notification {
  return { kind: "notification", method: "notifications/progress", params: { progressToken } };
}

function cancelled(requestId: Id, reason: string): Notification {
  return { kind: "notification", method: "notifications/cancelled", params: { requestId, reason } };
}

/** Requests on a channel that records what is sent, and a caller who can abort them all. */
function setUp({ maxOpenRequests = 1024 }: { readonly maxOpenRequests?: number } = {}) {
  const clock = createManualClock();
  const sent: Message[] = [];
  let sending = (): void => {};
  const channel: Channel = {
    incoming: asyncQueue(),
    send(message) {
      sending();
      sent.push(message);
      return undefined;
    },
    async close() {},
  };
  const deadlines = createCountedDeadlines(clock);
  const outbound = createOutbound({ channel, deadlines, maxOpenRequests });
  const abort = createCountedAbort();
  return {
    clock,
    deadlines,
    sent,
    outbound,
    abort,
    /** Runs `task` while the next messages are sent. */
    onSend(task: () => void): void {
      sending = task;
    },
    request: (options: RequestOptions = {}): Promise<Reply> =>
      outbound.request("tools/call", () => ({}), { onAbort: abort.subscribe, abortReason: abort.reason, ...options }),
  };
}

/** Knows how many limits are on work that nobody said is over. */
function createCountedDeadlines(clock: Clock) {
  const deadlines = createDeadlines(clock);
  let running = 0;
  return {
    get running() {
      return running;
    },
    start(limits: DeadlineLimits, expire: () => void): Deadline {
      const deadline = deadlines.start(limits, expire);
      running++;
      return {
        touch: () => deadline.touch(),
        stop() {
          running--;
          deadline.stop();
        },
      };
    },
  };
}

function createCountedAbort() {
  const abort = new LazyAbort();
  const everyListener: (() => void)[] = [];
  let listeners = 0;
  return {
    everyListener,
    get listeners() {
      return listeners;
    },
    subscribe(listener: () => void): () => void {
      everyListener.push(listener);
      listeners++;
      const stop = abort.onAbort(listener);
      return () => {
        listeners--;
        stop();
      };
    },
    reason: (): string | undefined => (typeof abort.reason === "string" ? abort.reason : undefined),
    now: (reason?: string): void => abort.abort(reason),
  };
}
