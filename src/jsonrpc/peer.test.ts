import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AsyncQueue, asyncQueue } from "../std/async-queue.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { createManualClock, type ManualClock } from "../testing/clock.ts";
import { createMemoryChannels } from "../transport/memory-channels.ts";
import type { Channel } from "./channel.ts";
import { createPeer } from "./create-peer.ts";
import type { IncomingRequest } from "./inbound.ts";
import { type Id, type Incoming, type Message, type Notification, parseText, rpcCodes } from "./message.ts";
import type { Reply } from "./outbound.ts";
import type { PeerHandlers, PeerOptions, PeerParts, RpcPeer } from "./peer.ts";

const closingError = { code: rpcCodes.internal, message: "the connection is closing" };

describe("requests of ours", () => {
  it("C11: are answered in any order", async () => {
    const { peer, receive, received } = setUp();
    const replies = [1, 2, 3].map((n) => peer.request("double", () => ({ n })));
    await receive(...[3, 1, 2].map((id) => result(id, { doubled: 2 * id })));
    expect(await Promise.all(replies)).toMatchObject([2, 4, 6].map((doubled) => ({ result: { doubled } })));
    expect(received).toMatchObject([1, 2, 3].map((n) => ({ kind: "request", id: n, params: { n } })));
  });

  it.each<[what: string, text: string]>([
    ["an unknown id", '{"jsonrpc":"2.0","id":99,"result":{}}'],
    ["the id as a string", '{"jsonrpc":"2.0","id":"1","result":{}}'],
    ["no id", '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"?"}}'],
    ["a huge id", '{"jsonrpc":"2.0","id":9007199254740991,"result":{}}'],
  ])("C12: a response with %s disturbs nothing, and is counted", async (_what, text) => {
    const { peer, receive, received } = setUp();
    const reply = peer.request("ping", () => ({}));
    await receive(text);
    expect(peer.counters).toEqual({ strayReplies: 1, malformed: 0 });
    await receive(result(1));
    expect(await reply).toMatchObject({ kind: "success" });
    expect(received).toHaveLength(1);
  });

  it.each([
    [
      "both result and error",
      '"result":{},"error":{"code":1,"message":"?"}',
      '"result" and "error" exclude each other',
    ],
    ["a result that is no object", '"result":[]', "not a valid response"],
    ["an error without a code", '"error":{"message":"?"}', "not a valid response"],
  ])(
    "a response with %s fails its request at once, is counted and not answered (B6)",
    async (_what, members, cause) => {
      const { peer, receive, received } = setUp();
      const replies = [1, 2].map(() => peer.request("ping", () => ({})));
      await receive(`{"jsonrpc":"2.0","id":1,${members}}`);
      expect(await replies[0]).toEqual({ kind: "lost", reason: "malformed", cause });
      expect(peer.counters).toEqual({ strayReplies: 0, malformed: 1 });
      await receive(result(2));
      expect(await replies[1]).toMatchObject({ kind: "success" });
      expect(received).toHaveLength(2);
    },
  );

  it("C4: a response after the cancel is counted and dropped", async () => {
    const { peer, receive } = setUp();
    const abort = new LazyAbort();
    const reply = peer.request("slow", () => ({}), { onAbort: (listener) => abort.onAbort(listener) });
    abort.abort(undefined);
    await receive(result(1));
    expect(await reply).toEqual({ kind: "lost", reason: "cancelled" });
    expect(peer.counters.strayReplies).toBe(1);
  });

  it("C13: are 1024 at most unless told otherwise", async () => {
    const { peer, settled, received } = setUp();
    for (let i = 0; i < 1024; i++) peer.request("ping", () => ({}));
    expect(await peer.request("ping", () => ({}))).toEqual({ kind: "lost", reason: "full", max: 1024 });
    await settled();
    expect(received).toHaveLength(1024);
  });

  it("live on progress, but not beyond their total", async () => {
    const { peer, receive, clock } = setUp({ findRequestId: progressToken });
    const heard: unknown[] = [];
    const reply = peer.request("slow", () => ({}), {
      limits: { idleMs: 500, totalMs: 2_000 },
      onNotification: ({ params }) => heard.push(params.progress),
    });
    for (let progress = 1; progress <= 30; progress++) {
      await clock.advanceAsync(100);
      await receive(progressText(1, progress));
    }
    expect(await reply).toMatchObject({ kind: "lost", reason: "timeout" });
    expect(heard).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
  });

  it.each<[how: string, end: (connection: Connection) => unknown, cause: unknown]>([
    ["the peer hangs up", ({ far }) => far.close(), undefined],
    ["we close", ({ peer }) => peer.close("bye"), "bye"],
    ["we drain", ({ peer }) => peer.drain(), undefined],
    ["a handler throws", ({ receive }) => receive(notification("throw")), new Error("broken handler")],
  ])("C10: are all lost when %s", async (_how, end, cause) => {
    const connection = setUp({
      onNotification() {
        throw new Error("broken handler");
      },
    });
    const { peer, ended, settled } = connection;
    const replies = [peer.request("a", () => ({})), peer.request("b", () => ({}))];
    await settled();
    await end(connection);
    await ended;
    replies.push(peer.request("c", () => ({})));
    const lost = { kind: "lost", reason: "closed", ...(cause === undefined ? {} : { cause }) };
    expect(await Promise.all(replies)).toEqual([lost, lost, { ...lost, isUnsent: true }]);
  });

  it("C10: are all lost, with the cause, when the channel breaks", async () => {
    const { peer, incoming, ended } = setUpHalfOpen();
    const reply = peer.request("a", () => ({}));
    const cause = new Error("broken pipe");
    incoming.fail(cause);
    expect(await ended).toBe(cause);
    expect(await reply).toEqual({ kind: "lost", reason: "closed", cause });
  });
});

