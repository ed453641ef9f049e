import { describe, expect, it, vi } from "vitest";
import { asyncQueue } from "../../std/async-queue.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { type Store, StoreError, type TopicMessage } from "../../store/store.ts";
import { createManualClock } from "../../testing/clock.ts";
import { type ClusterEvent, createNode, type Relayed } from "./cluster.ts";

const away = new StoreError("unavailable", "the store is away");

function create({
  clock = createManualClock(),
  store = memoryStore({ clock }),
}: {
  clock?: ReturnType<typeof createManualClock>;
  store?: Store;
} = {}) {
  const told: ClusterEvent[] = [];
  const answered: Relayed[] = [];
  const missed = vi.fn();
  const hear = vi.fn((telling: ClusterEvent) => void told.push(telling));
  const node = createNode({ store, clock, told: hear, answered: (relayed) => answered.push(relayed), missed });
  return { node, clock, store, told, answered, missed, hear, settled: () => clock.advanceAsync(0) };
}

describe("a process among others", () => {
  it("hears what is told to all, and answers that are for it", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    const [one, other] = [create({ clock, store }), create({ clock, store })];
    await Promise.all([one.node.join(), other.node.join()]);
    await one.node.tell({ kind: "closed", session: "a" });
    await one.node.send(other.node.id, { session: "a", text: "{}" });
    await one.settled();
    expect([one.told, other.told]).toEqual([[{ kind: "closed", session: "a" }], [{ kind: "closed", session: "a" }]]);
    expect([one.answered, other.answered]).toEqual([[], [{ session: "a", text: "{}" }]]);
  });

  it("joins once, however often it is asked to", async () => {
    const { node, store } = create();
    const subscribe = vi.spyOn(store.topics, "subscribe");
    await Promise.all([node.join(), node.join()]);
    await node.join();
    expect(subscribe).toHaveBeenCalledTimes(2);
  });

  it("can join when the store is back", async () => {
    const { node, store, told, settled } = create();
    const acquire = vi.spyOn(store.leases, "acquire").mockRejectedValueOnce(away);
    await expect(node.join()).rejects.toBe(away);
    await node.join();
    expect(acquire).toHaveBeenCalledTimes(2);
    await node.tell({ kind: "free", session: "a" });
    await settled();
    expect(told).toHaveLength(1);
  });

  it("lives until it leaves, also when the store was away for long", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    const [one, other] = [create({ clock, store }), create({ clock, store })];
    const alive = () => other.node.isAlive(one.node.id);
    expect(await alive()).toBe(false);
    await one.node.join();
    await clock.advanceAsync(60_000);
    expect(await alive()).toBe(true);
    const held = vi.spyOn(store.leases, "acquire").mockRejectedValue(away);
    await one.node.leave();
    expect(await alive()).toBe(false);
    expect(one.node.left).toBe(true);
    held.mockRestore();
    await clock.advanceAsync(60_000);
    expect(await alive()).toBe(false);
  });

  it("knows when it has missed something, and hears on after something went wrong", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const clock = createManualClock();
    const store = memoryStore({ clock });
    const queue = asyncQueue<TopicMessage>();
    const close = async (): Promise<void> => queue.end();
    vi.spyOn(store.topics, "subscribe").mockResolvedValueOnce({
      close,
      [Symbol.asyncDispose]: close,
      [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
    });
    const { node, hear, told, missed, settled } = create({ clock, store });
    await node.join();
    hear.mockImplementationOnce(() => {
      throw new Error("a fault of ours");
    });
    queue.push({ kind: "message", text: JSON.stringify({ kind: "free", session: "a" }) });
    await settled();
    queue.push({ kind: "gap" });
    queue.push({ kind: "message", text: JSON.stringify({ kind: "free", session: "b" }) });
    await settled();
    expect(missed).toHaveBeenCalledOnce();
    expect(told).toEqual([{ kind: "free", session: "b" }]);
    expect(error).toHaveBeenCalledOnce();
    error.mockRestore();
  });
});
