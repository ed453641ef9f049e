import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../store/memory-store.ts";
import { createManualClock } from "../testing/clock.ts";
import { take, type Verdict } from "./rate-limit.ts";

const W = 1_000;

/** Takes things one after the other, each so long after the one before. */
function setUp(limit: number, start = 5 * W) {
  const clock = createManualClock(start);
  const { values } = memoryStore({ clock });
  return {
    clock,
    take: async (cost = 1): Promise<Verdict> =>
      take(values, { name: "a", cost, now: clock.now() }, { limit, windowMs: W }),
  };
}

/** What may happen, with when it wanted to and what it cost. */
const wishes = fc.array(
  fc.record({ afterMs: fc.oneof(fc.nat(20), fc.nat(W / 2), fc.nat(3 * W)), cost: fc.integer({ min: 1, max: 4 }) }),
  { maxLength: 60 },
);

describe("take", () => {
  it("lets so much happen in one window, and no more", async () => {
    const { take } = setUp(3);
    const verdicts = [await take(), await take(2), await take(), await take()];
    expect(verdicts.map(({ ok }) => ok)).toEqual([true, true, false, false]);
  });

  it("answers at once where the store does", () => {
    const { values } = memoryStore();
    expect(take(values, { name: "a", cost: 1, now: 0 }, { limit: 1, windowMs: W })).toEqual({ ok: true });
  });

  it("lets what comes at the same time happen as if it came in turn", async () => {
    const { take } = setUp(5);
    const verdicts = await Promise.all(Array.from({ length: 12 }, () => take()));
    expect(verdicts.filter(({ ok }) => ok)).toHaveLength(5);
  });

  it("counts the window before for what would still be seen of it", async () => {
    const { take, clock } = setUp(10);
    for (let n = 0; n < 10; n++) expect((await take()).ok).toBe(true);
    clock.advance(W);
    expect(await take()).toEqual({ ok: false, retryAfterMs: 100 });
    clock.advance(W / 2);
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => take()));
    expect(verdicts.filter(({ ok }) => ok)).toHaveLength(5);
  });

  it("forgets what is two windows ago", async () => {
    const { take, clock } = setUp(2);
    await take(2);
    clock.advance(2 * W);
    expect((await take(2)).ok).toBe(true);
  });

  it("refuses what costs more than the limit, and does not count it", async () => {
    const { take } = setUp(3);
    expect((await take(4)).ok).toBe(false);
    expect((await take(3)).ok).toBe(true);
  });

  it("does not count what it refuses, however often", async () => {
    const { take, clock } = setUp(1);
    await take();
    for (let n = 0; n < 50; n++) expect((await take()).ok).toBe(false);
    clock.advance(2 * W);
    expect((await take()).ok).toBe(true);
  });

  it("counts at most the limit in a window of the clock, less than twice that in any, and refuses nothing without need", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.nat(W - 1), wishes, async (limit, offset, wishes) => {
        const { take, clock } = setUp(limit, 5 * W + offset);
        const happened: { readonly at: number; readonly cost: number }[] = [];
        const within = (from: number, to: number): number =>
          happened.filter(({ at }) => at > from && at <= to).reduce((sum, { cost }) => sum + cost, 0);
        for (const { afterMs, cost } of wishes) {
          clock.advance(afterMs);
          const at = clock.now();
          const start = Math.floor(at / W) * W;
          const { ok } = await take(cost);
          if (ok) happened.push({ at, cost });
          else expect(within(start - W - 1, at) + cost).toBeGreaterThan(limit);
          expect(within(start - 1, at)).toBeLessThanOrEqual(limit);
          expect(within(at - W, at)).toBeLessThan(2 * limit);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("says exactly when it could happen", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 4, max: 12 }), fc.nat(W - 1), wishes, async (limit, offset, wishes) => {
        const { take, clock } = setUp(limit, 5 * W + offset);
        for (const { afterMs, cost } of wishes) {
          clock.advance(afterMs);
          const verdict = await take(cost);
          if (verdict.ok) continue;
          clock.advance(verdict.retryAfterMs - 1);
          expect(await take(cost)).toEqual({ ok: false, retryAfterMs: 1 });
          clock.advance(1);
          expect(await take(cost)).toEqual({ ok: true });
        }
      }),
      { numRuns: 200 },
    );
  });
});
