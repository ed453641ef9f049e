import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Channel } from "../jsonrpc/channel.ts";
import type { Incoming, Notification } from "../jsonrpc/message.ts";
import { createManualClock } from "../testing/clock.ts";
import { createMemoryChannels } from "./memory-channels.ts";

describe("createMemoryChannels", () => {
  it("passes messages both ways, by reference", async () => {
    const [left, right] = createMemoryChannels();
    const [ping, pong] = [message("ping"), message("pong")];
    left.send(ping);
    right.send(pong);
    expect((await nextBatch(right))?.[0]).toBe(ping);
    expect((await nextBatch(left))?.[0]).toBe(pong);
  });

  it("hands over together what was sent in the same tick, in order, to a reader that waits", async () => {
    const [left, right] = createMemoryChannels();
    const batch = nextBatch(right);
    await settled();
    left.send(message("1"));
    left.send(message("2"));
    left.send(message("3"));
    expect(names(await batch)).toEqual(["1", "2", "3"]);
  });

  it("hands over together what was sent before anybody read", async () => {
    const [left, right] = createMemoryChannels();
    left.send(message("1"));
    await settled();
    left.send(message("2"));
    expect(names(await nextBatch(right))).toEqual(["1", "2"]);
  });

  it("lets a second reader go on with the next array", async () => {
    const [left, right] = createMemoryChannels();
    left.send(message("probe"));
    left.send(message("same array"));
    expect(names(await nextBatch(right))).toEqual(["probe", "same array"]);
    left.send(message("1"));
    await settled();
    left.send(message("2"));
    await left.close();
    expect(names((await readAll(right)).flat())).toEqual(["1", "2"]);
  });

  it("keeps every message in order, whatever the rhythm of writing and reading", async () => {
    const rhythm = fc.array(fc.nat(5), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(rhythm, fc.nat(3), async (bursts, turns) => {
        const [left, right] = createMemoryChannels({ maxUnread: 2 });
        const read = readAll(right, turns);
        const sent: string[] = [];
        for (const burst of bursts) {
          for (let i = 0; i < burst; i++) {
            sent.push(String(sent.length));
            left.send(message(String(sent.length - 1)));
          }
          await Promise.resolve();
        }
        await left.close();
        const batches = await read;
        expect(names(batches.flat())).toEqual(sent);
        expect(batches.every((batch) => batch.length > 0)).toBe(true);
      }),
    );
  });
});

describe("closing", () => {
  it("ends the reading of the other side after what was sent", async () => {
    const [left, right] = createMemoryChannels();
    left.send(message("last words"));
    await left.close();
    expect((await readAll(right)).map(names)).toEqual([["last words"]]);
  });

  it("ends the reading of both sides while they wait", async () => {
    const [left, right] = createMemoryChannels();
    const ends = Promise.all([readAll(left), readAll(right)]);
    await settled();
    await left.close();
    expect(await ends).toEqual([[], []]);
  });

  it("drops what the closing side has not read", async () => {
    const [left, right] = createMemoryChannels();
    right.send(message("too late"));
    await left.close();
    expect(await readAll(left)).toEqual([]);
  });

  it("makes sending a no-op on both sides", async () => {
    const [left, right] = createMemoryChannels({ maxUnread: 1 });
    await left.close();
    for (const channel of [left, right]) {
      expect(channel.send(message("1"))).toBeUndefined();
      expect(channel.send(message("2"))).toBeUndefined();
    }
    expect(await readAll(left)).toEqual([]);
    expect(await readAll(right)).toEqual([]);
  });

  it("may be repeated, by either side", async () => {
    const [left, right] = createMemoryChannels();
    left.send(message("1"));
    await Promise.all([left.close(), left.close()]);
    expect(names((await readAll(right)).flat())).toEqual(["1"]);
    await right.close();
    await left.close();
    expect(await readAll(right)).toEqual([]);
  });
});

describe("back-pressure", () => {
  it("returns a promise for each message beyond the limit, until the reader has taken what waits", async () => {
    const [left, right] = createMemoryChannels({ maxUnread: 2 });
    expect(left.send(message("1"))).toBeUndefined();
    expect(left.send(message("2"))).toBeUndefined();
    const third = watch(left.send(message("3")));
    const fourth = watch(left.send(message("4")));
    await settled();
    expect([third.state, fourth.state]).toEqual(["waiting", "waiting"]);

    expect(names(await nextBatch(right))).toEqual(["1", "2", "3", "4"]);
    await settled();
    expect([third.state, fourth.state]).toEqual(["resolved", "resolved"]);

    expect(left.send(message("5"))).toBeUndefined();
    expect(left.send(message("6"))).toBeUndefined();
    const seventh = watch(left.send(message("7")));
    await settled();
    expect(seventh.state).toBe("waiting");
  });

  it.each(["the writer", "the reader"])("lets go when %s closes", async (who) => {
    const [left, right] = createMemoryChannels({ maxUnread: 1 });
    left.send(message("1"));
    const second = watch(left.send(message("2")));
    await (who === "the writer" ? left : right).close();
    await settled();
    expect(second.state).toBe("resolved");
  });

  it("begins behind 1024 messages unless told otherwise, and never for 0", () => {
    const [left] = createMemoryChannels();
    const [unlimited] = createMemoryChannels({ maxUnread: 0 });
    for (let i = 0; i < 1024; i++) expect(left.send(message("fits"))).toBeUndefined();
    expect(left.send(message("one more"))).toBeInstanceOf(Promise);
    for (let i = 0; i < 5_000; i++) expect(unlimited.send(message("fits"))).toBeUndefined();
  });

  it("bounds what a writer that heeds it can pile up", async () => {
    const [left, right] = createMemoryChannels({ maxUnread: 10 });
    const sizes: number[] = [];
    const reading = (async () => {
      for await (const batch of right.incoming) {
        sizes.push(batch.length);
        await settled();
      }
    })();
    for (let i = 0; i < 200; i++) await left.send(message(String(i)));
    await left.close();
    await reading;
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(200);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(11);
  });
});

function message(method: string): Notification {
  return { kind: "notification", method, params: {} };
}

function names(batch: readonly Incoming[] | undefined): readonly string[] | undefined {
  return batch?.map((item) => ("method" in item ? item.method : item.kind));
}

async function nextBatch(channel: Channel): Promise<readonly Incoming[] | undefined> {
  for await (const batch of channel.incoming) return batch;
  return undefined;
}

/** Everything until the end, by a reader that rests for some turns between two arrays. */
async function readAll(channel: Channel, turns = 0): Promise<readonly (readonly Incoming[])[]> {
  const batches: (readonly Incoming[])[] = [];
  for await (const batch of channel.incoming) {
    batches.push(batch);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
  }
  return batches;
}

function watch(sending: Promise<void> | undefined): { readonly state: "immediate" | "waiting" | "resolved" } {
  const watched: { state: "immediate" | "waiting" | "resolved" } = { state: sending ? "waiting" : "immediate" };
  sending?.then(() => {
    watched.state = "resolved";
  });
  return watched;
}

function settled(): Promise<void> {
  return createManualClock().advanceAsync(0);
}
