import { describe, expect, it, vi } from "vitest";
import { callOf, messagesOf } from "../../../test/support/fake-endpoint.ts";
import { type FakeNode, serveFakeNodes } from "../../../test/support/fake-nodes.ts";
import type { FakeReply } from "../../../test/support/fake-reply.ts";
import { eventually } from "../../../test/support/patience.ts";
import { gate, notification, request } from "../../../test/support/served.ts";
import { readBlocks } from "../../../test/support/sse-text.ts";
import { StoreError } from "../../store/store.ts";
import type { HttpOptions } from "../../transport/http/options.ts";

type Session = { readonly "mcp-session-id": string };

const serve = (options: HttpOptions = {}) => {
  const served = serveFakeNodes(options);
  const [a, b, c] = served.nodes;
  const get = async (node: FakeNode, session: Session, lastEventId?: string): Promise<FakeReply> => {
    const reply = node.get({ ...session, ...(lastEventId !== undefined && { "last-event-id": lastEventId }) });
    await reply.begun;
    await served.settled();
    return reply;
  };
  /** A process that ends without a word: what it holds in the store runs out. */
  const kill = (node: FakeNode): void => {
    node.store.fault = new StoreError("closed", "the process is gone");
  };
  return { ...served, a, b, c, get, kill };
};

const blocks = (reply: FakeReply) => readBlocks(reply.sink?.text ?? "").filter(({ comment }) => comment === undefined);
const ids = (reply: FakeReply) => blocks(reply).flatMap(({ id }) => (id === undefined ? [] : [id]));
const said = (reply: FakeReply) => messagesOf(reply).map(({ method, id, params }) => method ?? id ?? params);
const uris = (reply: FakeReply) =>
  messagesOf(reply).map(({ method, params }) => (params as { uri?: string } | undefined)?.uri ?? method);
const away = new StoreError("unavailable", "the store is away");
const truncated = "notifications/replay_truncated";
const updated = (n: number) => ({ kind: "resource", uri: `test://${n}` }) as const;

/** A call that says something now and then, when the test has it say so. */
const hold = async (node: FakeNode, session: Session) => {
  const call = node.post(callOf(1, "poll"), session);
  await node.holding(1);
  await eventually(() => expect(call.sink?.state).toBe("ended"));
  return call;
};

