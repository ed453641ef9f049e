import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

// Tests of types (`*.test-d.ts`) hold as long as they compile: nothing runs them.

const tsc = resolve("node_modules", "typescript", "bin", "tsc");
const folder = resolve(".tmp", "type-tests");
/** Compilers take long where others have the processor. */
const patience = 600_000;

beforeAll(() => mkdirSync(folder, { recursive: true }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("every test of types is compiled, and holds (T2, T3, T4)", { timeout: patience }, () => {
  const { code, lines } = compile("tsconfig.json", "--listFiles");
  expect({ code, errors: lines.filter((line) => line.includes("error TS")) }).toEqual({ code: 0, errors: [] });
  const compiled = new Set(lines.map((line) => resolve(line)));
  const tests = ["src", "test"].flatMap(typeTestsIn);
  expect(tests.length).toBeGreaterThanOrEqual(15);
  expect(tests.filter((file) => !compiled.has(file))).toEqual([]);
});

it("a test of types that does not hold is reported", { timeout: patience }, () => {
  writeFileSync(
    join(folder, "broken.test-d.ts"),
    'import type { Call } from "../../src/protocol/service.ts";\nexport const name = (call: Call): string => call.params.name;\n',
  );
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: "../../tsconfig.json", include: ["*.test-d.ts"] }),
  );
  const { code, lines } = compile(join(folder, "tsconfig.json"));
  expect(code).not.toBe(0);
  expect(lines.join("\n")).toMatch(/broken\.test-d\.ts\(2,\d+\): error TS2339: Property 'name' does not exist/);
});

function typeTestsIn(top: string): readonly string[] {
  const files = readdirSync(top, { recursive: true, encoding: "utf8" });
  const own = files.filter((file) => file.endsWith(".test-d.ts") && !/\bnode_modules\b/.test(file));
  return own.map((file) => resolve(top, file));
}

function compile(project: string, ...more: readonly string[]) {
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", project, "--pretty", "false", ...more], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return { code: status, lines: stdout.split(/\r?\n/).filter((line) => line !== "") };
}
