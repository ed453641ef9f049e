import { describe, expect, it, vi } from "vitest";
import { LazyAbort, orAborted } from "./lazy-abort.ts";

describe("LazyAbort", () => {
  it("aborts its signal with the reason", () => {
    const abort = new LazyAbort();
    const { signal } = abort;
    expect([abort.aborted, signal.aborted]).toEqual([false, false]);
    abort.abort("enough");
    expect([abort.aborted, abort.reason]).toEqual([true, "enough"]);
    expect([signal.aborted, signal.reason]).toEqual([true, "enough"]);
  });

  it("makes one signal, when it is first read, even after the abort", () => {
    const abort = new LazyAbort();
    abort.abort("enough");
    const { signal } = abort;
    expect([signal.aborted, signal.reason]).toEqual([true, "enough"]);
    expect(abort.signal).toBe(signal);
  });

  it("keeps the first reason", () => {
    const abort = new LazyAbort();
    const heard: unknown[] = [];
    abort.onAbort(() => heard.push(abort.reason));
    abort.abort("first");
    abort.abort("second");
    expect(heard).toEqual(["first"]);
    expect(abort.reason).toBe("first");
    expect(abort.signal.reason).toBe("first");
  });

  it("without a reason gives the signal one, as AbortController does", () => {
    const abort = new LazyAbort();
    abort.abort(undefined);
    expect(abort.reason).toBeUndefined();
    expect(abort.signal.reason).toMatchObject({ name: "AbortError" });
  });

  it("tells its listeners in order, then its signal", () => {
    const abort = new LazyAbort();
    const log: string[] = [];
    abort.signal.addEventListener("abort", () => log.push("signal"));
    abort.onAbort(() => log.push("first"));
    abort.onAbort(() => log.push("second"));
    abort.abort("enough");
    expect(log).toEqual(["first", "second", "signal"]);
  });

  it("keeps their order when the first of them has left", () => {
    const abort = new LazyAbort();
    const log: string[] = [];
    const leave = abort.onAbort(() => log.push("left"));
    abort.onAbort(() => log.push("second"));
    leave();
    abort.onAbort(() => log.push("third"));
    abort.abort("enough");
    expect(log).toEqual(["second", "third"]);
  });

  it("tells a listener that comes too late at once", () => {
    const abort = new LazyAbort();
    const heard: unknown[] = [];
    abort.abort("enough");
    const stop = abort.onAbort(() => heard.push(abort.reason));
    expect(heard).toEqual(["enough"]);
    stop();
  });

  it("does not tell who has stopped listening, not even if that was by an earlier listener", () => {
    const abort = new LazyAbort();
    const log: string[] = [];
    const stopBefore = abort.onAbort(() => log.push("stopped before"));
    abort.onAbort(() => {
      log.push("stays");
      stopOnTheWay();
    });
    const stopOnTheWay = abort.onAbort(() => log.push("stopped on the way"));
    stopBefore();
    stopBefore();
    abort.abort("enough");
    stopBefore();
    expect(log).toEqual(["stays"]);
  });
});

describe("orAborted", () => {
  const cancelled = (reason: unknown): Error => new Error(`cancelled: ${reason}`);
  const never = new Promise<never>(() => {});

  it("rejects everything that waits for one signal, which has one listener for all", async () => {
    const abort = new AbortController();
    const { signal } = abort;
    const added = vi.spyOn(signal, "addEventListener");
    const waits = Array.from({ length: 20 }, () => orAborted(never, signal, cancelled));
    abort.abort("enough");
    const ends = await Promise.allSettled(waits);
    expect(new Set(ends.map((end) => end.status === "rejected" && end.reason.message))).toEqual(
      new Set(["cancelled: enough"]),
    );
    expect(added).toHaveBeenCalledTimes(1);
  });

  it("leaves no listener behind", async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, "removeEventListener");
    expect(await Promise.all([1, 2].map((value) => orAborted(Promise.resolve(value), signal, cancelled)))).toEqual([
      1, 2,
    ]);
    expect(removed).toHaveBeenCalledTimes(1);
  });
});