describe("C108: the events of a call", () => {
  it.each(["2025-11-25", "2025-06-18"])("can be picked up in any process by a client of %s", async (revision) => {
    const { a, b, c, get } = serve();
    const session = await a.open(revision);
    const call = a.post(callOf(1, "count", { n: 5 }), session);
    await eventually(() => expect(call.sink?.state).toBe("ended"));
    const all = messagesOf(call);
    expect(all).toHaveLength(6);
    const events = blocks(call).filter(({ message }) => message !== undefined);
    for (const node of [a, b, c]) {
      for (const [index, { id = "" }] of events.entries()) {
        const again = await get(node, session, id);
        if (index === events.length - 1) expect(again.sent?.status).toBe(405);
        else expect(messagesOf(again)).toEqual(all.slice(index + 1));
        if (again.sink !== undefined) expect(again.sink.state).toBe("ended");
      }
    }
  });

  it("are followed while it goes on", async () => {
    const { a, b, get } = serve();
    const session = await a.open();
    const call = await hold(a, session);
    const [prime] = ids(call);
    const followed = await get(b, session, prime);
    expect(followed.sink?.state).toBe("open");
    a.release();
    await eventually(() => expect(followed.sink?.state).toBe("ended"));
    expect(messagesOf(followed)).toMatchObject([{ id: 1, result: { content: [{ text: "polled" }] } }]);
  });

  it("move to the newest connection, wherever it is", async () => {
    const { a, b, c, get, settled } = serve();
    const session = await a.open("2025-11-25", { elicitation: {} });
    const call = a.post(callOf(1, "ask", { text: "who" }), session);
    await eventually(() => expect(messagesOf(call)).toHaveLength(1));
    const [prime = "", asked = ""] = ids(call);
    const second = await get(b, session, prime);
    expect(call.sink?.state).toBe("ended");
    expect(messagesOf(second)).toEqual(messagesOf(call));
    const third = await get(c, session, asked);
    expect(second.sink?.state).toBe("ended");
    const question = messagesOf(call)[0];
    b.post({ jsonrpc: "2.0", id: question?.id, result: { action: "decline" } }, session);
    await eventually(() => expect(third.sink?.state).toBe("ended"));
    await settled();
    expect(messagesOf(third)).toMatchObject([{ id: 1 }]);
  });

  it("are in the store before they are on the wire", async () => {
    const { a, clock } = serve();
    const session = await a.open();
    const call = a.post(callOf(1, "count", { n: 3 }), session);
    const append = vi.spyOn(a.store.streams, "append").mockRejectedValue(away);
    await eventually(() => expect(append).toHaveBeenCalled());
    await clock.advanceAsync(1_000);
    expect(messagesOf(call)).toEqual([]);
    append.mockRestore();
    await clock.advanceAsync(2_000);
    await eventually(() => expect(call.sink?.state).toBe("ended"));
    expect(messagesOf(call)).toHaveLength(4);
  });

  it("are kept once when the store did not say that it has them", async () => {
    const { a, clock, get } = serve();
    const session = await a.open();
    const { append } = a.store.streams;
    const spy = vi.spyOn(a.store.streams, "append").mockImplementation(async (...args) => {
      await append(...args);
      throw away;
    });
    const call = a.post(callOf(1, "count", { n: 1 }), session);
    await eventually(() => expect(spy).toHaveBeenCalled());
    await clock.advanceAsync(2_000);
    spy.mockRestore();
    await clock.advanceAsync(2_000);
    await eventually(() => expect(call.sink?.state).toBe("ended"));
    const again = await get(a, session, ids(call)[0]);
    expect(messagesOf(again)).toEqual(messagesOf(call));
    expect(messagesOf(again)).toHaveLength(2);
  });

  it("end within 9 s with an error that says whether to retry when the process that ran it is gone (B12)", async () => {
    const { a, b, c, get, kill, clock } = serve();
    const session = await a.open();
    const call = await hold(a, session);
    kill(a);
    const [prime = ""] = ids(call);
    const [first, second] = [await get(b, session, prime), await get(c, session, prime)];
    expect(first.sink?.state).toBe("ended");
    await clock.advanceAsync(9_000);
    expect(second.sink?.state).toBe("ended");
    const error = {
      code: -32000,
      message: expect.stringMatching(/process .* is gone, and the request may have had effects; retry it only if/),
      data: { reason: "connection-closed", safeToRetry: false },
    };
    expect(messagesOf(second)).toEqual([{ jsonrpc: "2.0", id: 1, error }]);
    expect(messagesOf(await get(b, session, prime))).toEqual(messagesOf(second));
  });

  it("end with an error that says to retry when nothing but reading was asked of a process that is gone (B12)", async () => {
    const { a, b, get, kill, clock } = serve();
    const session = await a.open();
    const call = a.post(request(5, "resources/read", { uri: "test://polled/a" }), session);
    await eventually(() => expect(call.sink?.state).toBe("ended"));
    kill(a);
    const followed = await get(b, session, ids(call)[0]);
    await clock.advanceAsync(9_000);
    const data = { reason: "connection-closed", safeToRetry: true };
    const message = expect.stringMatching(/process .* is gone; retry the request$/);
    expect(messagesOf(followed)).toEqual([{ jsonrpc: "2.0", id: 5, error: { code: -32000, message, data } }]);
  });

  it("do not end with an error when only the store was away", async () => {
    const { a, b, get, clock, nodes } = serve();
    const session = await a.open();
    const call = await hold(a, session);
    const followed = await get(b, session, ids(call)[0]);
    for (const { store } of nodes) store.fault = away;
    await clock.advanceAsync(60_000);
    // The one that runs it is the last to reach the store again.
    b.store.fault = undefined;
    await clock.advanceAsync(3_000);
    for (const { store } of nodes) store.fault = undefined;
    await clock.advanceAsync(10_000);
    expect(followed.sink?.state).toBe("open");
    a.release();
    await clock.advanceAsync(10_000);
    expect(messagesOf(followed)).toMatchObject([{ id: 1, result: {} }]);
  });

  it("cannot be picked up any more when something else is in their place, but still reach who is there", async () => {
    const { a, store, settled } = serve();
    const session = await a.open("2025-11-25", { elicitation: {} });
    const call = a.post(callOf(1, "ask", { text: "who" }), session);
    await eventually(() => expect(messagesOf(call)).toHaveLength(1));
    const [stream = ""] = ids(call)[0]?.split(/-\d+$/) ?? [];
    await store.streams.append(`session:${session["mcp-session-id"]}/${stream}`, ["{}"]);
    const answer = {
      jsonrpc: "2.0",
      id: messagesOf(call)[0]?.id,
      result: { action: "accept", content: { reply: "me" } },
    };
    a.post(answer, session);
    await eventually(() => expect(call.sink?.state).toBe("ended"));
    await settled();
    expect(blocks(call).at(-1)).toEqual({ message: expect.objectContaining({ id: 1 }) });
  });

  it("C109: say what is lost", async () => {
    const { a, b, get } = serve({ limits: { maxReplayBytes: 1_000 } });
    const session = await a.open();
    const call = a.post(callOf(1, "count", { n: 50, size: 100 }), session);
    await eventually(() => expect(call.sink?.state).toBe("ended"));
    const again = await get(b, session, ids(call)[0]);
    const [first, ...rest] = messagesOf(again);
    expect(first).toMatchObject({ method: truncated });
    expect(rest).toEqual(messagesOf(call).slice(-rest.length));
  });
});

