import { describe, expect, it } from "vitest";
import { createFakeReply, type FakeSink } from "../../../test/support/fake-reply.ts";
import { createManualClock } from "../../testing/clock.ts";
import { openLiveSink } from "./event-sink.ts";
import { createHeartbeat } from "./heartbeat.ts";

const BEAT = 15_000;

function open(maxUnreadBytes = 100) {
  const clock = createManualClock();
  const reply = createFakeReply();
  const reasons: string[] = [];
  const sink = openLiveSink(
    reply,
    { heartbeat: createHeartbeat(clock, BEAT), maxUnreadBytes, dropped: (reason) => reasons.push(reason) },
    { "mcp-session-id": "s" },
  );
  return { clock, reply, reasons, sink, client: reply.sink as FakeSink };
}

describe("a stream that is kept alive", () => {
  it("opens with a head that no proxy changes or holds back", () => {
    expect(open().reply.head).toEqual({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "mcp-session-id": "s",
    });
  });

  it("says something after a beat of silence, and only then", () => {
    const { clock, sink, client } = open();
    clock.advance(BEAT);
    expect(client.written).toEqual([]);
    clock.advance(BEAT);
    expect(client.written).toEqual([": \n\n"]);
    sink.write("data: 1\n\n");
    clock.advance(BEAT);
    expect(client.written).toEqual([": \n\n", "data: 1\n\n"]);
    clock.advance(2 * BEAT);
    expect(client.written).toEqual([": \n\n", "data: 1\n\n", ": \n\n", ": \n\n"]);
  });

  it.each<readonly [string, (opened: ReturnType<typeof open>) => void]>([
    ["ended", ({ sink }) => sink.end()],
    ["destroyed", ({ sink }) => sink.destroy()],
    ["left by its client", ({ reply }) => reply.leave()],
  ])("is silent, and forgotten, when it is %s", (_, finish) => {
    const opened = open();
    finish(opened);
    opened.sink.write("data: 1\n\n");
    opened.clock.advance(10 * BEAT);
    expect(opened.client.written).toEqual([]);
    expect(opened.clock.pending).toBe(0);
    expect(opened.reasons).toEqual([]);
  });

  it("ends with what it is given, once", () => {
    const { sink, client } = open();
    sink.end("data: last\n\n");
    sink.end("data: more\n\n");
    expect(client.written).toEqual(["data: last\n\n"]);
    expect(client.state).toBe("ended");
  });
});

describe("C111: a client that does not read", () => {
  it("holds back who writes until it has caught up", async () => {
    const { sink, client } = open();
    client.stall();
    const slow = sink.write("x");
    expect(slow).toBeInstanceOf(Promise);
    client.catchUp();
    await slow;
    expect(sink.write("y")).toBeUndefined();
  });

  it("is cut off when it has left too much unread, with the reason", () => {
    const { sink, client, reasons, clock } = open(100);
    client.stall();
    sink.write("x".repeat(10));
    for (let n = 0; n < 10; n++) sink.write("x".repeat(10));
    expect(client.state).toBe("open");
    expect(sink.write("x")).toBeUndefined();
    expect(client.state).toBe("destroyed");
    expect(reasons).toEqual(["a client left more than 100 bytes unread"]);
    expect(clock.pending).toBeLessThanOrEqual(1);
  });

  it("is not cut off for one message that is larger than what it may leave", async () => {
    const { sink, client, reasons } = open(100);
    client.stall();
    const slow = sink.write("x".repeat(1000));
    expect(client.state).toBe("open");
    client.catchUp();
    await slow;
    sink.write("y");
    expect(client.written.at(-1)).toBe("y");
    expect(reasons).toEqual([]);
  });

  it("may catch up as often as it likes", async () => {
    const { sink, client, reasons } = open(100);
    for (let n = 0; n < 20; n++) {
      client.stall();
      const slow = sink.write("x".repeat(90));
      client.catchUp();
      await slow;
    }
    expect(reasons).toEqual([]);
  });

  it("is never cut off for what it has left when that is off", () => {
    const { sink, client } = open(Number.POSITIVE_INFINITY);
    client.stall();
    for (let n = 0; n < 100; n++) sink.write("x".repeat(100));
    expect(client.state).toBe("open");
  });

  it("is cut off at the third beat that finds it behind", () => {
    const { sink, client, reasons, clock } = open();
    client.stall();
    sink.write("x");
    clock.advance(2 * BEAT);
    expect(client.state).toBe("open");
    clock.advance(BEAT);
    expect(client.state).toBe("destroyed");
    expect(reasons).toEqual(["a client did not read for too long"]);
  });

  it("has three beats anew when it has caught up", async () => {
    const { sink, client, reasons, clock } = open();
    for (let n = 0; n < 3; n++) {
      client.stall();
      const slow = sink.write("x");
      clock.advance(2 * BEAT);
      client.catchUp();
      await slow;
    }
    expect(reasons).toEqual([]);
    expect(client.state).toBe("open");
  });

  it("is not sent signs of life that it would not read", () => {
    const { sink, client, clock } = open();
    client.stall();
    sink.write("x");
    clock.advance(2 * BEAT);
    expect(client.written).toEqual(["x"]);
  });
});
