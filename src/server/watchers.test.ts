import { describe, expect, it, vi } from "vitest";
import { makeCall, peer } from "../../test/support/direct.ts";
import { connect } from "../connect/index.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createManualClock, type ManualClock } from "../testing/clock.ts";
import { resource } from "./resource.ts";
import { createServer, type Server } from "./server.ts";

const uri = "stock://tea";

interface World {
  readonly log: string[];
  serve(name: string, clock?: ManualClock): Server;
}

/** Servers that share a store, and what their watchers did. */
function createWorld(clock: ManualClock): World {
  const log: string[] = [];
  const store = memoryStore({ clock });
  return {
    log,
    serve: (name, own = clock) =>
      createServer({
        name: "stock",
        version: "1",
        store,
        clock: own,
        resources: [resource("stock://{sku}", { read: () => "x" })],
        onSubscribe: (watched, { client }) => void log.push(`${name} starts ${watched} for ${client.revision}`),
        onUnsubscribe: (watched) => void log.push(`${name} stops ${watched}`),
      }),
  };
}

/** Subscribes, and resolves when that is confirmed. */
async function subscribe(server: Server, uris: readonly string[] = [uri], principal?: string) {
  const params = { notifications: { resourceSubscriptions: uris } };
  const { call, abort, notes } = makeCall("subscriptions/listen", params, {
    peer: { ...peer(), ...(principal !== undefined && { auth: { principal } }) },
  });
  const over = server(call);
  await vi.waitFor(() => expect(notes.length).toBeGreaterThan(0));
  return async () => {
    abort.abort("enough");
    await over;
  };
}

const started = (name: string, watched = uri): string => `${name} starts ${watched} for 2026-07-28`;
const stopped = (name: string, watched = uri): string => `${name} stops ${watched}`;

