import { describe, expect, it } from "vitest";
import { createManualClock } from "../../testing/clock.ts";
import { createHeartbeat, type HeartbeatListener } from "./heartbeat.ts";

const unlinked = { previous: undefined, next: undefined };

function counting(): HeartbeatListener & { readonly beats: number } {
  let beats = 0;
  return {
    ...unlinked,
    beat() {
      beats++;
    },
    get beats() {
      return beats;
    },
  };
}

describe("heartbeat", () => {
  it("looks at everything once an interval", () => {
    const clock = createManualClock();
    const heartbeat = createHeartbeat(clock, 100);
    const [one, other] = [counting(), counting()];
    heartbeat.add(one);
    clock.advance(50);
    heartbeat.add(other);
    clock.advance(49);
    expect([one.beats, other.beats]).toEqual([0, 0]);
    clock.advance(1);
    expect([one.beats, other.beats]).toEqual([1, 1]);
    clock.advance(1000);
    expect([one.beats, other.beats]).toEqual([11, 11]);
  });

  it("has one timer, and none while nothing is there", () => {
    const clock = createManualClock();
    const heartbeat = createHeartbeat(clock, 100);
    expect(clock.pending).toBe(0);
    const all = Array.from({ length: 10 }, counting);
    for (const one of all) heartbeat.add(one);
    expect(clock.pending).toBe(1);
    for (const one of all) heartbeat.delete(one);
    clock.advance(100);
    expect(clock.pending).toBe(0);
    expect(all.map(({ beats }) => beats)).toEqual(all.map(() => 0));
  });

  it("starts again", () => {
    const clock = createManualClock();
    const heartbeat = createHeartbeat(clock, 100);
    const one = counting();
    heartbeat.add(one);
    heartbeat.delete(one);
    clock.advance(200);
    heartbeat.add(one);
    clock.advance(100);
    expect(one.beats).toBe(1);
  });

  it("stops at once, and may start again", () => {
    const clock = createManualClock();
    const heartbeat = createHeartbeat(clock, 100);
    const [one, other] = [counting(), counting()];
    heartbeat.add(one);
    heartbeat.stop();
    expect(clock.pending).toBe(0);
    heartbeat.add(other);
    clock.advance(100);
    expect([one.beats, other.beats]).toEqual([0, 1]);
  });

  it("goes on when something leaves, or comes, at its beat", () => {
    const clock = createManualClock();
    const heartbeat = createHeartbeat(clock, 100);
    const stays = counting();
    const comes = counting();
    const leaves: HeartbeatListener = {
      ...unlinked,
      beat() {
        heartbeat.delete(leaves);
        heartbeat.add(comes);
      },
    };
    heartbeat.add(leaves);
    heartbeat.add(stays);
    clock.advance(300);
    expect(stays.beats).toBe(3);
    expect(comes.beats).toBeGreaterThanOrEqual(2);
  });

  it.each([0, -1])("is off with an interval of %d", (intervalMs) => {
    const clock = createManualClock();
    createHeartbeat(clock, intervalMs).add(counting());
    expect(clock.pending).toBe(0);
  });
});

describe("heartbeat where timers end with their request", () => {
  const setUp = () => {
    const clock = Object.assign(createManualClock(), { requestBound: true });
    return { clock, heartbeat: createHeartbeat(clock, 100) };
  };

  it("has a timer for everything (I2)", () => {
    const { clock, heartbeat } = setUp();
    const [one, other] = [counting(), counting()];
    heartbeat.add(one);
    clock.advance(50);
    heartbeat.add(other);
    heartbeat.add(other);
    expect(clock.pending).toBe(2);
    clock.advance(60);
    expect([one.beats, other.beats]).toEqual([1, 0]);
    clock.advance(40);
    expect([one.beats, other.beats]).toEqual([1, 1]);
    heartbeat.delete(one);
    clock.advance(100);
    expect([one.beats, other.beats]).toEqual([1, 2]);
    heartbeat.stop();
    clock.advance(100);
    expect([one.beats, other.beats]).toEqual([1, 2]);
    expect(clock.pending).toBe(0);
  });
});
