import { describe, expect, it } from "vitest";
import { createFakeSink, type FakeSink } from "../../../test/support/fake-reply.ts";
import { messagesIn, readBlocks } from "../../../test/support/sse-text.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createStreams } from "./session-streams.ts";

function open({ maxStreams = 4, replayEvents = 256 } = {}) {
  const clock = createManualClock();
  const options = { clock, retryMs: 1_000, replayEvents, replayChars: 1_048_576, maxStreams };
  const streams = createStreams(options, () => false);
  /** A GET, and the way to break its connection. */
  const get = (lastEventId?: string): { readonly sink: FakeSink; leave(): void } | undefined => {
    const found = streams.find(lastEventId);
    if (found === undefined) return undefined;
    const sink = createFakeSink();
    found.attach(sink);
    return { sink, leave: () => found.detach(sink) };
  };
  const opened = (lastEventId?: string) => get(lastEventId) ?? expect.fail("too many streams");
  const tell = (n: number) => streams.news().write(JSON.stringify({ n }));
  return { clock, streams, get, opened, tell };
}

const heard = ({ sink }: { readonly sink: FakeSink }) => messagesIn(sink.text).map(({ n }) => n);
const truncated = "notifications/replay_truncated";

describe("news", () => {
  it("wait for the first who asks", () => {
    const { opened, tell } = open();
    tell(1);
    expect(heard(opened())).toEqual([1]);
  });

  it("C110: go to one stream, however many are read", () => {
    const { opened, tell } = open();
    const all = [opened(), opened(), opened()];
    tell(1);
    tell(2);
    expect(all.flatMap(heard).sort()).toEqual([1, 2]);
  });

  it("C110: never go to the stream of a POST", () => {
    const { streams, tell } = open();
    const sink = createFakeSink();
    streams.create().attach(sink);
    tell(1);
    expect(sink.written).toEqual([]);
  });

  it("wait for the stream that was read last, so that who resumes it gets them", () => {
    const { opened, tell } = open();
    const first = opened();
    const second = opened();
    second.leave();
    tell(1);
    first.leave();
    tell(2);
    const [{ id = "" } = {}] = readBlocks(first.sink.text);
    expect(heard(opened(id))).toEqual([2]);
  });

  it("wait for who comes without an id, wherever they wait", () => {
    const { opened, tell } = open();
    const first = opened();
    opened().leave();
    first.leave();
    tell(1);
    expect(heard(opened())).toEqual([1]);
  });
});

describe("C108: who comes back", () => {
  it("has all of an answer that came whole, and is told so, whatever came after it", () => {
    const { streams } = open({ replayEvents: 2 });
    const ids = [1, 2, 3].map((n) => {
      const [{ id = "" } = {}] = readBlocks(streams.create().whole([JSON.stringify({ n })]) as string);
      return id;
    });
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(streams.isOver(id)).toBe(true);
  });

  it("gets the rest of the stream of its id, and of no other", () => {
    const { streams, opened, tell } = open();
    const post = streams.create();
    const sink = createFakeSink();
    post.attach(sink);
    for (const n of [1, 2, 3]) post.write(JSON.stringify({ n }));
    tell(4);
    const [{ id = "" } = {}] = readBlocks(sink.text);
    expect(heard(opened(id))).toEqual([2, 3]);
    expect(heard(opened())).toEqual([4]);
  });

  it.each(["99-1", "1-", "-1", "nonsense", "", "1-1-1", "1.5-2", `1-${"9".repeat(16)}`, "__proto__"])(
    "C109: hears that something is lost when its id is %j",
    (id) => {
      const { opened, tell } = open();
      tell(1);
      const { sink } = opened(id);
      expect(messagesIn(sink.text).map(({ method, n }) => method ?? n)).toEqual([truncated, 1]);
    },
  );

  it("C109: hears that something is lost when its stream is forgotten", () => {
    const { clock, streams, opened, tell } = open({ replayEvents: 1 });
    const post = streams.create();
    post.write(JSON.stringify({ n: 1 }));
    post.end();
    clock.advance(10_001);
    tell(2);
    expect(messagesIn(opened("1-0").sink.text).map(({ method, n }) => method ?? n)).toEqual([truncated, 2]);
  });

  it("finds nothing of a stream that ended without an event", () => {
    const { streams, opened } = open();
    const post = streams.create();
    post.attach(createFakeSink());
    post.end();
    const { sink } = opened(`${post.name}-0`);
    expect(sink.state).toBe("open");
    expect(messagesIn(sink.text)).toMatchObject([{ method: truncated }]);
  });
});

describe("streams that only wait", () => {
  it("are limited, until one is left", () => {
    const { get, opened } = open({ maxStreams: 2 });
    const first = opened();
    opened();
    expect(get()).toBeUndefined();
    expect(get("99-1")).toBeUndefined();
    first.leave();
    expect(get()).toBeDefined();
    expect(get()).toBeUndefined();
  });

  it("are used again, so that coming and going costs nothing", () => {
    const { opened, streams } = open();
    for (let n = 0; n < 100; n++) opened().leave();
    expect(streams.news().name).toBe(1);
  });

  it("do not keep a client from resuming a call", () => {
    const { streams, get, opened } = open({ maxStreams: 1 });
    opened();
    const post = streams.create();
    post.write(JSON.stringify({ n: 1 }));
    expect(get(`${post.name}-0`)).toBeDefined();
  });
});

it("knows whether one is connected", () => {
  const { streams, opened } = open();
  expect(streams.attached).toBe(false);
  const get = opened();
  expect(streams.attached).toBe(true);
  get.leave();
  expect(streams.attached).toBe(false);
});

it("ends them all", () => {
  const { streams, opened } = open();
  const sinks = [opened().sink, opened().sink];
  streams.endAll();
  expect(sinks.map(({ state }) => state)).toEqual(["ended", "ended"]);
  expect(streams.attached).toBe(false);
});
