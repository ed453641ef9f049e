import { describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../store/memory-store.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createSessionStore, type KeptSession } from "./session-store.ts";

const session: KeptSession = {
  peer: { revision: "2025-11-25", capabilities: { roots: {} } },
  capabilities: { tools: {} },
  ready: true,
  logLevel: "info",
  since: 0,
};

function create(ttlMs = 1_000_000) {
  const clock = createManualClock();
  const store = memoryStore({ clock });
  return { clock, store, shelf: createSessionStore(store, ttlMs), other: createSessionStore(store, ttlMs) };
}

describe("sessions in a store", () => {
  it("are found by every process, as they were left", async () => {
    const { shelf, other } = create();
    const kept = await shelf.open("a", session);
    expect(await other.find("a")).toEqual(kept);
    expect(await other.find("b")).toBeUndefined();
  });

  it("are read again only when they have changed", async () => {
    const { shelf, other } = create();
    const known = await shelf.open("a", session);
    if (!("session" in known)) throw new Error("there is no room");
    expect(await shelf.find("a", known)).toBe(known);
    await other.change("a", (now) => ({ ...now, logLevel: "error" }));
    expect(await shelf.find("a", known)).toMatchObject({ session: { logLevel: "error" } });
    await other.delete("a");
    expect(await shelf.find("a", known)).toBeUndefined();
  });

  it("keep all changes that are made at the same time", async () => {
    const { shelf, other } = create();
    await shelf.open("a", session);
    const changes = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? shelf : other).subscribe("a", `test://${n}`));
    const counts = Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? shelf : other).change("a", (now) => ({ ...now, since: now.since + 1 })),
    );
    await Promise.all([...changes, ...counts]);
    expect([...(await shelf.uris("a"))].toSorted()).toEqual(
      Array.from({ length: 20 }, (_, n) => `test://${n}`).toSorted(),
    );
    expect((await shelf.find("a"))?.session.since).toBe(20);
    await Promise.all([shelf.unsubscribe("a", "test://3"), other.unsubscribe("a", "test://4")]);
    expect(await other.uris("a")).toHaveLength(18);
  });

  it("are not made by changing or touching them", async () => {
    const { shelf } = create();
    expect(await shelf.change("a", (now) => now)).toBeUndefined();
    expect(await shelf.touch("a", session)).toBe(false);
    expect(await shelf.delete("a")).toBe(false);
    expect(await shelf.find("a")).toBeUndefined();
  });

  it("are forgotten with all that belongs to them", async () => {
    const { shelf, store, clock } = create(1_000);
    await shelf.open("a", session);
    await shelf.subscribe("a", "test://1");
    clock.advance(600);
    expect(await shelf.touch("a", session)).toBe(true);
    clock.advance(600);
    expect(await shelf.uris("a")).toEqual(["test://1"]);
    clock.advance(500);
    expect(await shelf.find("a")).toBeUndefined();
    expect(await shelf.uris("a")).toEqual([]);

    await shelf.open("b", session);
    await shelf.subscribe("b", "test://1");
    await store.streams.append("session:b/aside", ["x"]);
    expect(await shelf.delete("b")).toBe(true);
    expect(await shelf.uris("b")).toEqual([]);
    expect((await store.streams.read("session:b/aside", 0)).last).toBe(0);
  });

  it("keep each subscription for itself, however long its URI is (S10)", async () => {
    const { shelf, other, store } = create();
    await shelf.open("a", session);
    const uris = Array.from({ length: 1_500 }, (_, n) => `test://${n}/${n % 2 === 0 ? "x".repeat(4_000) : "é"}`);
    const put = vi.spyOn(store.values, "put");
    for (const uri of uris) expect(await shelf.subscribe("a", uri)).toBe(true);
    expect(put.mock.calls.map(([, text]) => text)).toEqual(uris);
    expect(await other.subscribe("a", uris[0] as string)).toBe(false);
    expect(new Set(await other.uris("a"))).toEqual(new Set(uris));
    expect([await other.unsubscribe("a", uris[0] as string), await shelf.unsubscribe("a", "test://no")]).toEqual([
      true,
      false,
    ]);
    expect(await shelf.uris("a")).toHaveLength(1_499);
  });

  it("of one owner are limited over all processes, until they end (S9)", async () => {
    const { store, clock } = create();
    const max = { sessions: 2, subscriptions: 10, heldBytes: 10_000 };
    const [one, two] = [createSessionStore(store, 1_000, max), createSessionStore(store, 1_000, max)];
    const of = (owner: string) => ({ ...session, owner });
    await one.open("a", of("ann"));
    await two.open("b", of("ann"));
    const reached = { limit: "maxSessions", max: 2, scope: "principal", retryAfterMs: 1_000 };
    expect(await one.open("c", of("ann"))).toEqual(reached);
    expect(await two.find("c")).toBeUndefined();
    expect(await one.open("d", of("bob"))).toHaveProperty("session");
    await two.change("b", (now) => ({ ...now, logLevel: "error" }));
    expect(await two.open("e", of("ann"))).toEqual(reached);
    await one.delete("b");
    expect(await two.open("f", of("ann"))).toHaveProperty("session");
    clock.advance(1_000);
    expect(await one.open("g", of("ann"))).toHaveProperty("session");
  });

  it("hold so many bytes and subscriptions of one owner over all processes, until they end (S9, S10)", async () => {
    const { store } = create();
    const max = { sessions: 10, subscriptions: 2, heldBytes: 100_000 };
    const [one, two] = [createSessionStore(store, 1_000, max), createSessionStore(store, 1_000, max)];
    const reached = (limit: string, of: number) => ({ limit, max: of, scope: "principal", retryAfterMs: 1_000 });
    const owner = `ann${"n".repeat(1_000)}`;
    await one.open("a", { ...session, owner });
    await two.open("b", { ...session, owner });
    expect([await one.subscribe("a", "test://1", owner), await two.subscribe("b", "test://1", owner)]).toEqual([
      true,
      true,
    ]);
    expect(await one.subscribe("b", "test://2", owner)).toEqual(reached("maxSubscriptions", 2));
    expect(await one.subscribe("b", "test://1", owner)).toBe(false);
    expect(await one.uris("b")).toEqual(["test://1"]);
    expect(await one.unsubscribe("a", "test://1", owner)).toBe(true);
    const long = `test://${"x".repeat(98_000)}`;
    expect(await one.subscribe("a", long, owner)).toEqual(reached("maxHeldBytes", 100_000));
    expect(await one.subscribe("a", "test://3", owner)).toBe(true);
    const peer = { ...session.peer, client: { name: "x".repeat(98_000), version: "1" } };
    expect(await two.open("c", { ...session, peer, owner })).toEqual(reached("maxHeldBytes", 100_000));
    expect(await two.open("c", { ...session, peer, owner: `${owner}a` })).toHaveProperty("session");
    await two.delete("b");
    expect(await two.subscribe("a", "test://2", owner)).toBe(true);
  });

  it("live for ever when that is wanted", async () => {
    const { shelf, clock } = create(0);
    await shelf.open("a", session);
    await shelf.subscribe("a", "test://1");
    clock.advance(1e12);
    expect(await shelf.touch("a", session)).toBe(true);
    expect(await shelf.uris("a")).toEqual(["test://1"]);
  });

  it("know how far the changes of the service have come", async () => {
    const { shelf, store } = create();
    expect(await shelf.lastChange()).toBe(0);
    await store.streams.append("changes", ["1", "2", "3"]);
    expect(await shelf.lastChange()).toBe(3);
  });
});
