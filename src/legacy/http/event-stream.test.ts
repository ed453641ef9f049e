import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFakeSink, type FakeSink } from "../../../test/support/fake-reply.ts";
import { readBlocks, type SseBlock } from "../../../test/support/sse-text.ts";
import type { JsonObject } from "../../json/json.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createEventStream, createReplayLog } from "./event-stream.ts";

function open({ primes = false, maxEvents = 256, maxChars = 1_048_576, name = 3 } = {}) {
  const clock = createManualClock();
  let emptied = 0;
  const log = createReplayLog({ maxEvents, maxChars, clock, forgot: (event) => stream.forget(event) });
  const stream = createEventStream({
    name,
    log,
    clock,
    primes,
    retryMs: 1_000,
    emptied() {
      emptied++;
    },
  });
  const write = (...numbers: readonly number[]) => numbers.map((n) => stream.write(JSON.stringify({ n })));
  const attach = (number?: number, moreLost?: boolean): FakeSink => {
    const sink = createFakeSink();
    stream.attach(sink, number, moreLost);
    return sink;
  };
  return { clock, stream, write, attach, emptied: () => emptied };
}

const blocks = (sink: FakeSink): readonly SseBlock[] => readBlocks(sink.text);
const event = (number: number, n = number): SseBlock => ({ id: `3-${number}`, message: { n } });
const truncated: SseBlock = {
  message: { jsonrpc: "2.0", method: "notifications/replay_truncated", params: {} } satisfies JsonObject,
};

describe("C108: a stream over several connections", () => {
  it("numbers its events", () => {
    const { write, attach } = open();
    const sink = attach();
    write(1, 2, 3);
    expect(blocks(sink)).toEqual([event(1), event(2), event(3)]);
  });

  it("keeps what was written before there was a connection", () => {
    const { write, attach } = open();
    write(1, 2);
    const sink = attach();
    write(3);
    expect(blocks(sink)).toEqual([event(1), event(2), event(3)]);
  });

  it("writes what was missed before anything new, and nothing twice", () => {
    const { stream, write, attach } = open();
    const first = attach();
    write(1, 2, 3);
    stream.detach(first);
    write(4, 5);
    const second = attach(2);
    write(6);
    expect(blocks(first)).toEqual([event(1), event(2), event(3)]);
    expect(blocks(second)).toEqual([event(3), event(4), event(5), event(6)]);
  });

  it("goes on with what no connection was given when no id is known", () => {
    const { stream, write, attach } = open();
    const first = attach();
    write(1, 2);
    stream.detach(first);
    write(3);
    expect(blocks(attach())).toEqual([event(3)]);
  });

  it("gives what was missed to one connection, not to the next one again", () => {
    const { stream, write, attach } = open();
    write(1, 2);
    const first = attach();
    stream.detach(first);
    write(3);
    expect(blocks(first)).toEqual([event(1), event(2)]);
    expect(blocks(attach())).toEqual([event(3)]);
  });

  it("moves to the newest connection, and ends the old one", () => {
    const { stream, write, attach } = open();
    const first = attach();
    write(1);
    const second = attach(1);
    expect(first.state).toBe("ended");
    stream.detach(first);
    write(2);
    expect(blocks(first)).toEqual([event(1)]);
    expect(blocks(second)).toEqual([event(2)]);
    expect(stream.attached).toBe(true);
  });

  it("gives its last events, and its end, to who comes back after it", () => {
    const { stream, write, attach, emptied } = open();
    const first = attach();
    write(1);
    stream.detach(first);
    write(2);
    stream.end();
    const second = attach(1);
    expect(blocks(second)).toEqual([event(2)]);
    expect(second.state).toBe("ended");
    expect(stream.attached).toBe(false);
    expect(emptied()).toBe(0);
  });

  it("is silent after its end", () => {
    const { stream, write, attach } = open();
    const sink = attach();
    write(1);
    stream.end();
    expect(write(2)).toEqual([undefined]);
    expect(blocks(sink)).toEqual([event(1)]);
    expect(sink.state).toBe("ended");
  });

  it("says once that nothing of it is left, when it has ended and all is forgotten", () => {
    const { stream, write, emptied, clock } = open({ maxEvents: 0 });
    write(1);
    clock.advance(10_001);
    write(2);
    expect(emptied()).toBe(0);
    stream.forget({ stream: 3, number: 2, text: "" });
    expect(emptied()).toBe(0);
    stream.end();
    expect(emptied()).toBe(1);
  });

  it("says at its end that nothing of it is left when nothing ever was", () => {
    const { stream, attach, emptied } = open();
    attach();
    stream.end();
    stream.end();
    expect(emptied()).toBe(1);
  });
});

describe("C109: what is forgotten", () => {
  it("is announced before what is left", () => {
    const { stream, write, attach, clock } = open({ maxEvents: 2 });
    const first = attach();
    write(1, 2, 3);
    stream.detach(first);
    clock.advance(10_001);
    write(4, 5);
    expect(blocks(attach(1))).toEqual([truncated, event(4), event(5)]);
    expect(blocks(attach(2))).toEqual([truncated, event(4), event(5)]);
    expect(blocks(attach(3))).toEqual([event(4), event(5)]);
    expect(blocks(attach(4))).toEqual([event(5)]);
    expect(blocks(attach(5))).toEqual([]);
  });

  it("is announced when it was something else", () => {
    const { write, attach } = open();
    write(1);
    const sink = attach(undefined, true);
    write(2);
    expect(blocks(sink)).toEqual([truncated, event(1), event(2)]);
  });

  it("is announced when it was too large to be kept with what followed", () => {
    const { stream, write, attach } = open({ maxChars: 10 });
    stream.write(JSON.stringify({ n: "x".repeat(20) }));
    write(2);
    expect(blocks(attach(0))).toEqual([truncated, event(2)]);
  });
});

