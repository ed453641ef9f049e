import { describe, expect, it } from "vitest";
import { createManualClock } from "../testing/clock.ts";
import { createHold, holding } from "./hold.ts";

function setUp() {
  const manual = createManualClock();
  let holds = 0;
  let taken = 0;
  const clock = {
    ...manual,
    hold() {
      holds++;
      taken++;
      return () => {
        holds--;
      };
    },
  };
  return { clock, advance: manual.advance, holds: () => holds, taken: () => taken };
}

describe("a hold", () => {
  it("keeps the process alive while somebody waits, and a moment longer (P1)", () => {
    const { clock, advance, holds } = setUp();
    const hold = createHold(clock);
    hold.take();
    hold.take();
    hold.release();
    advance(10);
    expect(holds()).toBe(1);
    hold.release();
    expect(holds()).toBe(1);
    advance(1);
    expect(holds()).toBe(0);
  });

  it("is one hold for calls that follow each other", () => {
    const { clock, advance, holds, taken } = setUp();
    const hold = createHold(clock);
    for (let call = 0; call < 100; call++) {
      hold.take();
      hold.release();
    }
    expect(taken()).toBe(1);
    hold.take();
    advance(1);
    expect(holds()).toBe(1);
    hold.release();
    advance(1);
    expect(holds()).toBe(0);
    hold.take();
    expect([holds(), taken()]).toEqual([1, 2]);
  });

  it("lasts until work settles, however it does", async () => {
    const { clock, holds } = setUp();
    const work = holding(clock, Promise.reject(new Error("no")));
    expect(holds()).toBe(1);
    await expect(work).rejects.toThrow("no");
    expect(holds()).toBe(0);
  });
});
