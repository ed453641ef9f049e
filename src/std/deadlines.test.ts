import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createManualClock } from "../testing/clock.ts";
import type { Clock } from "./clock.ts";
import { createDeadlines, type Deadline, type DeadlineLimits } from "./deadlines.ts";

const limits = (idleMs: number, totalMs = 0): DeadlineLimits => ({ idleMs, totalMs });

describe("createDeadlines", () => {
  it.each<[name: string, limits: DeadlineLimits, at: readonly number[]]>([
    ["the idle time", limits(100), [100]],
    ["the total", limits(0, 200), [200]],
    ["the earlier one: idle", limits(100, 200), [100]],
    ["the earlier one: total", limits(300, 200), [200]],
    ["nothing when both are off", limits(0, 0), []],
  ])("expires once, after %s", (_name, limits, at) => {
    const { clock, start, expired } = setUp();
    start("a", limits);
    clock.advance(1_000);
    expect(expired).toEqual(at.map((time) => `a at ${time}`));
  });

  it("arms no timer for a deadline that is off", () => {
    const { clock, start } = setUp();
    const deadline = start("a", limits(0, 0));
    deadline.touch();
    deadline.stop();
    expect(clock.pending).toBe(0);
  });

  it("starts the idle time anew with every sign of life", () => {
    const { clock, start, expired } = setUp();
    const deadline = start("a", limits(100));
    for (let i = 0; i < 5; i++) {
      clock.advance(99);
      deadline.touch();
    }
    expect(expired).toEqual([]);
    clock.advance(1_000);
    expect(expired).toEqual(["a at 595"]);
  });

  it("does not let signs of life move the total", () => {
    const { clock, start, expired } = setUp();
    const deadline = start("a", limits(100, 250));
    for (let i = 0; i < 10; i++) {
      clock.advance(50);
      deadline.touch();
    }
    expect(expired).toEqual(["a at 250"]);
  });

  it("knows no idle time when there is only a total", () => {
    const { clock, start, expired } = setUp();
    const deadline = start("a", limits(0, 100));
    clock.advance(90);
    deadline.touch();
    clock.advance(500);
    expect(expired).toEqual(["a at 100"]);
  });

  it("lets nothing happen after stop", () => {
    const { clock, start, expired } = setUp();
    const deadline = start("a", limits(100));
    deadline.stop();
    deadline.touch();
    deadline.stop();
    clock.advance(1_000);
    expect(expired).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it("has one timer for all of them", () => {
    const { clock, start, expired } = setUp();
    for (const ms of [300, 100, 200, 100]) start(String(ms), limits(ms));
    expect(clock.pending).toBe(1);
    clock.advance(100);
    expect(expired).toEqual(["100 at 100", "100 at 100"]);
    expect(clock.pending).toBe(1);
    clock.advance(200);
    expect(expired).toEqual(["100 at 100", "100 at 100", "200 at 200", "300 at 300"]);
    expect(clock.pending).toBe(0);
  });

  it("lets an expiry stop another one that is due, and start a new one", () => {
    const { clock, start, deadlines, expired } = setUp();
    deadlines.start(limits(100), () => {
      other.stop();
      start("new", limits(50));
    });
    const other = start("other", limits(100));
    clock.advance(1_000);
    expect(expired).toEqual(["new at 150"]);
  });

  it("expires each one when its limits say so, in any mix of starts, signs of life, stops and time", () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 80 }), (deeds) => {
        const { clock, start, expired } = setUp();
        const models: Model[] = [];
        const pick = (target: number): Model | undefined => models[target % models.length];
        for (const deed of deeds) {
          if (deed.type === "start") models.push(createModel(start(`${models.length}`, deed), deed, clock.now()));
          if (deed.type === "touch") pick(deed.target)?.touch(clock.now());
          if (deed.type === "stop") pick(deed.target)?.stop();
          if (deed.type === "advance") clock.advance(deed.ms);
          for (const model of models) model.expireUntil(clock.now());
        }
        clock.advance(1_000);
        for (const model of models) model.expireUntil(clock.now());

        const due = models.flatMap(({ expiredAt }, name) =>
          expiredAt === undefined ? [] : [`${name} at ${expiredAt}`],
        );
        expect([...expired].sort()).toEqual(due.sort());
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 500 },
    );
  });
});

type Deed =
  | ({ readonly type: "start" } & DeadlineLimits)
  | { readonly type: "touch" | "stop"; readonly target: number }
  | { readonly type: "advance"; readonly ms: number };

const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ type: fc.constant("start" as const), idleMs: fc.nat(50), totalMs: fc.nat(80) }),
  fc.record({ type: fc.constantFrom("touch" as const, "stop" as const), target: fc.nat() }),
  fc.record({ type: fc.constant("advance" as const), ms: fc.nat(30) }),
);

/** One deadline, kept by arithmetic instead of timers. */
interface Model {
  readonly expiredAt: number | undefined;
  touch(now: number): void;
  stop(): void;
  expireUntil(now: number): void;
}

function createModel(deadline: Deadline, { idleMs, totalMs }: DeadlineLimits, now: number): Model {
  const after = (from: number, ms: number): number => (ms === 0 ? Number.POSITIVE_INFINITY : from + ms);
  let lastSign = now;
  let live = true;
  let expiredAt: number | undefined;
  return {
    get expiredAt() {
      return expiredAt;
    },
    touch(at) {
      deadline.touch();
      lastSign = at;
    },
    stop() {
      deadline.stop();
      live = false;
    },
    expireUntil(end) {
      const due = Math.min(after(lastSign, idleMs), after(now, totalMs));
      if (!live || due > end) return;
      live = false;
      expiredAt = due;
    },
  };
}

describe("createDeadlines where timers end with their request", () => {
  it("gives every limit a timer of its own (I2)", () => {
    const { clock, start, expired } = setUp({ requestBound: true });
    start("long", { idleMs: 0, totalMs: 300 });
    start("short", { idleMs: 0, totalMs: 100 });
    expect(clock.pending).toBe(2);
    start("stopped", { idleMs: 50, totalMs: 0 }).stop();
    const touched = start("touched", { idleMs: 80, totalMs: 0 });
    clock.advance(40);
    touched.touch();
    clock.advance(300);
    expect(expired).toEqual(["short at 100", "touched at 120", "long at 300"]);
  });
});

function setUp(platform: Partial<Clock> = {}) {
  const clock = Object.assign(createManualClock(), platform);
  const deadlines = createDeadlines(clock);
  const expired: string[] = [];
  const start = (name: string, limits: DeadlineLimits): Deadline =>
    deadlines.start(limits, () => expired.push(`${name} at ${clock.now()}`));
  return { clock, deadlines, start, expired };
}
