import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.mjs";
import { binary, nodeInto, root } from "./run.mjs";
import { findLeaks, folder, recordedIn } from "./secrets.mjs";
import { installMissing } from "./system-programs.mjs";

const report = join(root, ".tmp", "tests.json");
const log = join(root, ".tmp", "tests.log");
mkdirSync(join(root, ".tmp"), { recursive: true });
for (const old of [report, log, folder]) rmSync(old, { recursive: true, force: true });

installMissing();
if (build({ clean: process.env.CI === "true" }) !== 0) process.exit(1);
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
const code = await nodeInto(log, binary("vitest"), "run", ...reporters, ...process.argv.slice(2));
process.exitCode = existsSync(report) ? summarise(code, readFileSync(report, "utf8")) : code || 1;

/** The closing lines. Where nothing may be left out, a skipped test is a failed run. */
function summarise(code, text) {
  const results = JSON.parse(text);
  const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped } = results;
  if (skipped > 0) console.log("skipped tests: see the list above");
  const isSafe = lookForSecrets(results, { "tests.log": readFileSync(log, "utf8"), "tests.json": text });
  console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
  if (code === 0 && skipped > 0 && process.env.CI === "true") return 1;
  return code === 0 && !isSafe ? 1 : code;
}

/** Whether nothing that was said has a secret in it that a test came to know. */
function lookForSecrets({ testResults }, logs) {
  const secrets = recordedIn(folder);
  const leaks = findLeaks(secrets, logs);
  for (const leak of leaks) console.log(`FAIL a secret was said: ${leak}`);
  const ranAuth = testResults.some(
    ({ name, assertionResults }) =>
      name.startsWith(join(root, "test", "auth")) &&
      assertionResults.some(({ status }) => status === "passed" || status === "failed"),
  );
  const isMissing = ranAuth && secrets.length === 0;
  if (isMissing) console.log("FAIL test/auth has noted no secrets to look for");
  console.log(`looked for ${secrets.length} secrets in what was said`);
  return leaks.length === 0 && !isMissing;
}
