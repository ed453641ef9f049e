import { describe, expect, it, vi } from "vitest";
import { createManualClock } from "../testing/clock.ts";
import { createSignInPausedClock } from "./connect-in-time.ts";

const request = { method: "POST", url: new URL("https://x.example"), server: new URL("https://x.example") };
const answer = { status: 401, header: () => undefined };

function patient() {
  const clock = createManualClock();
  let settle = (_again: boolean): void => {};
  const refused = () =>
    new Promise<boolean>((resolve) => {
      settle = resolve;
    });
  const patience = createSignInPausedClock(clock, { headers: async () => ({}), refused });
  return { clock, patience, settle: (again: boolean) => settle(again) };
}

describe("a clock that stands still while a user signs in", () => {
  it("does not count that time", async () => {
    const { clock, patience, settle } = patient();
    const task = vi.fn();
    patience.clock.after(100, task);
    clock.advance(60);
    const waiting = patience.auth.refused(request, answer);
    expect(patience.clock.now()).toBe(60);
    const late = vi.fn();
    patience.clock.after(10, late);
    clock.advance(1_000);
    expect([patience.clock.now(), task.mock.calls.length, late.mock.calls.length]).toEqual([60, 0, 0]);
    settle(true);
    expect(await waiting).toBe(true);
    clock.advance(39);
    expect([patience.clock.now(), task.mock.calls.length, late.mock.calls.length]).toEqual([99, 0, 1]);
    clock.advance(1);
    expect(task).toHaveBeenCalledOnce();
    expect(clock.pending).toBe(0);
  });

  it("stands still until the last one is done, and forgets what was cancelled", async () => {
    const { clock, patience, settle } = patient();
    const task = vi.fn();
    const cancel = patience.clock.after(5, task);
    const first = patience.auth.refused(request, answer);
    const settleFirst = settle;
    cancel();
    settleFirst(false);
    await first;
    clock.advance(10);
    expect(task).not.toHaveBeenCalled();
    expect(clock.pending).toBe(0);
  });
});