describe("losing requests of ours", () => {
  it("C10: does not wait for requests of the peer that are open when it hangs up", async () => {
    const { peer, incoming, settled, exchanges } = setUpHalfOpen();
    incoming.push([requestMessage(1)]);
    const reply = peer.request("a", () => ({}));
    incoming.end();
    await settled();
    expect(exchanges[0]?.abort.aborted).toBe(false);
    expect(await reply).toEqual({ kind: "lost", reason: "closed" });
  });

  it.each(["close", "drain"] as const)(
    "C10: needs no reader: a handler that is stuck does not stop %s",
    async (end) => {
      const { peer, receive, clock } = setUp({ onRequest: () => new Promise<void>(() => {}) });
      await receive(request(1));
      const reply = peer.request("a", () => ({}));
      const done = peer[end]();
      await clock.advanceAsync(5_000);
      await done;
      expect(await reply).toEqual({ kind: "lost", reason: "closed" });
    },
  );
});

describe("notifications", () => {
  it("C19: reach the request they name, nobody when it is over, and the handler otherwise", async () => {
    const { peer, receive, heard } = setUp({ findRequestId: progressToken });
    const progress: unknown[] = [];
    peer.request("slow", () => ({}), { onNotification: ({ params }) => progress.push(params.progress) });
    await receive(progressText(1, 1), progressText(2, 2), progressText("1", 3), notification("other"));
    await receive(result(1), progressText(1, 4));
    expect(progress).toEqual([1]);
    expect(heard.map(({ params, method }) => params.progress ?? method)).toEqual([2, 3, "other"]);
  });

  it("belong to no request unless there is somebody to tell", async () => {
    const { peer, receive, heard } = setUp();
    peer.request("slow", () => ({}), { onNotification: () => expect.unreachable() });
    await receive(progressText(1, 1));
    expect(heard).toHaveLength(1);
  });

  it("of ours are written as they are, and not after close", async () => {
    const { peer, received, settled } = setUp();
    peer.notify("notifications/message", { level: "info" });
    await settled();
    await peer.close();
    expect(peer.notify("notifications/message", { level: "error" })).toBeUndefined();
    await settled();
    expect(received).toEqual([{ kind: "notification", method: "notifications/message", params: { level: "info" } }]);
  });

  it("50,000 at once do not keep a request from its answer", async () => {
    const { receive, received, heard } = setUp({ onRequest: (exchange) => exchange.succeed({}) });
    await receive(...Array.from({ length: 50_000 }, () => notification("flood")), request(1));
    expect(heard).toHaveLength(50_000);
    expect(received).toMatchObject([{ kind: "success", id: 1 }]);
  });
});

