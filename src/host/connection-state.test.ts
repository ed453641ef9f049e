import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Failure } from "../protocol/errors.ts";
import { type ConnectionState, initial, type MemberEvent, standardRules, step } from "./connection-state.ts";

const rules = {
  ...standardRules,
  minDelayMs: 100,
  maxDelayMs: 1_000,
  maxFailures: 3,
  windowMs: 10_000,
  stableMs: 5_000,
};
const reason: Failure = { code: "connection-closed", message: "gone" };
const at = (now: number) => ({ now, rules });

function following(
  events: readonly (readonly [now: number, event: MemberEvent])[],
  from: ConnectionState = initial,
): ConnectionState {
  return events.reduce((state, [now, event]) => step(state, event, at(now)), from);
}

const wanted: MemberEvent = { kind: "wanted" };
const opened: MemberEvent = { kind: "opened" };
const failed: MemberEvent = { kind: "failed", reason };
const ended: MemberEvent = { kind: "ended", reason };
const due: MemberEvent = { kind: "due" };

describe("a server of a host", () => {
  it("connects when it is needed, and is ready when that worked", () => {
    expect(following([[0, wanted]])).toMatchObject({ kind: "connecting" });
    expect(
      following([
        [0, wanted],
        [5, opened],
      ]),
    ).toMatchObject({ kind: "ready", since: 5 });
  });

  it("waits longer after each failure in a row, up to the limit", () => {
    const patient = { ...rules, maxFailures: 100 };
    const delays: number[] = [];
    let state: ConnectionState = initial;
    let now = 0;
    for (let round = 0; round < 6; round++) {
      state = step(state, wanted, { now, rules: patient });
      state = step(state, failed, { now, rules: patient });
      if (state.kind !== "down") throw new Error(`is ${state.kind}`);
      delays.push(state.retryAt - now);
      now = state.retryAt;
    }
    expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it("is not tried before its time", () => {
    const down = following([
      [0, wanted],
      [0, failed],
    ]);
    expect(step(down, wanted, at(99))).toBe(down);
    expect(step(down, due, at(99))).toBe(down);
    expect(step(down, due, at(100))).toMatchObject({ kind: "connecting" });
  });

  it("starts anew after it has been up for a while", () => {
    const state = following([
      [0, wanted],
      [0, failed],
      [100, due],
      [100, opened],
      [6_000, ended],
    ]);
    expect(state).toMatchObject({ kind: "down", retryAt: 6_100, failures: { inRow: 1 } });
  });

  it("trips the breaker when it fails too often, and is then tried only when needed", () => {
    const looping = following([
      [0, wanted],
      [0, failed],
      [100, due],
      [100, opened],
      [110, ended],
      [400, due],
      [400, failed],
    ]);
    expect(looping).toMatchObject({ kind: "down", isLooping: true, retryAt: 1_400 });
    expect(step(looping, wanted, at(1_399))).toBe(looping);
    expect(step(looping, wanted, at(1_400))).toMatchObject({ kind: "connecting" });
  });

  it("forgets failures that are long ago", () => {
    const state = following([
      [0, wanted],
      [0, failed],
      [100, due],
      [100, failed],
      [20_000, due],
      [20_000, failed],
    ]);
    expect(state).toMatchObject({ kind: "down", isLooping: false });
  });

  it("goes idle when this side ended the connection", () => {
    const ready = following([
      [0, wanted],
      [0, opened],
    ]);
    expect(step(ready, { kind: "ended", reason: undefined }, at(1))).toMatchObject({ kind: "idle" });
    expect(step(ready, { kind: "unused" }, at(1))).toMatchObject({ kind: "idle" });
  });

  it("a restart clears the record, whatever the state", () => {
    const looping: ConnectionState = {
      kind: "down",
      reason,
      retryAt: 9_999,
      isLooping: true,
      failures: { inRow: 9, recent: [1] },
    };
    expect(step(looping, { kind: "restart" }, at(5))).toEqual({
      kind: "connecting",
      since: 5,
      failures: { inRow: 0, recent: [] },
    });
  });

  it("off and closed are for good, however events come", () => {
    const event = fc.constantFrom<MemberEvent>(
      wanted,
      opened,
      failed,
      ended,
      due,
      { kind: "restart" },
      { kind: "unused" },
    );
    const off: ConnectionState = { kind: "off", reason };
    fc.assert(
      fc.property(fc.array(event), (events) => {
        expect(
          following(
            events.map((one, index) => [index, one]),
            off,
          ),
        ).toBe(off);
        expect(
          following(
            events.map((one, index) => [index, one]),
            { kind: "closed" },
          ),
        ).toEqual({ kind: "closed" });
        expect(following([...events.map((one, index) => [index, one] as const), [99, { kind: "close" }]])).toEqual({
          kind: "closed",
        });
      }),
    );
  });

  it("that needs its user to sign in is not tried again, neither by itself nor by who needs it", () => {
    const unauthorized: Failure = { code: "unauthorized", message: "sign in" };
    const waiting = following([
      [0, wanted],
      [1, { kind: "failed", reason: unauthorized }],
    ]);
    expect(waiting).toMatchObject({ kind: "needs-auth", reason: unauthorized });
    for (const event of [wanted, due, opened, failed, ended, { kind: "unauthorized", reason } as const]) {
      expect(following([[1_000_000, event]], waiting)).toBe(waiting);
    }
    expect(following([[2, { kind: "restart" }]], waiting)).toMatchObject({ kind: "connecting" });
    const ready = following([
      [0, wanted],
      [1, opened],
    ]);
    expect(following([[2, { kind: "unauthorized", reason }]], ready)).toMatchObject({ kind: "needs-auth", reason });
  });

  it("remembers no more failures than count, and waits no longer than the limit", () => {
    const event = fc.constantFrom<MemberEvent>(wanted, opened, failed, ended, due);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2_000), event), { maxLength: 200 }), (steps) => {
        let now = 0;
        let state = initial;
        for (const [wait, one] of steps) {
          now += wait;
          state = step(state, one, at(now));
          if (state.kind !== "down") continue;
          expect(state.failures.recent.length).toBeLessThanOrEqual(rules.maxFailures);
          expect(state.retryAt - now).toBeLessThanOrEqual(rules.maxDelayMs);
        }
      }),
    );
  });
});
