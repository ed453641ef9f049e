import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFakeSink, type FakeReply } from "../../../test/support/fake-reply.ts";
import { createLoneSession } from "../../../test/support/lone-session.ts";
import { readBlocks, type SseBlock } from "../../../test/support/sse-text.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Parsed } from "../../jsonrpc/message.ts";

const posted: Parsed = { kind: "request", id: 1, method: "tools/call", params: {} };

/** A stream of a POST, which clients come back for; ids are told by the number of their event. */
function open({ primes = false, maxChars = 1_048_576 } = {}) {
  const { clock, store, get, responses } = createLoneSession({ limits: { maxReplayBytes: maxChars } }, primes);
  const stream = responses.create(posted, primes);
  const post = createFakeSink();
  stream.attach(post);
  let id = "";
  const write = (...numbers: readonly number[]) => {
    const slow = numbers.map((n) => stream.write(JSON.stringify({ n })));
    id = readBlocks(post.text).at(-1)?.id?.slice(0, 16) ?? id;
    return slow;
  };
  const attach = async (number: number): Promise<FakeReply> => {
    const reply = get(`${id}-${number}`);
    await clock.advanceAsync(0);
    return reply;
  };
  const leave = (): void => stream.detach(post);
  return { clock, store, stream, post, write, attach, leave, responses, id: () => id };
}

const shown = (text: string): readonly SseBlock[] =>
  readBlocks(text).map((block) => (block.id === undefined ? block : { ...block, id: block.id.slice(17) }));
const blocks = ({ sink }: FakeReply): readonly SseBlock[] => shown(sink?.text ?? "");
const event = (number: number, n = number): SseBlock => ({ id: `${number}`, message: { n } });
const truncated: SseBlock = {
  message: { jsonrpc: "2.0", method: "notifications/replay_truncated", params: {} } satisfies JsonObject,
};

describe("C108: a stream over several connections", () => {
  it("numbers its events", () => {
    const { write, post } = open();
    write(1, 2, 3);
    expect(shown(post.text)).toEqual([event(1), event(2), event(3)]);
  });

  it("keeps what was written before there was a connection", () => {
    const { responses } = createLoneSession();
    const stream = responses.create(posted, false);
    for (const n of [1, 2]) stream.write(JSON.stringify({ n }));
    const sink = createFakeSink();
    stream.attach(sink);
    stream.write(JSON.stringify({ n: 3 }));
    expect(shown(sink.text)).toEqual([event(3)]);
  });

  it("writes what was missed before anything new, and nothing twice", async () => {
    const { write, attach, leave, post, clock } = open();
    write(1, 2, 3);
    leave();
    write(4, 5);
    const second = await attach(2);
    write(6);
    await clock.advanceAsync(0);
    expect(shown(post.text)).toEqual([event(1), event(2), event(3)]);
    expect(blocks(second)).toEqual([event(3), event(4), event(5), event(6)]);
  });

  it("moves to the newest connection, and ends the old one", async () => {
    const { stream, write, attach, post, clock } = open();
    write(1);
    const second = await attach(1);
    expect(post.state).toBe("ended");
    stream.detach(post);
    write(2);
    await clock.advanceAsync(0);
    expect(shown(post.text)).toEqual([event(1)]);
    expect(blocks(second)).toEqual([event(2)]);
    const third = await attach(2);
    expect(second.sink?.state).toBe("ended");
    expect(third.sink?.state).toBe("open");
  });

  it("gives its last events, and its end, to who comes back after it", async () => {
    const { stream, write, attach, leave, responses } = open();
    write(1);
    leave();
    write(2);
    stream.end();
    const second = await attach(1);
    expect(blocks(second)).toEqual([event(2)]);
    expect(second.sink?.state).toBe("ended");
    expect(responses.size).toBe(0);
  });

  it("is silent after its end", () => {
    const { stream, write, post } = open();
    write(1);
    stream.end();
    expect(write(2)).toEqual([undefined]);
    expect(shown(post.text)).toEqual([event(1)]);
    expect(post.state).toBe("ended");
  });
});

describe("C109: what is forgotten", () => {
  it("is announced before what is left", async () => {
    const { write, attach, leave } = open({ maxChars: 14 });
    write(1, 2, 3);
    leave();
    write(4, 5);
    expect(blocks(await attach(1))).toEqual([truncated, event(4), event(5)]);
    expect(blocks(await attach(2))).toEqual([truncated, event(4), event(5)]);
    expect(blocks(await attach(3))).toEqual([event(4), event(5)]);
    expect(blocks(await attach(4))).toEqual([event(5)]);
    expect(blocks(await attach(5))).toEqual([]);
  });

  it("is not the newest, however long it is, also when the stream has ended", async () => {
    const { stream, write, attach } = open({ maxChars: 10 });
    write(1);
    stream.write(JSON.stringify({ n: "x".repeat(20) }));
    stream.end();
    expect(blocks(await attach(1))).toMatchObject([{ id: "2" }]);
  });

  it("is announced when it was too large to be kept with what followed", async () => {
    const { stream, write, attach } = open({ maxChars: 10 });
    stream.write(JSON.stringify({ n: "x".repeat(20) }));
    write(2);
    expect(blocks(await attach(0))).toEqual([truncated, event(2)]);
  });
});

