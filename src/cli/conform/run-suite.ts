import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommandContext } from "../command.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import type { Suite } from "./find-suite.ts";
import { readSuiteResults, type ScenarioResult } from "./suite-results.ts";

/** What the suite tests. */
export interface SuiteRun {
  readonly url: string;
  /** What it is told to run, such as `--requirements 2026-07-28`. */
  readonly selection: readonly string[];
}

/** Runs the suite against a URL. Throws when it has tested nothing. */
export async function runSuite(
  suite: Suite,
  { url, selection }: SuiteRun,
  context: CommandContext,
): Promise<readonly ScenarioResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "plugbay-conform-"));
  try {
    const args = [...suite.before, "server", "--url", url, ...selection, "--output-dir", folder];
    const said = await runProgram(suite.program, args, context);
    const results = readSuiteResults(folder, said);
    if (results.length > 0) return results;
    const lines = printable(said)
      .split("\n")
      .filter((line) => !/^(?:npm error)?\s*$/.test(line));
    const last = lines.slice(-8).join("\n  ");
    throw new UsageError(
      `the conformance suite ${suite.version} has tested nothing:\n  ${last}`,
      "see --suite and --scenario",
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs a program to its end and returns all that it wrote, at most so much. Ends it with the signal of the command. */
function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env, signal, live }: CommandContext,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, signal, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    const hear = (text: string): void => {
      if (said.length < maxSaid) said += text;
      const line = text.trimEnd().split("\n").at(-1) ?? "";
      if (live.isLive) live.show(oneLine(line, 100));
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    child.once("error", reject).once("close", () => {
      live.clear();
      resolve(said);
    });
  });
}

const maxSaid = 4_194_304;
