import { describe, expect, it } from "vitest";
import { createFakeSink, type FakeReply } from "../../../test/support/fake-reply.ts";
import { createLoneSession } from "../../../test/support/lone-session.ts";
import { messagesIn, readBlocks } from "../../../test/support/sse-text.ts";
import type { Parsed } from "../../jsonrpc/message.ts";

const posted: Parsed = { kind: "request", id: 1, method: "tools/call", params: {} };

function open({ maxStreams = 4, maxReplayEvents = 256, primes = false } = {}) {
  const limits = { maxReplayEvents };
  const session = createLoneSession({ limits, budgets: { connection: { maxStreams } } }, primes);
  const settled = () => session.clock.advanceAsync(0);
  const opened = async (lastEventId?: string): Promise<FakeReply> => {
    const reply = session.get(lastEventId);
    await settled();
    if (reply.sink === undefined && reply.sent?.status !== 200) expect.fail(`refused: ${reply.sent?.status}`);
    return reply;
  };
  const tell = (n: number) => session.tell(JSON.stringify({ n }));
  /** A stream of a POST with these messages, and the id of its first event. */
  const post = (...numbers: readonly number[]) => {
    const stream = session.responses.create(posted, false);
    const sink = createFakeSink();
    stream.attach(sink);
    for (const n of numbers) stream.write(JSON.stringify({ n }));
    const [{ id = "" } = {}] = readBlocks(sink.text);
    return { stream, sink, id, before: id.replace(/\d+$/, "0") };
  };
  return { ...session, settled, opened, tell, post };
}

const heard = ({ sink, sent }: FakeReply) =>
  messagesIn(sink?.text ?? sent?.body ?? "").map(({ method, n }) => method ?? n);
const truncated = "notifications/replay_truncated";

describe("what belongs to no call", () => {
  it("waits for the first who asks", async () => {
    const { opened, tell } = open();
    tell(1);
    expect(heard(await opened())).toEqual([1]);
  });

  it("C110: goes to one stream, however many are read", async () => {
    const { opened, tell, settled } = open();
    const all = [await opened(), await opened(), await opened()];
    tell(1);
    tell(2);
    await settled();
    expect(all.flatMap(heard).sort()).toEqual([1, 2]);
  });

  it("C110: never goes to the stream of a POST", () => {
    const { post, tell } = open();
    const { sink } = post();
    tell(1);
    expect(sink.written).toEqual([]);
  });

  it("waits for the stream that was read last, so that who resumes it gets it", async () => {
    const { opened, tell, settled } = open();
    const first = await opened();
    const second = await opened();
    second.leave();
    tell(1);
    first.leave();
    tell(2);
    await settled();
    const [{ id = "" } = {}] = readBlocks(first.sink?.text ?? "");
    expect(heard(await opened(id))).toEqual([2]);
  });

  it("waits for who comes without an id, wherever it waits", async () => {
    const { opened, tell, settled } = open();
    const first = await opened();
    (await opened()).leave();
    first.leave();
    await settled();
    tell(1);
    expect(heard(await opened())).toEqual([1]);
  });

  it("is given to one connection, not to the next one again when that knows no id", async () => {
    const { opened, tell, settled } = open();
    tell(1);
    tell(2);
    const first = await opened();
    first.leave();
    await settled();
    tell(3);
    expect(heard(first)).toEqual([1, 2]);
    expect(heard(await opened())).toEqual([3]);
  });

  it("C109: is announced to be lost before what is left", async () => {
    const { opened, tell, clock, settled } = open({ maxReplayEvents: 2 });
    const first = await opened();
    for (const n of [1, 2, 3]) tell(n);
    first.leave();
    await settled();
    clock.advance(10_001);
    for (const n of [4, 5]) tell(n);
    const ids = readBlocks(first.sink?.text ?? "").map(({ id }) => id ?? "");
    const heardAfter = async (index: number): Promise<readonly unknown[]> => {
      const again = await opened(ids[index]);
      again.leave();
      await settled();
      return heard(again);
    };
    expect(await heardAfter(0)).toEqual([truncated, 4, 5]);
    expect(await heardAfter(1)).toEqual([truncated, 4, 5]);
    expect(await heardAfter(2)).toEqual([4, 5]);
  });
});

describe("C108: who comes back", () => {
  it("has all of a response that came whole, and is told so, whatever came after it", async () => {
    const { responses, get, settled } = open({ maxReplayEvents: 6, primes: true });
    const whole = [1, 2, 3].map((n) =>
      readBlocks(responses.whole([JSON.stringify({ n })], true)).map(({ id = "" }) => id),
    );
    for (const [n, [before = "", last = ""]] of whole.entries()) {
      const [missed, over] = [get(before), get(last)];
      await settled();
      expect(heard(missed)).toEqual([n + 1]);
      expect(over.sent?.status).toBe(405);
    }
  });

  it("gets the rest of a batch that came whole, to clients that know no id before it, too", async () => {
    const { responses, opened } = open();
    const [first] = readBlocks(responses.whole(['{"n":1}', '{"n":2}', '{"n":3}'], false));
    expect(heard(await opened(first?.id))).toEqual([2, 3]);
  });

  it("C109: hears that something is lost when the response that came whole is forgotten", async () => {
    const { responses, opened, tell } = open({ maxReplayEvents: 2, primes: true });
    const [first] = readBlocks(responses.whole(['{"n":1}'], true));
    responses.whole(['{"n":2}'], true);
    tell(3);
    expect(heard(await opened(first?.id))).toEqual([truncated, 3]);
  });

  it("gets the rest of the stream of its id, and of no other", async () => {
    const { post, opened, tell } = open();
    const { id } = post(1, 2, 3);
    tell(4);
    expect(heard(await opened(id))).toEqual([2, 3]);
    expect(heard(await opened())).toEqual([4]);
  });

  it.each(["99-1", "1-", "-1", "nonsense", "", "1-1-1", "1.5-2", `1-${"9".repeat(16)}`, "__proto__"])(
    "C109: hears that something is lost when its id is %j",
    async (id) => {
      const { opened, tell } = open();
      tell(1);
      expect(heard(await opened(id))).toEqual([truncated, 1]);
    },
  );

  it("C109: hears that something is lost when its stream is forgotten", async () => {
    const { clock, post, opened, tell } = open({ maxReplayEvents: 1 });
    const { stream, before } = post(1);
    stream.end();
    clock.advance(10_001);
    post(2).stream.end();
    tell(2);
    expect(heard(await opened(before))).toEqual([truncated, 2]);
  });
});

describe("streams that only wait", () => {
  it("are limited, until one is left", async () => {
    const { get, opened } = open({ maxStreams: 2 });
    const first = await opened();
    await opened();
    expect(get().sent?.status).toBe(429);
    expect(get("99-1").sent?.status).toBe(429);
    first.leave();
    expect(get().sink).toBeDefined();
    expect(get().sent?.status).toBe(429);
  });

  it("leave nothing behind", async () => {
    const { opened, readers, settled } = open();
    for (let n = 0; n < 100; n++) (await opened()).leave();
    await settled();
    expect(readers.size).toBe(0);
  });

  it("do not keep a client from resuming a call", async () => {
    const { post, get, opened } = open({ maxStreams: 1 });
    await opened();
    expect(get(post(1).before).sink).toBeDefined();
  });
});

it("ends them all", async () => {
  const { readers, opened } = open();
  const replies = [await opened(), await opened()];
  await readers.endAll();
  expect(replies.map(({ sink }) => sink?.state)).toEqual(["ended", "ended"]);
  expect(readers.size).toBe(0);
});
