import { describe, expect, it } from "vitest";
import { createFairGate } from "./fair-gate.ts";

function setUp(maxRunning: number, maxWaiting: number) {
  const gate = createFairGate({ maxRunning, maxWaiting, full: () => new Error("full") });
  const running: { readonly name: string; end(): void }[] = [];
  const started: string[] = [];
  const run = (key: string, name: string): Promise<string> =>
    gate.run(key, () => {
      started.push(name);
      return new Promise((resolve) => running.push({ name, end: () => resolve(name) }));
    });
  const endFirst = async (): Promise<void> => {
    running.shift()?.end();
    for (let turns = 0; turns < 5; turns++) await Promise.resolve();
  };
  return { run, started, endFirst };
}

describe("a fair gate", () => {
  it("gives keys their turns one after the other", async () => {
    const { run, started, endFirst } = setUp(1, 10);
    for (const name of ["a1", "a2", "a3", "b1", "a4", "b2", "c1"]) void run(name.charAt(0), name);
    for (let n = 0; n < 7; n++) await endFirst();
    expect(started).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  });

  it("refuses the newest of who has most when too much waits, and who has as much as that", async () => {
    const { run, started, endFirst } = setUp(1, 3);
    const [a1, a2, a3, a4] = ["a1", "a2", "a3", "a4"].map((name) => run("a", name));
    await expect(run("a", "a5")).rejects.toThrow("full");
    const b1 = run("b", "b1");
    await expect(a4).rejects.toThrow("full");
    await expect(run("b", "b2")).rejects.toThrow("full");
    await expect(run("a", "a6")).rejects.toThrow("full");
    for (let n = 0; n < 4; n++) await endFirst();
    expect(await Promise.all([a1, a2, a3, b1])).toEqual(["a1", "a2", "a3", "b1"]);
    expect(started).toEqual(["a1", "a2", "b1", "a3"]);
  });

  it("goes on after work that fails", async () => {
    const gate = createFairGate({ maxRunning: 1, maxWaiting: 1, full: () => new Error("full") });
    const failed = gate.run("a", () => Promise.reject(new Error("odd")));
    const next = gate.run("a", async () => "done");
    await expect(failed).rejects.toThrow("odd");
    expect(await next).toBe("done");
  });
});
