import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";

const run = promisify(execFile);

/** Folders whose tests of 2026-07-28 have to pass. */
const folders = ["agent", "client", "connect", "host", "middleware", "protocol", "server", "transport"];

/** Tests that speak an older revision without naming it, and those that start processes or need a store of their own. */
const excluded = [
  "src/client/call-errors.test.ts",
  "src/connect/web.test.ts",
  "src/connect/every-way.test.ts",
  "src/server/change-log.test.ts",
];

/** Tests that a reader would miss, should the choice go wrong. */
const expected = [
  "src/client/requests.test.ts",
  "src/host/results.test.ts",
  "src/server/tasks/promotion.test.ts",
  "src/server/tools.test.ts",
  "src/transport/http/client/http-service.test.ts",
  "src/transport/http/http-request.test.ts",
];

const stub = "test/fixtures/without-legacy/stub.ts";
let copy: string;

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "plugbay-without-legacy-"));
  cpSync(join(root, "src"), join(copy, "src"), { recursive: true });
  rmSync(join(copy, "src/legacy"), { recursive: true });
  for (const folder of ["test/support", "test/fixtures/without-legacy", "tsconfig.base.json"]) {
    cpSync(join(root, folder), join(copy, folder), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "junction");
  write("package.json", { ...readJson("package.json"), imports: { "#legacy/*": `./${stub}` } });
  const { compilerOptions, include } = readJson("tsconfig.json");
  write("tsconfig.json", {
    extends: "./tsconfig.base.json",
    compilerOptions: { ...compilerOptions, paths: { "#legacy/*": [`./${stub}`] } },
    include: [include[0], "test/fixtures"],
    exclude: ["src/**/*.test.ts", "src/**/*.test-d.ts"],
  });
  const tests = { include: ["src/**/*.test.ts", "test/fixtures/**/*.ts"], testTimeout: 60_000, hookTimeout: 60_000 };
  writeFileSync(join(copy, "vitest.config.mjs"), `export default { test: ${JSON.stringify(tests)} };\n`);
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

describe("the package without src/legacy", () => {
  it("compiles", async () => {
    const { stdout } = await inCopy("typescript/bin/tsc", "-p", "tsconfig.json").catch((error) => error);
    expect(stdout).toBe("");
  });

  it("passes the tests of 2026-07-28, and names what it supports to clients and servers of older revisions", async () => {
    const chosen = testsOfNewest();
    expect(chosen).toEqual(expect.arrayContaining(expected));
    const files = [...chosen, "test/fixtures/without-legacy/older-revisions.ts"];
    const { stdout } = await inCopy("vitest/vitest.mjs", "run", "--no-isolate", "--reporter=json", ...files).catch(
      (error) => error,
    );
    const { testResults, numPassedTests, numFailedTests } = JSON.parse(stdout.slice(stdout.indexOf('{"num')));
    expect(testResults.flatMap(failuresOf)).toEqual([]);
    expect([testResults.length, numFailedTests]).toEqual([files.length, 0]);
    expect(numPassedTests).toBeGreaterThan(1_000);
  }, 300_000);
});

/** What the report of Vitest says of one file. */
interface FileResult {
  readonly name: string;
  readonly status: string;
  /** Why the file could not be run; empty when a test of it failed. */
  readonly message: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly failureMessages: readonly string[] }[];
}

function failuresOf({ name, status, message, assertionResults }: FileResult): readonly string[] {
  if (status === "passed") return [];
  const failed = assertionResults.filter(({ failureMessages }) => failureMessages.length > 0);
  if (failed.length === 0) return [`${name}: ${message}`];
  return failed.map(({ fullName, failureMessages }) => `${name}: ${fullName}: ${failureMessages.join("\n")}`);
}

function inCopy(program: string, ...args: readonly string[]) {
  const path = join(root, "node_modules", program);
  return run(process.execPath, [path, ...args], { cwd: copy, maxBuffer: 1e8, env: { ...process.env, VITEST: "" } });
}

function readJson(path: string) {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}

function write(path: string, value: unknown): void {
  writeFileSync(join(copy, path), JSON.stringify(value));
}

/** Tests that neither name an older revision nor reach what is not there. */
function testsOfNewest(): readonly string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(copy, "src", folder), { recursive: true, encoding: "utf8" }).map(
        (file) => `src/${folder}/${file}`,
      ),
    )
    .filter((file) => file.endsWith(".test.ts") && !file.includes("/node/") && !excluded.includes(file))
    .filter((file) => !/202[45]-|legacy|initialize|revisions\b|sessions/i.test(readFileSync(join(copy, file), "utf8")))
    .filter((file) => isWhole(join(copy, file)));
}

/** True when everything that a file imports, directly or not, is in the copy. */
function isWhole(file: string, seen: Set<string> = new Set()): boolean {
  if (seen.has(file)) return true;
  seen.add(file);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return false;
  }
  const imports = text.matchAll(/(?:\bfrom|\bimport\()\s*"(\.[^"]+)"/g);
  return [...imports].every(([, path = ""]) => isWhole(resolve(dirname(file), path), seen));
}