describe("requests of the peer", () => {
  it("C35: are answered in completion order", async () => {
    const { receive, exchanges, received, settled } = setUp();
    await receive(request(1), request(2), request(3));
    for (const index of [1, 2, 0]) exchanges[index]?.succeed({});
    await settled();
    expect(received.map(idOf)).toEqual([2, 3, 1]);
  });

  it("C36: a handler that returns a promise holds back reading, and the peer with it", async () => {
    const gates: (() => void)[] = [];
    const { far, settled, received } = setUp({
      maxUnread: 3,
      onRequest: async (exchange) => {
        await new Promise<void>((resolve) => gates.push(resolve));
        exchange.succeed({});
      },
    });
    far.send(requestMessage(1));
    await settled();
    const sends = [2, 3, 4, 5].map((id) => far.send(requestMessage(id)));
    await settled();
    expect(gates).toHaveLength(1);
    expect(sends.map((sending) => sending instanceof Promise)).toEqual([false, false, false, true]);

    for (let open = 0; open < 5; open++) {
      expect(gates).toHaveLength(open + 1);
      gates[open]?.();
      await settled();
    }
    expect(received.map(idOf)).toEqual([1, 2, 3, 4, 5]);
    await Promise.all(sends);
  });

  it.each<[what: string, text: string, options: PeerOptions]>([
    ["malformed messages", "{", {}],
    ["batches", "[1]", {}],
    ["duplicate ids", request(1), {}],
    ["too many requests", request(2), { maxOpen: 1 }],
  ])("C36: refusing %s does not pile up answers for a peer that does not read", async (_what, text, options) => {
    const { far, near, settled } = setUp({ ...options, maxUnread: 10, reads: false });
    far.send(requestMessage(1));
    for (let burst = 0; burst < 50; burst++) {
      for (let i = 0; i < 10; i++) far.send(anything(text));
      await settled();
    }
    await near.close();
    expect(await readAll(far)).toHaveLength(11);
  });

  it("C37: a cancel is honoured while the request is queued", async () => {
    const { receive, exchanges, received, settled } = setUp();
    await receive(request(1), cancel(1, "changed my mind"));
    const [queued] = exchanges;
    expect(queued?.abort.aborted).toBe(true);
    expect(queued?.abort.reason).toBe("changed my mind");
    queued?.succeed({});
    await settled();
    expect(received).toEqual([]);
  });

  it("C38: a cancel aborts the signal, and nothing is written even if the handler is done in the same tick", async () => {
    const { receive, received, exchanges, heard } = setUp({
      onRequest(exchange) {
        exchanges.push(exchange);
        exchange.abort.signal.addEventListener("abort", () => exchange.succeed({}));
        return undefined;
      },
    });
    await receive(request(1));
    await receive(cancel(1));
    expect(exchanges[0]?.abort.signal.aborted).toBe(true);
    expect(received).toEqual([]);
    expect(heard.map(({ method }) => method)).toEqual(["notifications/cancelled"]);
  });

  it("C39: a handler that ignores the signal runs on, and its result is discarded", async () => {
    const done: Id[] = [];
    const { receive, received, clock } = setUp({
      onRequest(exchange) {
        clock.after(100, () => {
          done.push(exchange.request.id);
          exchange.succeed({});
        });
        return undefined;
      },
    });
    await receive(request(1), request(2), cancel(1));
    await clock.advanceAsync(100);
    expect(done).toEqual([1, 2]);
    expect(received.map(idOf)).toEqual([2]);
  });

  it("C43: a cancel reaches only requests of that peer: the id spaces are separate", async () => {
    const { peer, receive, exchanges, settled, received } = setUp();
    const ours = peer.request("ours", () => ({}));
    await receive(cancel(1));
    await receive(request(1), request(2));
    await receive(cancel(1), cancel("2"));
    expect(exchanges.map(({ abort }) => abort.aborted)).toEqual([true, false]);
    exchanges[1]?.succeed({});
    await receive(result(1));
    await settled();
    expect(await ours).toMatchObject({ kind: "success", id: 1 });
    expect(received.map(idOf)).toEqual([1, 2]);
  });

  it.each(["null", "true", "1.5", "{}", "[]"])("ignores a cancel of %s", async (requestId) => {
    const { receive, exchanges } = setUp();
    await receive(request(1));
    await receive(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${requestId}}}`);
    await receive('{"jsonrpc":"2.0","method":"notifications/cancelled"}');
    expect(exchanges[0]?.abort.aborted).toBe(false);
  });

  it("with an id in use are refused, and the first is answered", async () => {
    const { receive, received, exchanges, settled } = setUp();
    await receive(request(1), request(1), request("1"));
    expect(exchanges).toHaveLength(2);
    exchanges[0]?.succeed({ first: true });
    await settled();
    expect(received).toMatchObject([
      { kind: "failure", id: 1, error: { code: rpcCodes.invalidRequest } },
      { kind: "success", id: 1, result: { first: true } },
    ]);
  });

  it("are refused when too many are open", async () => {
    const { receive, received, exchanges } = setUp({ maxOpen: 2 });
    await receive(request(1), request(2), request(3));
    expect(exchanges).toHaveLength(2);
    expect(received).toMatchObject([{ kind: "failure", id: 3, error: { code: rpcCodes.internal } }]);
  });

  it("are 1024 at most unless told otherwise", async () => {
    const { receive, received, exchanges } = setUp();
    await receive(...Array.from({ length: 1025 }, (_, id) => request(id)));
    expect(exchanges).toHaveLength(1024);
    expect(received.map(idOf)).toEqual([1024]);
  });
});

describe("what is no message", () => {
  it.each<[what: string, text: string, code: number]>([
    ["a batch", `[${request(1)},${request(2)},{"jsonrpc":"2.0"}]`, rpcCodes.invalidRequest],
    ["an empty batch", "[]", rpcCodes.invalidRequest],
    ["text that is no JSON", '{"jsonrpc":', rpcCodes.parseError],
  ])("C32: %s is answered once, without an id, and reading goes on", async (_what, text, code) => {
    const { peer, receive, received, exchanges } = setUp();
    await receive(text, request(3));
    expect(received).toMatchObject([{ kind: "failure", id: null, error: { code } }]);
    expect(exchanges.map(({ request }) => request.id)).toEqual([3]);
    expect(peer.counters.malformed).toBe(1);
  });

  it.each(["null", "true", "1.5", "{}", "9007199254740993"])(
    "C33: a request with the id %s gets -32600",
    async (id) => {
      const { receive, received, exchanges } = setUp();
      await receive(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      expect(received).toMatchObject([{ kind: "failure", id: null, error: { code: rpcCodes.invalidRequest } }]);
      expect(exchanges).toEqual([]);
    },
  );

  it("C31: an unknown notification, even a broken one, is not answered", async () => {
    const { peer, receive, received } = setUp();
    await receive(notification("who/knows"), '{"jsonrpc":"2.0","method":"x","params":1}');
    expect(received).toEqual([]);
    expect(peer.counters.malformed).toBe(1);
  });
});

describe("batches, where they are allowed", () => {
  const acceptsBatches = () => true;

  it("are taken item by item", async () => {
    const { peer, receive, received, exchanges, heard } = setUp({ acceptsBatches });
    const reply = peer.request("ping", () => ({}));
    await receive(`[${request(1)},${notification("note")},${result(1)},7,${request("1")}]`);
    expect(exchanges.map(({ request }) => request.id)).toEqual([1, "1"]);
    expect(heard).toHaveLength(1);
    expect(await reply).toMatchObject({ kind: "success" });
    expect(received.slice(1)).toMatchObject([{ kind: "failure", id: null }]);
  });

  it("must not hold initialize", async () => {
    const { receive, received, exchanges } = setUp({ acceptsBatches });
    await receive(`[${request(1)},{"jsonrpc":"2.0","id":2,"method":"initialize"}]`);
    expect(exchanges).toEqual([]);
    expect(received).toMatchObject([{ kind: "failure", id: null, error: { code: rpcCodes.invalidRequest } }]);
  });

  it("must not hold more messages than requests may be open (S9)", async () => {
    const { receive, received, exchanges } = setUp({ acceptsBatches, maxOpen: 3 });
    await receive(`[${[1, 2, 3, 4].map((id) => request(id)).join()}]`);
    expect(exchanges).toEqual([]);
    const data = { reason: "limit-reached", limit: "maxOpenRequests", max: 3, scope: "connection" };
    expect(received).toMatchObject([{ kind: "failure", id: null, error: { code: rpcCodes.internal, data } }]);
  });

  it("may be allowed for a time only", async () => {
    let allowed = true;
    const { receive, exchanges } = setUp({ acceptsBatches: () => allowed });
    await receive(`[${request(1)}]`);
    allowed = false;
    await receive(`[${request(2)}]`);
    expect(exchanges.map(({ request }) => request.id)).toEqual([1]);
  });

  it("C36: are held back by a handler like anything else", async () => {
    const gates: (() => void)[] = [];
    const { receive, settled } = setUp({
      acceptsBatches,
      onRequest: () => new Promise<void>((resolve) => gates.push(resolve)),
    });
    await receive(`[${request(1)},${request(2)}]`, request(3));
    for (const open of [1, 2, 3]) {
      expect(gates).toHaveLength(open);
      gates[open - 1]?.();
      await settled();
    }
  });
});

describe("close", () => {
  it("C41: aborts every open request, answers each once, then closes", async () => {
    const { peer, incoming, exchanges, log, settled } = setUpHalfOpen();
    incoming.push([requestMessage(1), requestMessage(2)]);
    await settled();
    for (const { abort, request } of exchanges) abort.onAbort(() => log.push(`abort ${request.id}`));
    await peer.close();
    for (const exchange of exchanges) exchange.succeed({ too: "late" });
    const answers = [1, 2].map((id) => ({ kind: "failure", id, error: closingError }));
    expect(log).toEqual(["abort 1", "abort 2", ...answers, "close"]);
  });

  it("C153: may be repeated, never throws, and run resolves after it", async () => {
    const { peer, ended, log } = setUpHalfOpen();
    await Promise.all([peer.close(), peer.close("again"), peer.drain()]);
    await peer.close();
    expect(await ended).toBeUndefined();
    expect(log).toEqual(["close"]);
  });

  it("C153: may be called from inside a handler", async () => {
    const { peer, receive, ended, received } = setUp({
      onRequest: async (exchange) => {
        await peer.close("from inside");
        exchange.succeed({ too: "late" });
      },
    });
    await receive(request(1), request(2));
    expect(await ended).toBeUndefined();
    expect(received).toEqual([{ kind: "failure", id: 1, error: closingError }]);
  });

  it("C153: may be called before run", async () => {
    const [near] = createMemoryChannels();
    const peer = createPeer(near, { onRequest: () => undefined, onNotification() {} });
    await peer.close();
    expect(await peer.run()).toBeUndefined();
  });

  it("takes no request any more, not even one that has arrived", async () => {
    const { peer, far, exchanges, ended } = setUp({
      onRequest: async (exchange) => {
        exchanges.push(exchange);
        peer.close();
      },
    });
    for (const id of [1, 2, 3]) far.send(requestMessage(id));
    await ended;
    expect(exchanges.map(({ request }) => request.id)).toEqual([1]);
  });

  it("ends with the error when the channel breaks, and aborts what is open", async () => {
    const { incoming, exchanges, ended, log } = setUpHalfOpen();
    incoming.push([requestMessage(1)]);
    incoming.fail(new Error("broken pipe"));
    expect(await ended).toEqual(new Error("broken pipe"));
    expect(exchanges[0]?.abort.aborted).toBe(true);
    expect(log).toEqual([{ kind: "failure", id: 1, error: closingError }, "close"]);
  });
});

describe("drain", () => {
  it("refuses new requests, lets open ones answer, then closes", async () => {
    const { peer, receive, exchanges, received, clock } = setUp();
    await receive(request(1));
    const ours = peer.request("ours", () => ({}));
    const drained = peer.drain();
    await receive(request(2));
    expect(received).toMatchObject([{ method: "ours" }, { kind: "failure", id: 2, error: closingError }]);

    await receive(result(1));
    expect(await ours).toMatchObject({ kind: "success" });
    await clock.advanceAsync(4_999);
    expect(exchanges.map(({ abort }) => abort.aborted)).toEqual([false]);
    exchanges[0]?.succeed({ in: "time" });
    await drained;
    await clock.advanceAsync(0);
    expect(received.at(-1)).toEqual({ kind: "success", id: 1, result: { in: "time" } });
    expect(clock.pending).toBe(0);
  });

  it.each<[options: PeerOptions, ms: number]>([
    [{}, 5_000],
    [{ drainMs: 200 }, 200],
  ])("with %j ends what is still open after %d ms", async (options, ms) => {
    const { peer, receive, exchanges, received, clock } = setUp(options);
    await receive(request(1));
    const drained = peer.drain();
    await clock.advanceAsync(ms - 1);
    expect(received).toEqual([]);
    await clock.advanceAsync(1);
    await drained;
    expect(exchanges[0]?.abort.aborted).toBe(true);
    expect(received).toEqual([{ kind: "failure", id: 1, error: closingError }]);
  });

  it("is cut short by close", async () => {
    const { peer, receive, received, clock } = setUp();
    await receive(request(1));
    const drained = peer.drain();
    await peer.close();
    await drained;
    await clock.advanceAsync(0);
    expect(received).toEqual([{ kind: "failure", id: 1, error: closingError }]);
  });

  it("happens by itself when the peer has hung up and still listens", async () => {
    const { incoming, exchanges, ended, log, clock } = setUpHalfOpen();
    incoming.push([requestMessage(1), requestMessage(2)]);
    incoming.end();
    await clock.advanceAsync(1_000);
    exchanges[0]?.succeed({});
    await clock.advanceAsync(4_000);
    expect(await ended).toBeUndefined();
    expect(log).toEqual([
      { kind: "success", id: 1, result: {} },
      { kind: "failure", id: 2, error: closingError },
      "close",
    ]);
  });
});

describe("hanging up", () => {
  it("is told once, while what is open may still be answered", async () => {
    const { incoming, exchanges, ended, log, settled } = setUpHalfOpen({ onEnd: () => log.push("hung up") });
    incoming.push([requestMessage(1)]);
    incoming.end();
    await settled();
    exchanges[0]?.succeed({});
    await ended;
    expect(log).toEqual(["hung up", { kind: "success", id: 1, result: {} }, "close"]);
  });

  it("is told when the channel breaks, too", async () => {
    const { incoming, ended, log } = setUpHalfOpen({ onEnd: () => log.push("hung up") });
    incoming.fail(new Error("broken pipe"));
    await ended;
    expect(log).toEqual(["hung up", "close"]);
  });
});

describe("two peers", () => {
  it("C3: a cancelled call ends on both sides", async () => {
    const { client, server, exchanges, toClient, settled } = setUpPair();
    const abort = new LazyAbort();
    const reply = client.request("slow", () => ({}), {
      onAbort: (listener) => abort.onAbort(listener),
      abortReason: () => "user left",
    });
    await settled();
    abort.abort(undefined);
    await settled();
    exchanges[0]?.succeed({});
    await server.drain();
    expect(await reply).toEqual({ kind: "lost", reason: "cancelled" });
    expect(exchanges[0]?.abort.reason).toBe("user left");
    expect(toClient).toEqual([]);
  });

  it("10,000 calls against answers, cancels and timeouts: one end each, one answer at most, nothing left", async () => {
    const seen = { ends: new Set<string>(), strayReplies: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 100, maxLength: 100 }), async (plans) => {
        const { client, clock, toClient, toServer, ended } = setUpPair({
          maxOpenRequests: plans.length,
          maxOpen: plans.length,
          onRequest(exchange) {
            const { answerAfter } = plans[Number(exchange.request.params.plan)] ?? unplanned;
            if (answerAfter < never) clock.after(answerAfter, () => exchange.succeed({}));
            return undefined;
          },
        });
        const replies = plans.map((plan, index) => start(client, clock, { plan, index }));
        let open = replies.length;
        for (const reply of replies) reply.then(() => open--);
        for (let ms = 0; ms < 20; ms++) {
          clock.advance(1);
          await Promise.resolve();
        }
        await clock.advanceAsync(0);

        const stillOpen = open;
        // Only if both tables have forgotten every call that is over do these find room.
        const refills = plans.map(() => client.request("refill", () => ({})));
        await clock.advanceAsync(0);
        expect(toClient.filter(({ kind }) => kind === "failure")).toEqual([]);
        await client.close();
        expect((await Promise.all(refills)).map(howItEnded).filter((end) => end === "full")).toHaveLength(stillOpen);

        const ends = (await Promise.all(replies)).map(howItEnded);
        expect(ends.filter((end, index) => !possibleEnds(plans[index] ?? unplanned).includes(end))).toEqual([]);
        const answered = toClient.map(idOf);
        const cancelled = toServer.flatMap((message) =>
          message.kind === "notification" ? [message.params.requestId] : [],
        );
        expect(new Set(answered).size).toBe(answered.length);
        expect(new Set(cancelled).size).toBe(cancelled.length);
        expect(cancelled).toHaveLength(ends.filter((end) => end === "cancelled" || end === "timeout").length);

        await clock.advanceAsync(5_000);
        await ended;
        expect(clock.pending).toBe(0);
        for (const end of ends) seen.ends.add(end);
        seen.strayReplies += client.counters.strayReplies;
      }),
      { numRuns: 100 },
    );
    expect([...seen.ends].sort()).toEqual(["cancelled", "closed", "success", "timeout"]);
    expect(seen.strayReplies).toBeGreaterThan(0);
  });
});

/** What happens to one call, in ms from its start. */
interface Plan {
  readonly answerAfter: number;
  readonly cancelAfter: number;
  readonly giveUpAfter: number;
}

const never = Number.POSITIVE_INFINITY;
const unplanned: Plan = { answerAfter: never, cancelAfter: never, giveUpAfter: never };
const moment = fc.oneof(fc.constant(never), fc.integer({ min: 1, max: 10 }));
const plan: fc.Arbitrary<Plan> = fc.record({ answerAfter: moment, cancelAfter: moment, giveUpAfter: moment });

function start(
  client: RpcPeer,
  clock: ManualClock,
  call: { readonly plan: Plan; readonly index: number },
): Promise<Reply> {
  const { cancelAfter, giveUpAfter } = call.plan;
  const abort = new LazyAbort();
  if (cancelAfter < never) clock.after(cancelAfter, () => abort.abort(undefined));
  return client.request("call", () => ({ plan: call.index }), {
    limits: { idleMs: giveUpAfter < never ? giveUpAfter : 0, totalMs: 0 },
    onAbort: (listener) => abort.onAbort(listener),
  });
}

/** An answer is on its way for a few turns, so it may lose against what happens later; the rest is settled by time. */
function possibleEnds({ answerAfter, cancelAfter, giveUpAfter }: Plan): readonly string[] {
  if (Math.min(answerAfter, cancelAfter, giveUpAfter) === never) return ["closed"];
  const ends: string[] = [];
  if (answerAfter < never) ends.push("success");
  if (cancelAfter < never && cancelAfter <= giveUpAfter) ends.push("cancelled");
  if (giveUpAfter < never && giveUpAfter <= cancelAfter) ends.push("timeout");
  return ends;
}

function howItEnded(reply: Reply): string {
  return reply.kind === "lost" ? reply.reason : reply.kind;
}

function idOf(message: Incoming): Id | null | undefined {
  return "id" in message ? message.id : undefined;
}

function progressToken({ params }: Notification): Id | undefined {
  const token = params.progressToken;
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}

const request = (id: Id): string => JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call" });
const requestMessage = (id: Id): Message => ({ kind: "request", id, method: "tools/call", params: {} });
const result = (id: Id, result = {}): string => JSON.stringify({ jsonrpc: "2.0", id, result });
const notification = (method: string, params = {}): string => JSON.stringify({ jsonrpc: "2.0", method, params });
const cancel = (requestId: Id, reason?: string): string =>
  notification("notifications/cancelled", { requestId, reason });
const progressText = (progressToken: Id, progress: number): string =>
  notification("notifications/progress", { progressToken, progress });

/** A memory channel does not look at what it carries, so whatever can arrive can be sent. */
const anything = (text: string): Message => parseText(text) as Message;

interface Setup extends PeerOptions, Partial<PeerHandlers> {
  readonly maxUnread?: number;
  /** False when the far end does not read. */
  readonly reads?: boolean;
}

/** A peer, and at the far end of its connection a test that writes texts and sees all that is sent. */
interface Connection extends Running {
  readonly near: Channel;
  readonly far: Channel;
  readonly received: readonly Incoming[];
  /** Lets these texts arrive, and everything happen that takes no time. */
  receive(...texts: readonly string[]): Promise<void>;
}

function setUp({ maxUnread = 1024, reads = true, ...options }: Setup = {}): Connection {
  const [near, far] = createMemoryChannels({ maxUnread });
  const running = startPeer(near, options);
  const received: Incoming[] = [];
  if (reads) readAll(far, received);
  return {
    ...running,
    near,
    far,
    received,
    async receive(...texts) {
      for (const text of texts) far.send(anything(text));
      await running.settled();
    },
  };
}

interface HalfOpen extends Running {
  readonly incoming: AsyncQueue<readonly Incoming[]>;
  /** What was sent, and when the channel was closed. */
  readonly log: (Message | string)[];
}

/** A peer on a channel whose two directions end on their own, as those of a child process do. */
function setUpHalfOpen(options: Partial<PeerHandlers> = {}): HalfOpen {
  const incoming = asyncQueue<readonly Incoming[]>();
  const log: (Message | string)[] = [];
  const channel: Channel = {
    incoming,
    send(message) {
      log.push(message);
      return undefined;
    },
    async close() {
      log.push("close");
      incoming.end();
    },
  };
  return { ...startPeer(channel, options), incoming, log };
}

interface Pair extends Omit<Running, "peer"> {
  readonly client: RpcPeer;
  readonly server: RpcPeer;
  readonly toServer: readonly Message[];
  readonly toClient: readonly Message[];
}

/** Two peers that talk to each other, and what each sent. The options of a handler are those of the server. */
function setUpPair(options: PeerOptions & Partial<PeerHandlers> = {}): Pair {
  const [near, far] = createMemoryChannels();
  const [toServer, toClient]: [Message[], Message[]] = [[], []];
  const { peer: server, ...running } = startPeer(tap(far, toClient), options);
  const client = createPeer(tap(near, toServer), silent, { ...options, clock: running.clock });
  return { ...running, server, client, toServer, toClient, ended: Promise.all([client.run(), running.ended]) };
}

const silent: PeerHandlers = { onRequest: () => undefined, onNotification() {} };

function tap(channel: Channel, seen: Message[]): Channel {
  return {
    ...channel,
    send(message) {
      seen.push(message);
      return channel.send(message);
    },
  };
}

interface Running {
  readonly peer: RpcPeer;
  readonly ended: Promise<unknown>;
  readonly clock: ManualClock;
  readonly exchanges: IncomingRequest[];
  readonly heard: readonly Notification[];
  settled(): Promise<void>;
}

function startPeer(channel: Channel, options: PeerOptions & Partial<PeerHandlers>): Running {
  const clock = createManualClock();
  const exchanges: IncomingRequest[] = [];
  const heard: Notification[] = [];
  const handlers: PeerHandlers = {
    onRequest(exchange) {
      exchanges.push(exchange);
      return undefined;
    },
    onNotification: (notification) => heard.push(notification),
    ...options,
  };
  const peer = createPeer(channel, handlers, { clock, ...options });
  return { peer, ended: peer.run(), clock, exchanges, heard, settled: () => clock.advanceAsync(0) };
}

async function readAll(channel: Channel, into: Incoming[] = []): Promise<readonly Incoming[]> {
  for await (const batch of channel.incoming) into.push(...batch);
  return into;
}

describe("messages that do not come over the channel", () => {
  it("are answered where they came from, and so is a question about them", async () => {
    const aside: Message[] = [];
    const via = { send: (message: Message) => void aside.push(message) };
    const { peer, exchanges, received } = setUp();
    peer.receive({ kind: "request", id: 1, method: "order", params: {} }, via);
    const reply = peer.request("confirm", () => ({}), { via: exchanges[0]?.via });
    expect(aside).toMatchObject([{ kind: "request", method: "confirm" }]);
    peer.receive({ kind: "success", id: 1, result: { ok: true } }, via);
    expect(await reply).toMatchObject({ result: { ok: true } });
    exchanges[0]?.succeed({ done: true });
    expect(aside).toMatchObject([{ method: "confirm" }, { kind: "success", id: 1, result: { done: true } }]);
    expect(received).toEqual([]);
  });

  it("tell the way they came when they are cancelled, once", () => {
    const dropped: Id[] = [];
    const via = { send: () => undefined, drop: (id: Id) => void dropped.push(id) };
    const { peer } = setUp();
    peer.receive({ kind: "request", id: "a", method: "order", params: {} }, via);
    const cancel = { kind: "notification", method: "notifications/cancelled", params: { requestId: "a" } } as const;
    peer.receive(cancel, via);
    peer.receive(cancel, via);
    expect(dropped).toEqual(["a"]);
  });

  it("say that a request was not delivered, and why", async () => {
    const { peer, incoming } = setUpHalfOpen();
    const reply = peer.request("order", () => ({}));
    const cause = new Error("no route");
    incoming.push([7, 1].map((id) => ({ kind: "undelivered", id, cause })));
    expect(await reply).toEqual({ kind: "lost", reason: "undelivered", cause });
    expect(peer.counters).toEqual({ strayReplies: 0, malformed: 0 });
  });

  it("say which request a notification belongs to", async () => {
    const heard: Notification[] = [];
    const { peer, incoming, settled } = setUpHalfOpen();
    void peer.request("order", () => ({}), { onNotification: (notification) => heard.push(notification) });
    incoming.push([{ kind: "notification", method: "notifications/message", params: {}, relatedRequestId: 1 }]);
    await settled();
    expect(heard).toHaveLength(1);
  });
});

describe("a peer that takes over", () => {
  const create = (parts: PeerParts = {}) => {
    const sent: Message[] = [];
    const heard: Notification[] = [];
    const exchanges: IncomingRequest[] = [];
    const channel: Channel = {
      incoming: { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) },
      send: (message) => void sent.push(message),
      async close() {},
    };
    const handlers: PeerHandlers = {
      onRequest: (exchange) => void exchanges.push(exchange),
      onNotification: (notification) => heard.push(notification),
    };
    return { peer: createPeer(channel, handlers, parts), channel, sent, heard, exchanges };
  };

  it("goes on with the ids of the one before it", () => {
    const first = create();
    expect(first.peer.nextId()).toBe(1);
    void first.peer.request("order", () => ({}));
    void first.peer.request("order", () => ({}));
    const second = create({ firstId: first.peer.nextId() });
    expect(second.peer.nextId()).toBe(3);
    void second.peer.request("order", () => ({}));
    expect(second.sent).toMatchObject([{ id: 3 }]);
    expect(second.peer.nextId()).toBe(4);
  });

  it("knows what came late for the one before it", () => {
    const { peer, channel, heard } = create({ firstId: 3 });
    peer.receive({ kind: "notification", method: "notifications/progress", params: {}, relatedRequestId: 2 }, channel);
    peer.receive({ kind: "notification", method: "notifications/progress", params: {}, relatedRequestId: 3 }, channel);
    expect(heard).toMatchObject([{ relatedRequestId: 3 }]);
    peer.receive({ kind: "success", id: 2, result: {} }, channel);
    expect(peer.counters.strayReplies).toBe(1);
  });

  it("can do so when neither side waits for an answer", () => {
    const { peer, channel, exchanges } = create();
    expect(peer.isBusy()).toBe(false);
    peer.receive({ kind: "request", id: 1, method: "order", params: {} }, channel);
    expect(peer.isBusy()).toBe(true);
    void peer.request("confirm", () => ({}));
    exchanges[0]?.succeed({});
    expect(peer.isBusy()).toBe(true);
    peer.receive({ kind: "success", id: 1, result: {} }, channel);
    expect(peer.isBusy()).toBe(false);
  });
});
