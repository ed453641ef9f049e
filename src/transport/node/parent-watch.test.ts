import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { createManualClock } from "../../testing/clock.ts";
import { watchParent } from "./exit-signals.ts";

describe("watchParent", () => {
  it("tells once when the parent has changed", () => {
    const { clock, family, deaths } = watched();
    clock.advance(60_000);
    expect(deaths()).toBe(0);
    family.ppid = 1;
    clock.advance(60_000);
    expect(deaths()).toBe(1);
    expect(clock.pending).toBe(0);
    expect(family.listenerCount("disconnect")).toBe(0);
  });

  it("looks sooner when the parent has hung up, and takes that alone for no death", () => {
    const { clock, family, deaths } = watched();
    family.emit("disconnect");
    clock.advance(200);
    expect(deaths()).toBe(0);
    family.emit("disconnect");
    family.ppid = 1;
    clock.advance(200);
    expect(deaths()).toBe(1);
  });

  it("leaves nothing behind when it is stopped", () => {
    const { clock, family, stop } = watched();
    stop();
    expect(clock.pending).toBe(0);
    expect(family.listenerCount("disconnect")).toBe(0);
  });
});

function watched() {
  const clock = createManualClock();
  const family = Object.assign(new EventEmitter(), { ppid: 42 });
  let count = 0;
  const stop = watchParent(clock, () => count++, family);
  return { clock, family, stop, deaths: () => count };
}
