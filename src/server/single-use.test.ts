import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSingleUse } from "./single-use.ts";

describe("createSingleUse", () => {
  it("lets everything be used once", () => {
    const uses = createSingleUse({ now: () => 0, max: 10 });
    expect([uses.take("a", 1), uses.take("b", 1), uses.take("a", 1)]).toEqual([true, true, false]);
  });

  it("lets it be used again when it was given back", () => {
    const uses = createSingleUse({ now: () => 0, max: 10 });
    uses.take("a", 1);
    uses.giveBack("a");
    uses.giveBack("never taken");
    expect([uses.take("a", 1), uses.take("a", 1)]).toEqual([true, false]);
  });

  it("forgets what has expired, for that is refused anyway", () => {
    let time = 0;
    const uses = createSingleUse({ now: () => time, max: 10 });
    uses.take("a", 5);
    uses.take("b", 6);
    time = 5;
    uses.take("c", 10);
    expect([uses.take("a", 10), uses.take("b", 10)]).toEqual([true, false]);
  });

  it("remembers the newest when there are too many", () => {
    const uses = createSingleUse({ now: () => 0, max: 2 });
    for (const id of ["a", "b", "c"]) uses.take(id, 1);
    expect([uses.take("c", 1), uses.take("b", 1), uses.take("a", 1)]).toEqual([false, false, true]);
  });

  it("never lets anything be used twice before it expires, while there is room", () => {
    const use = fc.record({ id: fc.nat(5), wait: fc.nat(3), ttl: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(fc.array(use), (sequence) => {
        let time = 0;
        const uses = createSingleUse({ now: () => time, max: 100 });
        const expiry = new Map<number, number>();
        for (const { id, wait, ttl } of sequence) {
          time += wait;
          const taken = uses.take(String(id), time + ttl);
          if ((expiry.get(id) ?? 0) > time) expect(taken).toBe(false);
          if (taken) expiry.set(id, time + ttl);
        }
      }),
    );
  });
});
