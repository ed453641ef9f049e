import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { binary, root } from "./run.mjs";
import { protections } from "./without-protection/protections.mjs";

// Takes one protection after the other away, in a copy of the sources, and runs its test: which has to fail, else the
// protection has no test. Run by hand: node scripts/without-protection.mjs [word of a name, id or file ...]

const { positionals: words } = parseArgs({ allowPositionals: true });
const wanted = protections.filter((one) => {
  const text = [one.name, one.file, one.test, ...one.ids.map((id) => `(${id})`)].join(" ").toLowerCase();
  return words.length === 0 || words.some((word) => text.includes(word.toLowerCase()));
});
const folder = mkdtempSync(join(tmpdir(), "plugbay-without-"));
process.exitCode = 2;
try {
  copySources();
  process.exitCode = run();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The exit code: 0 when every test noticed what was missing. */
function run() {
  if (wanted.length === 0) {
    console.log("no protection has such a name, id or file");
    return 2;
  }
  for (const some of [wanted.filter(({ only }) => !only), wanted.filter(({ only }) => only)]) {
    const untouched = some.length > 0 ? testsOf(some) : { kind: "passed" };
    if (untouched.kind === "passed") continue;
    console.log(`the tests do not pass as the sources are:\n${untouched.output}`);
    return 2;
  }
  const unnoticed = wanted.filter((protection) => !isNoticed(protection));
  console.log(
    `\n${wanted.length - unnoticed.length} of ${wanted.length} protections are missed by their test when they are gone`,
  );
  return unnoticed.length > 0 ? 1 : 0;
}

function copySources() {
  const names = ["src", "test", "scripts", "docs", "examples", "bench", "dist"];
  const files = [
    "package.json",
    "package-lock.json",
    "vitest.config.ts",
    "README.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
  ];
  const configs = ["tsconfig.json", "tsconfig.base.json", "tsconfig.node.json", "tsconfig.web.json"];
  for (const name of [...names, ...files, ...configs]) {
    if (existsSync(join(root, name))) cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

/** Whether the test of a protection fails without it. A file that cannot be loaded is no test that failed. */
function isNoticed(protection) {
  const { name, ids, file, from, to, test, built = false } = protection;
  const path = join(folder, file);
  const source = readFileSync(path, "utf8");
  if (source.split(from).length !== 2) {
    console.log(`STALE    ${name} (${ids.join(", ")}): ${file} must have this once: ${from}`);
    return false;
  }
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  const { kind, failed } = built && !buildCopy() ? { kind: "broken", failed: 0 } : testsOf([protection]);
  writeFileSync(path, source);
  if (built) buildCopy();
  const mark = { failed: "noticed ", passed: "UNSEEN  ", broken: "BROKEN  " }[kind];
  console.log(`${mark} ${name} (${ids.join(", ")}): ${kind === "failed" ? `${failed} tests of` : kind} ${test}`);
  return kind === "failed";
}

/** For tests that use the package as it is built. True when it compiles. */
function buildCopy() {
  return spawnSync(process.execPath, [join(folder, "scripts", "build.mjs")], { cwd: folder }).status === 0;
}

/** Runs the tests of protections in the copy: all tests of their files, or those whose title has `only` in it. */
function testsOf(some) {
  const report = join(folder, "report.json");
  rmSync(report, { force: true });
  const tests = new Set(some.map(({ test }) => test));
  const args = [binary("vitest"), "run", "--root", folder, "--reporter=json", `--outputFile=${report}`, ...tests];
  const titles = new Set(some.flatMap(({ only = [] }) => only));
  if (titles.size > 0)
    args.push("-t", [...titles].map((title) => title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"));
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  const output = `${stdout}\n${stderr}`;
  if (!existsSync(report)) return { kind: "broken", failed: 0, output };
  const { numPassedTests: passed, numFailedTests: failed, testResults } = JSON.parse(readFileSync(report, "utf8"));
  const isLoaded = testResults.length > 0 && testResults.every(({ assertionResults }) => assertionResults.length > 0);
  if (!isLoaded) return { kind: "broken", failed, output };
  const failures = testResults.flatMap(({ assertionResults }) =>
    assertionResults.flatMap((one) => one.failureMessages),
  );
  return {
    kind: failed > 0 ? "failed" : passed > 0 ? "passed" : "broken",
    failed,
    output: failures.join("\n") || output,
  };
}
