import { describe, expect, it, vi } from "vitest";
import { makeCall, peer } from "../../test/support/direct.ts";
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
async function subscribe(server: Server, uris: readonly string[] = [uri]) {
  const params = { notifications: { resourceSubscriptions: uris } };
  const { call, abort, notes } = makeCall("subscriptions/listen", params, { peer: peer() });
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
  it("runs once for all subscribers, and stops after the last", async () => {
    const { log, serve } = createWorld(createManualClock());
    const server = serve("one");
    const leave = await Promise.all(Array.from({ length: 100 }, () => subscribe(server, [uri, uri])));
    await vi.waitFor(() => expect(log).toEqual([started("one")]));
    for (const one of leave.slice(1)) await one();
    expect(log).toEqual([started("one")]);
    await leave[0]?.();
    await vi.waitFor(() => expect(log).toEqual([started("one"), stopped("one")]));
  });

  it("is one for each resource", async () => {
    const { log, serve } = createWorld(createManualClock());
    const server = serve("one");
    const leave = await subscribe(server, [uri, "stock://rice"]);
    const both = [started("one"), started("one", "stock://rice")].sort();
    await vi.waitFor(() => expect([...log].sort()).toEqual(both));
    await leave();
    await vi.waitFor(() => expect(log.slice(2).sort()).toEqual([stopped("one", "stock://rice"), stopped("one")]));
  });

  it("runs in one process of several, and moves at once when that has no subscriber left", async () => {
    const { log, serve } = createWorld(createManualClock());
    const [one, two] = [serve("one"), serve("two")];
    const leaveOne = await subscribe(one);
    await vi.waitFor(() => expect(log).toEqual([started("one")]));
    const leaveTwo = await subscribe(two);
    await leaveOne();
    await vi.waitFor(() => expect(log).toEqual([started("one"), stopped("one"), started("two")]));
    await leaveTwo();
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

  it("that fails is told to onError, and the subscription goes on", async () => {
    const onError = vi.fn();
    const server = createServer({
      name: "stock",
      version: "1",
      onError,
      resources: [resource(uri, { read: () => "x" })],
      onSubscribe: () => {
        throw new Error("no sensor");
      },
    });
    const leave = await subscribe(server);
    await vi.waitFor(() => expect(onError).toHaveBeenCalledOnce());
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ message: "no sensor" });
    await leave();
  });
});
