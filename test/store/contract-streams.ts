import { expect, it } from "vitest";
import type { StoreStreams } from "../../src/store/store.ts";
import type { Fixture } from "./contract.ts";
import { eventually, given, LONG, rejects, SHORT, strangeNames } from "./support.ts";

const nothing = { events: [], last: 0, lost: false };

export function streamContract(fixture: () => Fixture): void {
  it("has nothing in a stream that was never written", async () => {
    const { store } = fixture();
    expect(await store.streams.read("a", 0)).toEqual(nothing);
    await store.streams.trim("a", 5);
    await store.streams.delete("a");
    expect(await store.streams.read("a", 0)).toEqual(nothing);
  });

  it("counts from 1 and gives the position of the last text", async () => {
    const { store, second } = fixture();
    expect(await store.streams.append("a", ["one"])).toBe(1);
    expect(await second.streams.append("a", ["two", "three"])).toBe(3);
    expect(await store.streams.append("b", ["other"])).toBe(1);
    expect(await second.streams.read("a", 0)).toEqual({
      events: [
        { position: 1, text: "one" },
        { position: 2, text: "two" },
        { position: 3, text: "three" },
      ],
      last: 3,
      lost: false,
    });
    expect(await store.streams.read("a", 2)).toEqual({
      events: [{ position: 3, text: "three" }],
      last: 3,
      lost: false,
    });
    expect(await store.streams.read("a", 3)).toEqual({ events: [], last: 3, lost: false });
  });

  it("reads at most `limit` events, oldest first: 1,000 when left out", async () => {
    const { store } = fixture();
    await store.streams.append("a", count(1_500));
    expect(await positions(store.streams, "a", 0)).toEqual([1, 1_000, 1_000]);
    expect(await positions(store.streams, "a", 1_000)).toEqual([1_001, 1_500, 500]);
    expect(await positions(store.streams, "a", 0, 1_500)).toEqual([1, 1_500, 1_500]);
    expect(await positions(store.streams, "a", 7, 2)).toEqual([8, 9, 2]);
    expect((await store.streams.read("a", 0, 1)).last).toBe(1_500);
  });

  it("keeps empty and large texts as they are", async () => {
    const { store, second } = fixture();
    const texts = ["", "\0", "a\0b", "\r\n", "é😀\uffff", "x".repeat(1_048_576)];
    await store.streams.append("a", texts);
    const { events } = await second.streams.read("a", 0);
    expect(events.map(({ text }, i) => text === texts[i])).toEqual(texts.map(() => true));
  });

  it("takes any text of up to 512 characters as a name, and keeps names apart", async () => {
    const { store, second } = fixture();
    for (const name of strangeNames) expect(await store.streams.append(name, [`text of ${name}`])).toBe(1);
    for (const name of strangeNames) {
      const { events } = await second.streams.read(name, 0);
      expect(events).toEqual([{ position: 1, text: `text of ${name}` }]);
    }
    await rejects(() => store.streams.append("x".repeat(513), ["1"]), "invalid");
    await rejects(() => store.streams.append("a", ["1"], { ttlMs: 0 }), "invalid");
  });

  it("keeps values, streams and leases of one name apart", async () => {
    const { store } = fixture();
    await store.values.put("a", "value");
    await store.streams.append("a", ["event"]);
    const lease = given(await store.leases.acquire("a", LONG));
    await store.streams.delete("a");
    expect((await store.values.get("a"))?.text).toBe("value");
    await store.values.delete("a");
    expect(await lease.renew()).toBe(true);
  });

  it("gives every position once to many who append at once, and their texts together", async () => {
    const { store, second } = fixture();
    const appends = Array.from({ length: 40 }, (_, i) =>
      (i % 2 === 0 ? store : second).streams.append("a", [`${i} first`, `${i} second`, `${i} third`]),
    );
    const lasts = (await Promise.all(appends)).map(given);
    expect(lasts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => 3 * i + 3));
    const { events } = await store.streams.read("a", 0);
    for (const [i, last] of lasts.entries()) {
      const own = events.filter(({ position }) => position > last - 3 && position <= last);
      expect(own.map(({ text }) => text)).toEqual([`${i} first`, `${i} second`, `${i} third`]);
    }
  });

  it("shows all texts of an append to readers, or none", async () => {
    const { store, second } = fixture();
    let writing = true;
    const lengths = new Set<number>();
    const reader = (async () => {
      while (writing) lengths.add((await second.streams.read("a", 0)).events.length % 50);
    })();
    for (let i = 0; i < 10; i++) await store.streams.append("a", count(50));
    writing = false;
    await reader;
    expect([...lengths]).toEqual([0]);
  });

  it("drops what is trimmed, tells who missed it, and uses no position twice", async () => {
    const { store, second } = fixture();
    await store.streams.append("a", count(5));
    await second.streams.trim("a", 3);
    expect(await store.streams.read("a", 3)).toMatchObject({ events: [{ position: 4 }, { position: 5 }], lost: false });
    expect(await store.streams.read("a", 2)).toMatchObject({ events: [{ position: 4 }, { position: 5 }], lost: true });
    await store.streams.trim("a", 1);
    expect(await positions(store.streams, "a", 0)).toEqual([4, 5, 2]);
    await second.streams.trim("a", 99);
    expect(await store.streams.read("a", 0)).toEqual({ events: [], last: 5, lost: true });
    expect(await store.streams.read("a", 5)).toEqual({ events: [], last: 5, lost: false });
    expect(await store.streams.append("a", ["next"])).toBe(6);
    expect(await second.streams.read("a", 5)).toEqual({
      events: [{ position: 6, text: "next" }],
      last: 6,
      lost: false,
    });
  });

  it("keeps at least the newest `keep` events, and not all for ever", async () => {
    const { store, second } = fixture();
    for (let i = 0; i < 20; i++) {
      await store.streams.append("a", count(250), { keep: 10 });
      const last = (i + 1) * 250;
      const newest = await second.streams.read("a", last - 10);
      expect(newest.lost).toBe(false);
      expect(newest.events.map(({ position }) => position)).toEqual(Array.from({ length: 10 }, (_, n) => last - 9 + n));
    }
    const { events, lost, last } = await store.streams.read("a", 0, 5_000);
    expect(lost).toBe(true);
    expect(last).toBe(5_000);
    expect(events.length).toBeLessThan(2_500);
    expect(events.at(-1)?.position).toBe(5_000);
    expect(events.map(({ position }) => position - (events[0]?.position ?? 0))).toEqual([...events.keys()]);
  });

  it("appends with a fence until there is a later lease on this name", async () => {
    const { store, second } = fixture();
    const first = given(await store.leases.acquire("a", LONG));
    expect(await store.streams.append("a", ["1"], { fence: first.token })).toBe(1);
    await first.release();
    expect(await store.streams.append("a", ["2"], { fence: first.token })).toBe(2);
    const later = given(await second.leases.acquire("a", LONG));
    expect(await store.streams.append("a", ["3", "4"], { fence: first.token })).toBeUndefined();
    expect((await store.streams.read("a", 0)).last).toBe(2);
    expect(await second.streams.append("a", ["5"], { fence: later.token })).toBe(3);
    expect(await store.streams.append("a", ["6"])).toBe(4);
  });

  it("forgets a stream that was deleted: it counts from 1 again", async () => {
    const { store, second } = fixture();
    await store.streams.append("a", count(3));
    await second.streams.delete("a");
    expect(await store.streams.read("a", 0)).toEqual(nothing);
    expect(await store.streams.append("a", ["1"])).toBe(1);
  });

  it("tells who has read further than there is that the stream was forgotten", async () => {
    const { store, second } = fixture();
    await store.streams.append("a", count(3));
    expect(await second.streams.read("a", 4)).toEqual({ events: [], last: 3, lost: true });
    await second.streams.delete("a");
    expect(await store.streams.read("a", 3)).toEqual({ events: [], last: 0, lost: true });
    await store.streams.append("a", ["1"]);
    expect(await second.streams.read("a", 3)).toEqual({ events: [], last: 1, lost: true });
    expect(await second.streams.read("a", 1)).toEqual({ events: [], last: 1, lost: false });
  });

  it("forgets a stream when nothing was added for its time to live", async () => {
    const { store, passes } = fixture();
    await store.streams.append("gone", ["1"], { ttlMs: SHORT });
    await store.streams.append("later", ["1"], { ttlMs: SHORT });
    await store.streams.append("never", ["1"], { ttlMs: SHORT });
    const later = await store.streams.append("later", ["2"], { ttlMs: LONG });
    const never = await store.streams.append("never", ["2"]);
    await passes(SHORT);
    await eventually(async () => expect(await store.streams.read("gone", 0)).toEqual(nothing));
    expect((await store.streams.read("later", 0)).last).toBe(later);
    expect((await store.streams.read("never", 0)).last).toBe(never);
    expect(await store.streams.append("gone", ["1"])).toBe(1);
  });
}

function count(length: number): readonly string[] {
  return Array.from({ length }, (_, i) => `text ${i}`);
}

/** The first and the last position that is read, and how many there are. */
async function positions(
  streams: StoreStreams,
  ...args: Parameters<StoreStreams["read"]>
): Promise<readonly unknown[]> {
  const { events } = await streams.read(...args);
  return [events[0]?.position, events.at(-1)?.position, events.length];
}
