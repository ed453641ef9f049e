import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "./clock.ts";

const dayMs = 86_400_000;

describe("systemClock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("runs a task once, when its time has come", () => {
    const start = systemClock.now();
    const times: number[] = [];
    systemClock.after(50, () => times.push(systemClock.now() - start));
    vi.advanceTimersByTime(49);
    expect(times).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(times).toEqual([50]);
  });

  it("does not run a task that was stopped", () => {
    const ran: string[] = [];
    const stop = systemClock.after(50, () => ran.push("stopped"));
    stop();
    stop();
    vi.advanceTimersByTime(100);
    expect(ran).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is not moved by a change of the time of day (V40)", () => {
    const start = systemClock.now();
    vi.setSystemTime(Date.now() + dayMs);
    expect(systemClock.now()).toBe(start);
  });

  it("waits longer than the longest timer of the platform", () => {
    const ran: string[] = [];
    systemClock.after(60 * dayMs, () => ran.push("60 days"));
    const stop = systemClock.after(60 * dayMs, () => ran.push("stopped on the way"));
    systemClock.after(Number.POSITIVE_INFINITY, () => ran.push("never"));
    vi.advanceTimersByTime(60 * dayMs - 1);
    expect(ran).toEqual([]);
    stop();
    vi.advanceTimersByTime(1);
    expect(ran).toEqual(["60 days"]);
  });

  it.each([[7], [{}]])("works where a timer is %j", (timer) => {
    const cleared: unknown[] = [];
    vi.stubGlobal("setTimeout", () => timer);
    vi.stubGlobal("clearTimeout", (stopped: unknown) => cleared.push(stopped));
    systemClock.after(50, () => {})();
    expect(cleared).toEqual([timer]);
  });
});

describe("systemClock in Node", () => {
  it("keeps no process alive", () => {
    const before = timersThatKeepAlive();
    const stop = systemClock.after(60_000, () => {});
    expect(timersThatKeepAlive()).toBe(before);
    stop();
  });
});

function timersThatKeepAlive(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}