describe("clients of 2025-11-25", () => {
  it("get an id at once, and when to come back", () => {
    const { write, attach } = open({ primes: true });
    write(1);
    expect(blocks(attach())).toEqual([{ id: "3-0", retry: 1_000 }, event(1)]);
    expect(blocks(attach(1))).toEqual([{ id: "3-1", retry: 1_000 }]);
  });

  it.each([
    [undefined, 1_000],
    [500, 500],
  ])("C114: are told when to come back before the connection ends (%s)", (asked, retry) => {
    const { stream, write, attach } = open({ primes: true });
    const first = attach();
    write(1);
    stream.hangUp(asked);
    expect(blocks(first).at(-1)).toEqual({ retry });
    expect(first.state).toBe("ended");
    expect([stream.attached, stream.ended]).toEqual([false, false]);
    write(2);
    const second = attach(1);
    write(3);
    expect(blocks(second)).toEqual([{ id: "3-1", retry: 1_000 }, event(2), event(3)]);
  });
});

it("C114: nobody hangs up on older clients, which would not come back", () => {
  const { stream, write, attach } = open();
  const sink = attach();
  stream.hangUp();
  write(1);
  expect(sink.state).toBe("open");
  expect(blocks(sink)).toEqual([event(1)]);
});

describe("who writes while nobody reads", () => {
  const missed = Array.from({ length: 129 }, (_, n) => n + 1);

  /** A promise's fate so far. */
  async function isSettled(promise: Promise<void> | undefined): Promise<boolean> {
    let settled = false;
    void promise?.then(() => {
      settled = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    return settled;
  }

  it("need not wait at first", () => {
    expect(open().write(...missed.slice(1))).toEqual(missed.slice(1).map(() => undefined));
  });

  it.each<readonly [string, (opened: ReturnType<typeof open>) => void]>([
    ["the client is back", ({ attach }) => attach(0)],
    ["the stream ends", ({ stream }) => stream.end()],
    ["it took half a minute", ({ clock }) => clock.advance(30_000)],
  ])("waits from the 129th event on, until %s", async (_, release) => {
    const opened = open();
    const slow = opened.write(...missed).at(-1);
    const other = opened.write(130)[0];
    opened.clock.advance(29_999);
    expect(await isSettled(slow)).toBe(false);
    release(opened);
    await Promise.all([slow, other]);
    expect(slow).toBeInstanceOf(Promise);
    expect(opened.clock.pending).toBe(0);
  });

  it("waits again when it has more to say", async () => {
    const { write, clock } = open();
    write(...missed);
    clock.advance(30_000);
    expect(await isSettled(write(130)[0])).toBe(false);
  });

  it("waits for a slow client like for any other", async () => {
    const { attach, write } = open();
    const sink = attach();
    sink.stall();
    const [slow] = write(1);
    expect(await isSettled(slow)).toBe(false);
    sink.catchUp();
    await slow;
  });
});

describe("resumption", () => {
  type Step = { readonly kind: "write" } | { readonly kind: "cut"; readonly seen: number } | { readonly kind: "back" };

  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 5, arbitrary: fc.constant<Step>({ kind: "write" }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("cut" as const), seen: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.constant<Step>({ kind: "back" }) },
  );

  /** A client that reads a part of what is written to it, and comes back with the last id it saw. */
  function createReader(opened: ReturnType<typeof open>) {
    const seen: number[] = [];
    let lastId: string | undefined;
    let sink: FakeSink | undefined;
    let read = 0;

    const take = (upTo = Number.POSITIVE_INFINITY): void => {
      const unread = blocks(sink as FakeSink).slice(read);
      for (const { id, message } of unread.slice(0, upTo)) {
        read++;
        lastId = id ?? lastId;
        if (message !== undefined) seen.push(message.n as number);
      }
    };
    return {
      seen,
      cut(upTo: number) {
        if (sink === undefined) return;
        take(upTo);
        opened.stream.detach(sink);
        sink = undefined;
      },
      back() {
        if (sink !== undefined) take();
        read = 0;
        sink = opened.attach(lastId === undefined ? 0 : Number(lastId.split("-")[1]));
      },
      take,
    };
  }

  it.each([true, false])("delivers everything once and in order, whenever connections break (primes: %s)", (primes) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), fc.boolean(), (steps, endEarly) => {
        const opened = open({ primes });
        const reader = createReader(opened);
        let last = 0;
        for (const one of steps) {
          if (one.kind === "write") opened.write(++last);
          else if (one.kind === "cut") reader.cut(one.seen);
          else reader.back();
        }
        if (endEarly) opened.stream.end();
        reader.back();
        reader.take();
        expect(reader.seen).toEqual(Array.from({ length: last }, (_, n) => n + 1));
      }),
      { numRuns: 500 },
    );
  });

  it("says so whenever something is missing, and keeps the order of the rest", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (steps, maxEvents) => {
        const opened = open({ maxEvents });
        const reader = createReader(opened);
        let last = 0;
        for (const one of steps) {
          opened.clock.advance(5_001);
          if (one.kind === "write") opened.write(++last);
          else if (one.kind === "cut") reader.cut(one.seen);
          else reader.back();
        }
        reader.back();
        reader.take();
        const numbers = reader.seen.filter((n) => n !== undefined);
        const gap = numbers.find((n, index) => n !== (numbers[index - 1] ?? 0) + 1);
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
        if (gap !== undefined || numbers.at(-1) !== (last || undefined)) expect(reader.seen).toContain(undefined);
      }),
      { numRuns: 500 },
    );
  });
});