describe("clients of 2025-11-25", () => {
  it("get an id at once, and when to come back", async () => {
    const { write, attach, post } = open({ primes: true });
    write(1);
    expect(shown(post.text)).toEqual([{ id: "0", retry: 1_000 }, event(1)]);
    expect(blocks(await attach(1))).toEqual([{ id: "1", retry: 1_000 }]);
  });

  it.each([
    [undefined, 1_000],
    [500, 500],
  ])("C114: are told when to come back before the connection ends (%s)", async (asked, retry) => {
    const { stream, write, attach, post, clock, responses } = open({ primes: true });
    write(1);
    stream.closeStream(asked);
    expect(shown(post.text).at(-1)).toEqual({ retry });
    expect(post.state).toBe("ended");
    expect(responses.size).toBe(1);
    stream.write(JSON.stringify({ n: 2 }));
    const second = await attach(1);
    stream.write(JSON.stringify({ n: 3 }));
    await clock.advanceAsync(0);
    expect(blocks(second)).toEqual([{ id: "1", retry: 1_000 }, event(2), event(3)]);
  });
});

it("C114: nobody hangs up on older clients, which would not come back", () => {
  const { stream, write, post } = open();
  stream.closeStream();
  write(1);
  expect(post.state).toBe("open");
  expect(shown(post.text)).toEqual([event(1)]);
});

describe("who writes while nobody reads", () => {
  const missed = Array.from({ length: 129 }, (_, n) => n + 1);
  const openAlone = () => {
    const opened = open();
    opened.write(0);
    opened.leave();
    return opened;
  };

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
    expect(openAlone().write(...missed.slice(1))).toEqual(missed.slice(1).map(() => undefined));
  });

  it.each<readonly [string, (opened: ReturnType<typeof open>) => unknown]>([
    ["the client is back", ({ attach }) => attach(0)],
    ["the stream ends", ({ stream }) => stream.end()],
    ["it took half a minute", ({ clock }) => clock.advance(30_000)],
  ])("waits from the 129th event on, until %s", async (_, release) => {
    const opened = openAlone();
    const slow = opened.write(...missed).at(-1);
    const other = opened.write(130)[0];
    opened.clock.advance(29_999);
    expect(await isSettled(slow)).toBe(false);
    await release(opened);
    await Promise.all([slow, other]);
    expect(slow).toBeInstanceOf(Promise);
  });

  it("waits again when it has more to say", async () => {
    const { write, clock } = openAlone();
    write(...missed);
    clock.advance(30_000);
    expect(await isSettled(write(130)[0])).toBe(false);
  });

  it("waits for a slow client like for any other", async () => {
    const { post, write } = open();
    post.stall();
    const [slow] = write(1);
    expect(await isSettled(slow)).toBe(false);
    post.catchUp();
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
    let lastId = 0;
    let reply: FakeReply | undefined;
    let read = 0;

    const take = (upTo = Number.POSITIVE_INFINITY): void => {
      const unread = blocks(reply as FakeReply).slice(read);
      for (const { id, message } of unread.slice(0, upTo)) {
        read++;
        lastId = id === undefined ? lastId : Number(id);
        if (message !== undefined) seen.push(message.n as number);
      }
    };
    return {
      seen,
      cut(upTo: number) {
        if (reply === undefined) return;
        take(upTo);
        reply.leave();
        reply = undefined;
      },
      async back() {
        if (reply !== undefined) take();
        read = 0;
        reply = await opened.attach(lastId);
      },
      take,
    };
  }

  const play = async (
    steps: readonly Step[],
    opened: ReturnType<typeof open>,
    reader: ReturnType<typeof createReader>,
  ) => {
    opened.write(1);
    opened.leave();
    let last = 1;
    for (const one of steps) {
      if (one.kind === "write") opened.write(++last);
      else if (one.kind === "cut") reader.cut(one.seen);
      else await reader.back();
    }
    return last;
  };

  it.each([true, false])(
    "delivers everything once and in order, whenever connections break (primes: %s)",
    async (primes) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, endEarly) => {
          const opened = open({ primes });
          const reader = createReader(opened);
          const last = await play(steps, opened, reader);
          if (endEarly) opened.stream.end();
          await reader.back();
          reader.take();
          expect(reader.seen).toEqual(Array.from({ length: last }, (_, n) => n + 1));
        }),
        { numRuns: 100 },
      );
    },
  );

  it("says so whenever something is missing, and keeps the order of the rest", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 5 }), async (steps, events) => {
        const opened = open({ maxChars: 7 * events });
        const reader = createReader(opened);
        const last = await play(steps, opened, reader);
        await reader.back();
        reader.take();
        const numbers = reader.seen.filter((n) => n !== undefined);
        const gap = numbers.find((n, index) => n !== (numbers[index - 1] ?? 0) + 1);
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
        if (gap !== undefined || numbers.at(-1) !== last) expect(reader.seen).toContain(undefined);
      }),
      { numRuns: 100 },
    );
  });
});
