import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../../test/support/cpu-time.ts";
import { createLoneSession } from "../../../test/support/lone-session.ts";
import { createLedger } from "../../protocol/budget.ts";
import { createManualClock } from "../../testing/clock.ts";
import { ReplayBound } from "./session-replay.ts";

function boundOf({ maxEvents = 256, maxChars = 1_048_576, maxHeldBytes = 10_000_000 } = {}) {
  const clock = createManualClock();
  const share = createLedger({ connection: { maxHeldBytes } }, undefined, "a test").connection("somebody");
  const bound = new ReplayBound<number>({ maxReplayEvents: maxEvents, maxReplayBytes: maxChars, clock, share });
  const forgotten: number[] = [];
  let last = 0;
  const fill = (count: number, text = "x", at?: number): void => {
    for (let n = 0; n < count; n++) {
      forgotten.push(...bound.add({ item: ++last, events: 1, chars: text.length, at: at ?? clock.now() }));
    }
  };
  return { clock, bound, share, forgotten, fill };
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe("what is kept of a session", () => {
  it("C108: the last 256 events, in order", () => {
    const { clock, bound, forgotten, fill } = boundOf();
    fill(256);
    clock.advance(10_001);
    expect(bound.keep).toBe(256);
    fill(100);
    expect(forgotten).toEqual(range(1, 100));
    expect(bound.keep).toBe(256);
    expect(bound.clear()).toEqual(range(101, 356));
  });

  it("more than that while they are younger than ten seconds", () => {
    const { clock, bound, forgotten, fill } = boundOf();
    fill(1000);
    clock.advance(10_000);
    fill(1);
    expect(forgotten).toEqual([]);
    expect(bound.keep).toBe(1001);
    clock.advance(1);
    fill(1);
    expect(bound.clear()).toEqual(range(747, 1002));
  });

  it("no more than that of what went out in one piece, however young", () => {
    const { forgotten, fill } = boundOf();
    fill(300, "x", Number.NEGATIVE_INFINITY);
    expect(forgotten).toEqual(range(1, 44));
  });

  it("no more characters than are allowed, however few or young the events are, but for the newest", () => {
    const { bound, forgotten, fill } = boundOf({ maxChars: 100 });
    fill(10, "x".repeat(10));
    expect(forgotten).toEqual([]);
    fill(1, "x".repeat(15));
    expect(forgotten).toEqual([1, 2]);
    expect(bound.keep).toBe(9);
    fill(1, "x".repeat(101));
    expect(bound.keep).toBe(1);
    expect(forgotten).toEqual(range(1, 11));
  });

  it("what others have added, as long as there is room", () => {
    const { bound, fill } = boundOf({ maxEvents: 10 });
    fill(1);
    expect(bound.keep).toBe(10);
  });

  it("at a cost that does not grow with what went before", () => {
    const { clock, bound, forgotten, fill } = boundOf({ maxEvents: 100 });
    fill(100);
    const time = (count: number): number => {
      const spent = startCpuTime();
      for (let n = 0; n < count; n++) {
        clock.advance(1_000);
        fill(1);
      }
      return spent();
    };
    time(20_000);
    const early = time(20_000);
    time(100_000);
    const late = time(20_000);
    expect(forgotten.length).toBe(160_000);
    expect(bound.keep).toBe(100);
    expect(late).toBeLessThan(early * 5 + 50);
  });
});

describe("what is kept of a share", () => {
  it("is counted until it is forgotten", () => {
    const { bound, share, fill } = boundOf({ maxChars: 300 });
    fill(2, "x".repeat(100));
    expect(share.held("heldBytes")).toBe(200);
    fill(4, "x".repeat(100));
    expect(share.held("heldBytes")).toBe(300);
    bound.clear();
    expect(share.held("heldBytes")).toBe(0);
  });

  it("takes the place of older ones of the same session, never of others (S9, H3)", () => {
    const { bound, share, forgotten, fill } = boundOf({ maxHeldBytes: 250 });
    share.add("heldBytes", 100);
    fill(3, "x".repeat(50));
    expect([forgotten, bound.keep]).toEqual([[], 256]);
    fill(1, "x".repeat(100));
    expect([forgotten, bound.keep, share.held("heldBytes")]).toEqual([[1, 2], 2, 250]);
    fill(1, "x".repeat(151));
    expect([forgotten, bound.keep, share.held("heldBytes")]).toEqual([[1, 2, 3, 4, 5], 0, 100]);
  });
});

describe("in the store", () => {
  const texts = (count: number, text = "x") => Array.from({ length: count }, () => text);

  it("are no more messages that belong to no call than are allowed", async () => {
    const { tell, store, clock } = createLoneSession({ limits: { maxReplayEvents: 10, maxReplayBytes: 1_000 } });
    for (const text of texts(50)) {
      tell(text);
      clock.advance(10_000);
    }
    expect((await store.streams.read("session:s/aside", 0)).events.length).toBeLessThanOrEqual(11);
    for (const text of texts(5, "x".repeat(600))) tell(text);
    expect((await store.streams.read("session:s/aside", 0)).events).toHaveLength(1);
  });

  it("are no more responses that went out whole than are allowed", async () => {
    const { responses, store } = createLoneSession({ limits: { maxReplayEvents: 10, maxReplayBytes: 1_000 } }, true);
    for (const text of texts(50)) responses.whole([text], true);
    expect((await store.streams.read("session:s/whole", 0)).events).toHaveLength(10);
    for (const text of texts(5, "x".repeat(600))) responses.whole([text], true);
    expect((await store.streams.read("session:s/whole", 0)).events).toHaveLength(2);
  });

  it("are no response streams that ended before too many, or too long, others", async () => {
    const { responses, store, clock } = createLoneSession({ limits: { maxReplayEvents: 10, maxReplayBytes: 1_000 } });
    const deleted: string[] = [];
    const { delete: forget } = store.streams;
    Object.assign(store.streams, {
      delete(name: string) {
        deleted.push(name);
        return forget(name);
      },
    });
    const stream = (text: string): void => {
      const response = responses.create({ kind: "request", id: 1, method: "ping", params: {} }, false);
      response.write(text);
      response.end();
    };
    for (const text of texts(50)) stream(text);
    expect(deleted).toEqual([]);
    clock.advance(10_001);
    stream("x");
    expect(deleted).toHaveLength(46);
    stream("x".repeat(1_001));
    expect(deleted).toHaveLength(51);
    expect(responses.size).toBe(0);
  });

  it("is nothing of a response that nobody can come back for", async () => {
    const { responses, store, get } = createLoneSession();
    const ids = texts(3).map((text) => /^id: (.*)$/m.exec(responses.whole([text], false))?.[1] ?? "");
    expect(new Set(ids).size).toBe(3);
    expect((await store.streams.read("session:s/whole", 0)).last).toBe(0);
    for (const id of ids) expect(get(id).sent?.status).toBe(405);
  });
});