describe("a watcher", () => {
  it("runs once for all subscribers, and stops a second after the last", async () => {
    const clock = createManualClock();
    const { log, serve } = createWorld(clock);
    const server = serve("one");
    const leave = await Promise.all(Array.from({ length: 100 }, () => subscribe(server, [uri, uri])));
    await vi.waitFor(() => expect(log).toEqual([started("one")]));
    for (const one of leave.slice(1)) await one();
    expect(log).toEqual([started("one")]);
    await leave[0]?.();
    await clock.advanceAsync(999);
    expect(log).toEqual([started("one")]);
    await clock.advanceAsync(1);
    await vi.waitFor(() => expect(log).toEqual([started("one"), stopped("one")]));
  });

  it("is one for each resource", async () => {
    const clock = createManualClock();
    const { log, serve } = createWorld(clock);
    const server = serve("one");
    const leave = await subscribe(server, [uri, "stock://rice"]);
    const both = [started("one"), started("one", "stock://rice")].sort();
    await vi.waitFor(() => expect([...log].sort()).toEqual(both));
    await leave();
    await clock.advanceAsync(1_000);
    await vi.waitFor(() => expect(log.slice(2).sort()).toEqual([stopped("one", "stock://rice"), stopped("one")]));
  });

  it("runs in one process of several, and moves when that has no subscriber left", async () => {
    const clock = createManualClock();
    const { log, serve } = createWorld(clock);
    const [one, two] = [serve("one"), serve("two")];
    const leaveOne = await subscribe(one);
    await vi.waitFor(() => expect(log).toEqual([started("one")]));
    const leaveTwo = await subscribe(two);
    await leaveOne();
    await clock.advanceAsync(1_000);
    await vi.waitFor(() => expect(log).toEqual([started("one"), stopped("one"), started("two")]));
    await leaveTwo();
    await clock.advanceAsync(1_000);
    await vi.waitFor(() => expect(log.at(-1)).toBe(stopped("two")));
    await Promise.all([one.close(), two.close()]);
    expect(log.length).toBe(4);
  });

  it("is taken over when its process is gone without a word", async () => {
    const clock = createManualClock();
    const { log, serve } = createWorld(clock);
    const dead = createManualClock();
    await subscribe(serve("one", dead));
    await vi.waitFor(() => expect(log).toEqual([started("one")]));
    await subscribe(serve("two"));
    for (let ms = 0; ms < 20_000; ms += 1_000) {
      clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await vi.waitFor(() => expect(log).toEqual([started("one"), started("two")]));
  });

  it("stops when the server is closed", async () => {
    const { log, serve } = createWorld(createManualClock());
    const server = serve("one");
    await subscribe(server);
    await vi.waitFor(() => expect(log).toEqual([started("one")]));
    await server.close();
    expect(log).toEqual([started("one"), stopped("one")]);
  });

  it("goes on when a subscriber comes back within a second, in a process that has others and in one that has none", async () => {
    const clock = createManualClock();
    const { log, serve } = createWorld(clock);
    const [one, two] = [serve("one"), serve("two")];
    const leave = await subscribe(one);
    await vi.waitFor(() => expect(log).toEqual([started("one")]));
    await subscribe(two);
    await leave();
    await clock.advanceAsync(999);
    const again = await subscribe(one, [uri, "stock://rice"]);
    await vi.waitFor(() => expect(log).toEqual([started("one"), started("one", "stock://rice")]));
    await clock.advanceAsync(10_000);
    expect(log).toHaveLength(2);
    await again();
  });

  it.each([
    ["shared", memoryStore],
    ["its own", () => undefined],
  ])(
    "is not restarted when a session of 2025-11-25 subscribes to one more resource, with a store that is %s",
    async (_, storeOf) => {
      const clock = createManualClock();
      const log: string[] = [];
      const server = createServer({
        name: "stock",
        version: "1",
        clock,
        store: storeOf(),
        resources: [resource("stock://{sku}", { read: () => "x" })],
        onSubscribe: (watched) => void log.push(`starts ${watched}`),
        onUnsubscribe: (watched) => void log.push(`stops ${watched}`),
      });
      for (const identity of [undefined, { principal: "ann" }]) {
        log.length = 0;
        const client = await connect(server, { revision: "2025-11-25", identity });
        await client.watch(uri).ready;
        await vi.waitFor(() => expect(log).toEqual([`starts ${uri}`]));
        await client.watch("stock://rice").ready;
        await vi.waitFor(() => expect(log).toEqual([`starts ${uri}`, "starts stock://rice"]));
        await clock.advanceAsync(999);
        expect(log).toHaveLength(2);
        await client.close();
        await clock.advanceAsync(1_000);
        await vi.waitFor(() => expect(log.slice(2).sort()).toEqual(["stops stock://rice", `stops ${uri}`]));
      }
    },
  );

  it("that moves is started on behalf of a subscriber who is there, and outlives that one", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    const calls: [string, string | undefined, AbortSignal][] = [];
    const serve = (name: string) =>
      createServer({
        name: "stock",
        version: "1",
        store,
        clock,
        resources: [resource(uri, { read: () => "x" })],
        onSubscribe: (_, { auth, signal }) => void calls.push([name, auth?.principal, signal]),
      });
    const [one, two] = [serve("one"), serve("two")];
    const leaveOne = await subscribe(one, [uri], "eldest");
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    const leaveTwo = await subscribe(two, [uri], "gone");
    const stays = await subscribe(two, [uri], "stays");
    await leaveTwo();
    await leaveOne();
    await clock.advanceAsync(1_000);
    await vi.waitFor(() => expect(calls).toHaveLength(2));
    const [name, principal, signal] = calls[1] ?? [];
    expect([name, principal, signal?.aborted]).toEqual(["two", "stays", false]);
    await subscribe(two, [uri], "other");
    await stays();
    expect(signal?.aborted).toBe(false);
  });

  it("that fails to start is left to another process, is tried again, and is not stopped", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    const log: string[] = [];
    const failing = new Set(["one", "two"]);
    const serve = (name: string) =>
      createServer({
        name: "stock",
        version: "1",
        store,
        clock,
        onError: () => {},
        resources: [resource(uri, { read: () => "x" })],
        onSubscribe: () => {
          log.push(`${name} ${failing.has(name) ? "fails" : "starts"}`);
          if (failing.has(name)) throw new Error("no sensor");
        },
        onUnsubscribe: () => void log.push(`${name} stops`),
      });
    const [one, two] = [serve("one"), serve("two")];
    await subscribe(one);
    await vi.waitFor(() => expect(log).toEqual(["one fails"]));
    await subscribe(two);
    await vi.waitFor(() => expect(log).toEqual(["one fails", "two fails"]));
    failing.delete("two");
    await clock.advanceAsync(5_000);
    await vi.waitFor(() => expect(log.at(-1)).toBe("two starts"));
    const tried = log.length;
    await clock.advanceAsync(20_000);
    expect(log).toHaveLength(tried);
    await Promise.all([one.close(), two.close()]);
    expect(log.slice(tried)).toEqual(["two stops"]);
  });

  it("that fails is told to onError and tried again, and the subscription goes on", async () => {
    const onError = vi.fn();
    const clock = createManualClock();
    const server = createServer({
      name: "stock",
      version: "1",
      clock,
      onError,
      resources: [resource(uri, { read: () => "x" })],
      onSubscribe: () => {
        throw new Error("no sensor");
      },
    });
    const leave = await subscribe(server);
    await vi.waitFor(() => expect(onError).toHaveBeenCalledOnce());
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ message: "no sensor" });
    await clock.advanceAsync(5_000);
    await vi.waitFor(() => expect(onError).toHaveBeenCalledTimes(2));
    await leave();
  });
});
