/**
 * Runs the official conformance suite again and again while other processes take the processor.
 *
 *     node scripts/official-suite-under-load.mjs [--runs 10] [--busy <processes>] [-- <arguments of vitest>]
 *
 * `--busy` is one process for each processor by default; 0 is none. Prints a table with a row for each run, and the tests that
 * have not passed. Ends with 1 if there are any, or if a test was skipped. What the runs have said is in .tmp/under-load.
 */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { binary, root } from "./run.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "10" },
    busy: { type: "string", default: String(availableParallelism()) },
  },
});
const [runs, busy] = [countOf("runs", 1), countOf("busy", 0)];
const folder = join(root, ".tmp", "under-load");

/** Takes a processor for itself, and ends with whoever has started it. */
const spin = "const parent = process.ppid; while (process.ppid === parent) for (let n = 0; n < 1e7; n++);";

if (build() !== 0) process.exit(1);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const spinning = Array.from({ length: busy }, () => spawn(process.execPath, ["-e", spin], { stdio: "ignore" }));
const missed = [];
try {
  console.log(`${runs} runs, ${busy} busy processes, ${availableParallelism()} processors, Node ${process.version}\n`);
  console.log("| run | passed | not passed | skipped | seconds |\n|---|---|---|---|---|");
  for (let run = 1; run <= runs; run++) missed.push(...runOnce(run));
} finally {
  for (const child of spinning) child.kill("SIGKILL");
}
for (const line of missed) console.log(`\n${line}`);
process.exitCode = missed.length > 0 ? 1 : 0;

/** Prints the row of a run, and gives what was missed in it. */
function runOnce(run) {
  const report = join(folder, `${run}.json`);
  const log = openSync(join(folder, `${run}.log`), "w");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const args = ["run", "--project", "alone", "test/conformance", ...reporters, ...positionals];
  const start = performance.now();
  const { status, error } = spawnSync(process.execPath, [binary("vitest"), ...args], {
    cwd: root,
    stdio: ["ignore", log, log],
    env: { ...process.env, NO_COLOR: "1" },
  });
  closeSync(log);
  if (error) throw error;
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  const broken = `run ${run}: vitest ended with ${status}, see .tmp/under-load/${run}.log`;
  if (!existsSync(report)) return [broken];
  const results = JSON.parse(readFileSync(report, "utf8"));
  const { numPassedTests: passed, numFailedTests: failed } = results;
  const tests = results.testResults.flatMap(({ assertionResults }) => assertionResults);
  // What `-t` leaves out is no miss.
  const skipped = positionals.includes("-t") ? 0 : results.numPendingTests;
  console.log(`| ${run} | ${passed} | ${failed} | ${skipped} | ${seconds} |`);
  const names = tests.filter((test) => test.status === "failed").map((test) => `run ${run}: ${test.fullName}`);
  if (skipped > 0) names.push(`run ${run}: ${skipped} tests were skipped`);
  if (passed + failed === 0) names.push(`run ${run}: no test was run`);
  return names.length > 0 || status === 0 ? names : [broken];
}

function countOf(name, least) {
  const count = Number(values[name]);
  if (Number.isInteger(count) && count >= least) return count;
  console.error(`--${name} must be a whole number of ${least} or more`);
  process.exit(2);
}
