import { describe, expect, it, vi } from "vitest";
import { createManualClock } from "../../testing/clock.ts";
import { createLiveRequests } from "./fetch-handler.ts";

/** A clock whose timers can be ended, as a platform does with those of a request. */
function mortalClock() {
  const clock = createManualClock();
  const platform = { isDead: false };
  const { after } = clock;
  return Object.assign(clock, {
    platform,
    after: (ms: number, task: () => void) => after(ms, () => platform.isDead || task()),
  });
}

describe("live requests", () => {
  it("finds one that has ended without a word, and tells it once", () => {
    const clock = mortalClock();
    const live = createLiveRequests(clock);
    const lost = vi.fn();
    live.add(forever, lost);
    clock.advance(20_000);
    live.add(Promise.resolve(), vi.fn());
    clock.platform.isDead = true;
    for (let seconds = 0; seconds < 9; seconds++) {
      clock.advance(1_000);
      live.add(Promise.resolve(), vi.fn());
    }
    expect(lost).not.toHaveBeenCalled();
    clock.advance(1_000);
    live.add(Promise.resolve(), vi.fn());
    clock.advance(20_000);
    live.add(Promise.resolve(), vi.fn());
    expect(lost).toHaveBeenCalledOnce();
  });

  it("does not mistake a long computation for the end of all others", () => {
    const clock = mortalClock();
    const live = createLiveRequests(clock);
    const lost = vi.fn();
    live.add(forever, lost);
    clock.platform.isDead = true;
    clock.advance(60_000);
    live.add(Promise.resolve(), vi.fn());
    clock.platform.isDead = false;
    clock.advance(1_000);
    live.add(Promise.resolve(), vi.fn());
    expect(lost).not.toHaveBeenCalled();
  });

  it("forgets one whose response is complete and whose work is done", async () => {
    const clock = mortalClock();
    const live = createLiveRequests(clock);
    const [response, work] = [createBell(), createBell()];
    const life = live.add(response.rung, vi.fn());
    const held = life.holdFor(work.rung.then(() => Promise.reject(new Error("it failed"))));
    response.ring();
    await life.over;
    expect(clock.pending).toBe(1);
    work.ring();
    await held;
    expect(clock.pending).toBe(0);
  });
});

const forever = new Promise<void>(() => {});

function createBell() {
  let ring = (): void => {};
  const rung = new Promise<void>((resolve) => {
    ring = resolve;
  });
  return { rung, ring };
}
