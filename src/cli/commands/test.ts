import { writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isLockClean } from "../../lock/diff-lock.ts";
import { readLock, writeLock } from "../../lock/node/lock-file.ts";
import { systemClock } from "../../std/clock.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { compareSurfaces, formatSurfaceDiff, serverIn, toLocked } from "../surface/compare-surfaces.ts";
import { readSurface } from "../surface/read-surface.ts";
import type { OpenedTarget } from "../target/opened-target.ts";
import { targetOptions } from "../target/target-options.ts";
import { printable } from "../terminal/printable.ts";
import { formatJunit } from "../testing/format-junit.ts";
import { readTestFile } from "../testing/read-test-file.ts";
import { runTest, type TestResult } from "../testing/run-test.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "test",
  usage: ["<file>", "<file> --target <target>", "<file> -- <command>"],
  description:
    "Runs the calls of a file against a server and compares the results with what the file expects. The file is YAML, or JSON\n" +
    "with comments:\n\n" +
    "  target: node server.js          # or --target, or a command after --\n" +
    "  snapshot: true                  # compare what the server shows with <file>.snapshot\n" +
    "  tests:\n" +
    "    - name: buys\n" +
    "      call: buy                   # or read: <uri>, or prompt: <name>\n" +
    "      arguments: { sku: A1 }\n" +
    "      expect: { text: 1 x A1 }    # or contains, matches, structured, result, error, withinMs\n\n" +
    "Without expect a call must not fail. The exit code is 1 when a test has failed.",
  maxArguments: 1,
  options: {
    ...targetOptions,
    target: { type: "text", value: "target", meaning: "test this server instead of the one in the file" },
    update: { type: "flag", short: "u", meaning: "write the snapshot as the server is now" },
    junit: { type: "text", value: "file", meaning: "write the results as JUnit XML, too" },
  },
  examples: [
    { line: "plugbay test shop.test.yaml", does: "run all tests of a file" },
    { line: "plugbay test shop.test.yaml --junit junit.xml -- node server.js", does: "in a pipeline" },
    { line: "plugbay test shop.test.yaml --update", does: "accept what the server shows now" },
  ],
  async run(context) {
    const { args, cwd, options, rest, signal } = context;
    const [file] = args;
    if (file === undefined) throw new UsageError("plugbay test needs a file");
    if (options.target !== undefined && rest.length > 0)
      throw new UsageError("--target and a command are two servers", "give one of them");
    const path = resolve(cwd, file);
    const { target: ownTarget, snapshot, tests } = await readTestFile(path);
    const target = options.target ?? (rest.length > 0 ? rest : ownTarget);
    if (target === undefined)
      throw new UsageError(`${file} names no target`, "write target: in it, or --target <target>");
    if (options.update && snapshot === undefined)
      throw new UsageError(`${file} has no snapshot`, "write snapshot: true");
    const opened = await context.openTarget({ target });
    const results: TestResult[] = [];
    const note = (result: TestResult): void => {
      results.push(result);
      if (!context.json) context.printEach(result, () => formatResult(result, context));
    };
    if (snapshot !== undefined) note(await testSnapshot(resolve(dirname(path), snapshot), opened, context));
    for (const test of tests) note(await runTest(opened.client, test, { clock: systemClock, signal }));
    if (options.junit !== undefined) await writeJunit(resolve(cwd, options.junit), formatJunit(file, results));
    const failed = results.filter(({ problems }) => problems.length > 0).length;
    const summary = { passed: results.length - failed, failed };
    context.print({ ...summary, tests: results }, () => `${summary.passed} passed, ${failed} failed`);
    return failed > 0 ? 1 : undefined;
  },
});

async function testSnapshot(
  path: string,
  { client, name }: OpenedTarget,
  { signal, options }: CommandContext,
): Promise<TestResult> {
  const start = performance.now();
  const locked = await toLocked(await readSurface(client, name, signal));
  const found = options.update === true ? undefined : await readLock(path);
  const result = (problems: readonly string[]): TestResult => {
    return { name: "snapshot", ms: Math.round((performance.now() - start) * 10) / 10, problems };
  };
  if (options.update === true) {
    await writeLock(path, { lockVersion: 2, servers: { [client.server.serverInfo.name]: locked } });
    return result([]);
  }
  if (found === undefined) return result([`there is no ${path}; write it with --update`]);
  const diff = compareSurfaces(name, serverIn(found, path, undefined), locked);
  return result(isLockClean(diff) ? [] : [`${formatSurfaceDiff(diff)}\nif that is right, run it with --update`]);
}

function formatResult({ name, ms, problems }: TestResult, { style }: CommandContext): string {
  const mark = problems.length === 0 ? style.green("ok") : style.red("failed");
  const lines = problems.flatMap((problem) => printable(problem).split("\n"));
  return [`${mark} ${printable(name)} ${style.dim(`${ms} ms`)}`, ...lines.map((line) => `  ${line}`)].join("\n");
}

async function writeJunit(path: string, xml: string): Promise<void> {
  try {
    await writeFile(path, xml);
  } catch (error) {
    throw new UsageError(`${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
}
