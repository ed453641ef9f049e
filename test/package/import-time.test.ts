import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";

const ROUNDS = 9;

/** Milliseconds that a fresh process takes to import a module. */
function importTime(specifier: string): number {
  const script = `
    const start = performance.now();
    await import(${JSON.stringify(specifier)});
    console.log(performance.now() - start);
  `;
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }));
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

it("plugbay/server is imported in at most a third of the time of the official server", () => {
  const times = Array.from({ length: ROUNDS }, () => ({
    ours: importTime("plugbay/server"),
    theirs: importTime("@modelcontextprotocol/server"),
  }));
  const ratio = median(times.map(({ ours, theirs }) => ours / theirs));
  expect(ratio).toBeLessThanOrEqual(1 / 3);
});
