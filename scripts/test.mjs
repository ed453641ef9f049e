import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.mjs";
import { binary, node, root } from "./run.mjs";
import { installMissing } from "./system-programs.mjs";

const report = join(root, ".tmp", "tests.json");
mkdirSync(join(root, ".tmp"), { recursive: true });

installMissing();
if (build({ clean: process.env.CI === "true" }) !== 0) process.exit(1);
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
const code = node(binary("vitest"), "run", ...reporters, ...process.argv.slice(2));
process.exit(summarise(code));

/** The closing line. Where nothing may be left out, a skipped test is a failed run. */
function summarise(code) {
  const {
    numPassedTests: passed,
    numFailedTests: failed,
    numPendingTests: skipped,
  } = JSON.parse(readFileSync(report, "utf8"));
  if (skipped > 0) console.log("skipped tests: see the list above");
  console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
  if (code === 0 && skipped > 0 && process.env.CI === "true") return 1;
  return code;
}
