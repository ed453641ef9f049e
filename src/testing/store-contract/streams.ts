import type { StoreStreams } from "../../store/store.ts";
import type { ContractCases } from "./cases.ts";
import { equal, eventually, given, isTrue, LONG, rejects, SHORT, strangeNames } from "./support.ts";

const nothing = { events: [], last: 0, lost: false };

export const streamCases: ContractCases = {
  async "has nothing in a stream that was never written"({ store }) {
    equal(await store.streams.read("a", 0), nothing);
    await store.streams.trim("a", 5);
    await store.streams.delete("a");
    equal(await store.streams.read("a", 0), nothing);
  },

  async "counts from 1 and gives the position of the last text"({ store, second }) {
    equal(await store.streams.append("a", ["one"]), 1);
    equal(await second.streams.append("a", ["two", "three"]), 3);
    equal(await store.streams.append("b", ["other"]), 1);
    equal(await second.streams.read("a", 0), {
      events: [
        { position: 1, text: "one" },
        { position: 2, text: "two" },
        { position: 3, text: "three" },
      ],
      last: 3,
      lost: false,
    });
    equal(await store.streams.read("a", 2), {
      events: [{ position: 3, text: "three" }],
      last: 3,
      lost: false,
    });
    equal(await store.streams.read("a", 3), { events: [], last: 3, lost: false });
  },

  async "reads at most `limit` events, oldest first: 1,000 when left out"({ store }) {
    await store.streams.append("a", count(1_500));
    equal(await positions(store.streams, "a", 0), [1, 1_000, 1_000]);
    equal(await positions(store.streams, "a", 1_000), [1_001, 1_500, 500]);
    equal(await positions(store.streams, "a", 0, 1_500), [1, 1_500, 1_500]);
    equal(await positions(store.streams, "a", 7, 2), [8, 9, 2]);
    equal((await store.streams.read("a", 0, 1)).last, 1_500);
  },

  async "keeps empty and large texts as they are"({ store, second }) {
    const texts = ["", "\0", "a\0b", "\r\n", "é😀\uffff", "x".repeat(1_048_576)];
    await store.streams.append("a", texts);
    const { events } = await second.streams.read("a", 0);
    equal(
      events.map(({ text }, i) => text === texts[i]),
      texts.map(() => true),
    );
  },

  async "takes any text of up to 512 characters as a name, and keeps names apart"({ store, second }) {
    for (const name of strangeNames) equal(await store.streams.append(name, [`text of ${name}`]), 1);
    for (const name of strangeNames) {
      const { events } = await second.streams.read(name, 0);
      equal(events, [{ position: 1, text: `text of ${name}` }]);
    }
    await rejects(() => store.streams.append("x".repeat(513), ["1"]), "invalid");
    await rejects(() => store.streams.append("a", ["1"], { ttlMs: 0 }), "invalid");
  },

  async "keeps values, streams and leases of one name apart"({ store }) {
    await store.values.put("a", "value");
    await store.streams.append("a", ["event"]);
    const lease = given(await store.leases.acquire("a", LONG));
    await store.streams.delete("a");
    equal((await store.values.get("a"))?.text, "value");
    await store.values.delete("a");
    equal(await lease.renew(), true);
  },

  async "gives every position once to many who append at once, and their texts together"({ store, second }) {
    const appends = Array.from({ length: 40 }, (_, i) =>
      (i % 2 === 0 ? store : second).streams.append("a", [`${i} first`, `${i} second`, `${i} third`]),
    );
    const lasts = (await Promise.all(appends)).map(given);
    equal(
      lasts.toSorted((a, b) => a - b),
      Array.from({ length: 40 }, (_, i) => 3 * i + 3),
    );
    const { events } = await store.streams.read("a", 0);
    for (const [i, last] of lasts.entries()) {
      const own = events.filter(({ position }) => position > last - 3 && position <= last);
      equal(
        own.map(({ text }) => text),
        [`${i} first`, `${i} second`, `${i} third`],
      );
    }
  },

  async "shows all texts of an append to readers, or none"({ store, second }) {
    let writing = true;
    const lengths = new Set<number>();
    const reader = (async () => {
      while (writing) lengths.add((await second.streams.read("a", 0)).events.length % 50);
    })();
    for (let i = 0; i < 10; i++) await store.streams.append("a", count(50));
    writing = false;
    await reader;
    equal([...lengths], [0]);
  },

  async "drops what is trimmed, tells who missed it, and uses no position twice"({ store, second }) {
    await store.streams.append("a", count(5));
    await second.streams.trim("a", 3);
    for (const [after, lost] of [
      [3, false],
      [2, true],
    ] as const) {
      const page = await store.streams.read("a", after);
      equal([page.events.map(({ position }) => position), page.lost], [[4, 5], lost]);
    }
    await store.streams.trim("a", 1);
    equal(await positions(store.streams, "a", 0), [4, 5, 2]);
    await second.streams.trim("a", 99);
    equal(await store.streams.read("a", 0), { events: [], last: 5, lost: true });
    equal(await store.streams.read("a", 5), { events: [], last: 5, lost: false });
    equal(await store.streams.append("a", ["next"]), 6);
    equal(await second.streams.read("a", 5), {
      events: [{ position: 6, text: "next" }],
      last: 6,
      lost: false,
    });
  },

  async "keeps at least the newest `keep` events, and not all for ever"({ store, second }) {
    for (let i = 0; i < 20; i++) {
      await store.streams.append("a", count(250), { keep: 10 });
      const last = (i + 1) * 250;
      const newest = await second.streams.read("a", last - 10);
      equal(newest.lost, false);
      equal(
        newest.events.map(({ position }) => position),
        Array.from({ length: 10 }, (_, n) => last - 9 + n),
      );
    }
    const { events, lost, last } = await store.streams.read("a", 0, 5_000);
    equal(lost, true);
    equal(last, 5_000);
    isTrue(events.length < 2_500);
    equal(events.at(-1)?.position, 5_000);
    equal(
      events.map(({ position }) => position - (events[0]?.position ?? 0)),
      [...events.keys()],
    );
  },

  async "appends with a fence until there is a later lease on this name"({ store, second }) {
    const first = given(await store.leases.acquire("a", LONG));
    equal(await store.streams.append("a", ["1"], { fence: first.token }), 1);
    await first.release();
    equal(await store.streams.append("a", ["2"], { fence: first.token }), 2);
    const later = given(await second.leases.acquire("a", LONG));
    equal(await store.streams.append("a", ["3", "4"], { fence: first.token }), undefined);
    equal((await store.streams.read("a", 0)).last, 2);
    equal(await second.streams.append("a", ["5"], { fence: later.token }), 3);
    equal(await store.streams.append("a", ["6"]), 4);
  },

  async "forgets a stream that was deleted: it counts from 1 again"({ store, second }) {
    await store.streams.append("a", count(3));
    await second.streams.delete("a");
    equal(await store.streams.read("a", 0), nothing);
    equal(await store.streams.append("a", ["1"]), 1);
  },

  async "tells who has read further than there is that the stream was forgotten"({ store, second }) {
    await store.streams.append("a", count(3));
    equal(await second.streams.read("a", 4), { events: [], last: 3, lost: true });
    await second.streams.delete("a");
    equal(await store.streams.read("a", 3), { events: [], last: 0, lost: true });
    await store.streams.append("a", ["1"]);
    equal(await second.streams.read("a", 3), { events: [], last: 1, lost: true });
    equal(await second.streams.read("a", 1), { events: [], last: 1, lost: false });
  },

  async "forgets a stream when nothing was added for its time to live"({ store, passes }) {
    await store.streams.append("gone", ["1"], { ttlMs: SHORT });
    await store.streams.append("later", ["1"], { ttlMs: SHORT });
    await store.streams.append("never", ["1"], { ttlMs: SHORT });
    const later = await store.streams.append("later", ["2"], { ttlMs: LONG });
    const never = await store.streams.append("never", ["2"]);
    await passes(SHORT);
    await eventually(async () => equal(await store.streams.read("gone", 0), nothing));
    equal((await store.streams.read("later", 0)).last, later);
    equal((await store.streams.read("never", 0)).last, never);
    equal(await store.streams.append("gone", ["1"]), 1);
  },
};

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
