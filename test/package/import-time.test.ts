import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";

const ROUNDS = 7;

/** Milliseconds of processor time that a fresh process takes to import a module: what else runs on the machine does not count. */
function importTime(specifier: string): number {
  const script = `
    const before = process.cpuUsage();
    await import(${JSON.stringify(specifier)});
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1000);
  `;
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }));
}

/** The least of several, alternating: disturbances only ever add. */
function leastTimes(...specifiers: readonly string[]): readonly number[] {
  const rounds = Array.from({ length: ROUNDS }, () => specifiers.map(importTime));
  return specifiers.map((_, index) => Math.min(...rounds.map((times) => times[index] ?? Number.NaN)));
}

it("plugbay/server is imported in at most a third of the time of the official server", () => {
  const [ours = Number.NaN, theirs = Number.NaN] = leastTimes("plugbay/server", "@modelcontextprotocol/server");
  expect(ours / theirs).toBeLessThanOrEqual(1 / 3);
});