describe("news", () => {
  const subscribed = async (node: FakeNode, count = 3): Promise<Session> => {
    const session = await node.open();
    for (let n = 1; n <= count; n++) {
      const reply = node.post(request(n, "resources/subscribe", { uri: `test://${n}` }), session);
      await reply.begun;
      expect(messagesOf(reply)).toEqual([{ jsonrpc: "2.0", id: n, result: {} }]);
    }
    return session;
  };

  it("reach a client whichever process they come from, and only what it subscribed to", async () => {
    const { a, b, c, get, settled } = serve();
    const session = await subscribed(a);
    const news = await get(b, session);
    await c.announce(updated(1));
    await a.announce(updated(9));
    await c.announce({ kind: "tools" });
    await settled();
    expect(uris(news)).toEqual(["test://1", "notifications/tools/list_changed"]);
  });

  it("wait for the first who asks", async () => {
    const { a, b, get } = serve();
    const session = await subscribed(a);
    await a.announce(updated(2));
    expect(uris(await get(b, session))).toEqual(["test://2"]);
  });

  it("are told from where the client stopped, in any process, once and in order", async () => {
    const { nodes, a, get, settled } = serve();
    const session = await subscribed(a);
    const heard: unknown[] = [];
    let last: string | undefined;
    for (let n = 0; n < 30; n++) {
      await nodes[n % 3]?.announce(updated((n % 3) + 1));
      const node = nodes[(n * 2) % 3] ?? a;
      const news = await get(node, session, last);
      await a.announce(updated(3));
      await settled();
      heard.push(...uris(news));
      last = ids(news).at(-1);
      news.leave();
      await settled();
    }
    expect(heard).toEqual(Array.from({ length: 30 }, (_, n) => [`test://${(n % 3) + 1}`, "test://3"]).flat());
  });

  it("C110: go to one stream, however many are read, and to another when that is left", async () => {
    const { nodes, a, get, settled } = serve();
    const session = await subscribed(a);
    const streams = [await get(nodes[0], session), await get(nodes[1], session), await get(nodes[2], session)];
    await a.announce(updated(1));
    await settled();
    expect(streams.map(uris)).toEqual([["test://1"], [], []]);
    streams[0]?.leave();
    await settled();
    await a.announce(updated(2));
    await settled();
    expect(streams.flatMap(uris).toSorted()).toEqual(["test://1", "test://2"]);
  });

  it("stay where they are when another stream comes back that had them before", async () => {
    const { a, b, c, get, settled } = serve();
    const session = await subscribed(a);
    const [first, second] = [await get(a, session), await get(b, session)];
    await a.announce(updated(1));
    await settled();
    first.leave();
    await settled();
    await a.announce(updated(2));
    await settled();
    const third = await get(c, session, ids(first).at(-1));
    await a.announce(updated(3));
    await settled();
    expect([first, second, third].map(uris)).toEqual([["test://1"], ["test://2", "test://3"], []]);
    second.leave();
    await settled();
    await a.announce(updated(1));
    await settled();
    expect(uris(third)).toEqual(["test://1"]);
  });

  it("are told once also when the store was away for so long that nobody seems to live", async () => {
    const { a, b, c, nodes, get, clock } = serve();
    const session = await subscribed(a);
    const [first, second] = [await get(a, session), await get(b, session)];
    for (const { store } of nodes) store.fault = away;
    await clock.advanceAsync(30_000);
    b.store.fault = undefined;
    await clock.advanceAsync(3_000);
    for (const { store } of nodes) store.fault = undefined;
    await clock.advanceAsync(3_000);
    await c.announce(updated(1));
    await clock.advanceAsync(3_000);
    expect([first, second].flatMap(uris)).toEqual(["test://1"]);
  });

  it("move to who comes back with an id, and end where they were", async () => {
    const { a, b, get, settled } = serve();
    const session = await subscribed(a);
    const first = await get(a, session);
    await a.announce(updated(1));
    await settled();
    const second = await get(b, session, ids(first).at(-1));
    expect(first.sink?.state).toBe("ended");
    await a.announce(updated(2));
    await settled();
    expect([uris(first), uris(second)]).toEqual([["test://1"], ["test://2"]]);
  });

  it("are told by another stream when the process that told them is gone", async () => {
    const { a, b, c, get, kill, clock } = serve();
    const session = await subscribed(a);
    await get(a, session);
    const other = await get(b, session);
    kill(a);
    await c.announce(updated(1));
    await clock.advanceAsync(10_000);
    expect(uris(other)).toEqual(["test://1"]);
  });

  it("follow what the session subscribes to, wherever it does", async () => {
    const { a, b, c, get, settled } = serve();
    const session = await a.open();
    const news = await get(b, session);
    for (const [method, announced] of [
      ["subscribe", true],
      ["unsubscribe", false],
    ] as const) {
      const before = uris(news).length;
      await c.post(request(1, `resources/${method}`, { uri: "test://1" }), session).begun;
      await settled();
      await a.announce(updated(1));
      await settled();
      expect(uris(news).length - before).toBe(announced ? 1 : 0);
    }
  });

  it("begin when the client is ready, wherever it says so", async () => {
    const { a, b, get, settled } = serve();
    const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "fake", version: "1" } };
    const opened = a.post(request(0, "initialize", hello));
    await opened.begun;
    const session = { "mcp-session-id": opened.sent?.headers["mcp-session-id"] ?? "" };
    const news = await get(a, session);
    await a.announce({ kind: "tools" });
    await settled();
    expect(messagesOf(news)).toEqual([]);
    await b.post(notification("notifications/initialized"), session).begun;
    await settled();
    await b.announce({ kind: "tools" });
    await settled();
    expect(uris(news)).toEqual(["notifications/tools/list_changed"]);
  });

  it("C109: say what is lost", async () => {
    const { a, b, get, store, settled } = serve();
    const session = await subscribed(a);
    const news = await get(a, session);
    await a.announce(updated(1));
    await settled();
    news.leave();
    await a.announce(updated(2));
    await a.announce(updated(3));
    await store.streams.trim("changes", 2);
    const again = await get(b, session, ids(news).at(-1));
    expect(said(again)[0]).toBe(truncated);
    // Who breaks off in the middle of that hears all of it again.
    expect(
      blocks(again)
        .slice(1)
        .every(({ id }) => id === undefined),
    ).toBe(true);
  });

  it("C105: a stream that opens while its session ends is ended", async () => {
    const { a, b, settled } = serve();
    const session = await a.open();
    const { put } = b.store.values;
    const { opened, open } = gate();
    vi.spyOn(b.store.values, "put").mockImplementation(async (...args) => {
      await opened;
      return put(...args);
    });
    const news = b.get(session);
    await settled();
    const ended = b.request("DELETE", "", session);
    await settled();
    expect(ended.sent?.status).toBe(204);
    open();
    await news.begun;
    expect(news.sink?.state).toBe("ended");
  });

  it.each(["nonsense", "1-1", `${"x".repeat(16)}-3`])(
    "C109: who comes with %j is told that something is lost",
    async (id) => {
      const { a, b, get } = serve();
      expect(said(await get(b, await a.open(), id))).toEqual([truncated]);
    },
  );

  it("wait in the store for a client that is slow", async () => {
    const { a, b, get, settled } = serve();
    const session = await subscribed(a);
    const news = await get(b, session);
    news.sink?.stall();
    for (let n = 0; n < 30; n++) await a.announce(updated((n % 3) + 1));
    await settled();
    expect(uris(news)).toHaveLength(1);
    news.sink?.catchUp();
    await settled();
    expect(uris(news)).toEqual(Array.from({ length: 30 }, (_, n) => `test://${(n % 3) + 1}`));
  });

  it("begin again when the service has ended them", async () => {
    const { a, get, clock } = serve();
    const session = await subscribed(a, 1);
    const news = await get(a, session);
    const before = a.listening.length;
    await clock.advanceAsync(10_000);
    expect(a.listening.length).toBe(before);
    news.leave();
    await clock.advanceAsync(0);
    expect(a.listening.every(({ aborted }) => aborted)).toBe(true);
  });
});

describe("what belongs to no stream of its own", () => {
  it("is told with the news, in any process, and can be picked up", async () => {
    const { a, b, c, get, settled } = serve();
    const session = await a.open("2025-11-25", { elicitation: {} });
    const call = a.post(callOf(1, "ask", { text: "who" }), session);
    call.leave();
    await settled();
    const news = await get(b, session);
    await eventually(() => expect(messagesOf(news)).toMatchObject([{ method: "elicitation/create" }]));
    const again = await get(c, session, ids(news)[0]);
    expect(messagesOf(again)).toEqual(messagesOf(news));
  });
});

it("streams that only wait are limited in each process", async () => {
  const { a, get } = serve({ budgets: { connection: { maxStreams: 2 } } });
  const session = await a.open();
  const [first] = [await get(a, session), await get(a, session)];
  expect((await get(a, session)).sent?.status).toBe(429);
  first?.leave();
  expect((await get(a, session)).sink).toBeDefined();
});
