import { newest, revisions } from "../../protocol/revision.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { findSuite } from "../conform/find-suite.ts";
import { runSuite } from "../conform/run-suite.ts";
import type { ScenarioResult } from "../conform/suite-results.ts";
import { testedUrl } from "../conform/tested-url.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { formatTable } from "../values/table.ts";

export const command: Command = defineCommand({
  name: "conform",
  usage: ["<target>", "-- <command>"],
  description:
    "Runs the official conformance suite against a server: @modelcontextprotocol/conformance as it is installed in this folder\n" +
    "or above it, or with --suite the version that npx fetches. Without --scenario it runs what a revision requires. Many\n" +
    "scenarios call tools by name, such as test_simple_text, which a server has to offer for the suite. A program is served\n" +
    "at a URL of this machine meanwhile, so its own HTTP is not tested. The exit code is 1 when a required scenario fails.",
  target: "one",
  options: {
    suite: {
      type: "text",
      value: "version",
      meaning: "have npx fetch this version of the suite, such as 0.2.0-alpha.12",
    },
    requires: {
      type: "text",
      value: "revision",
      meaning: `what this revision requires; default ${newest}`,
      choices: revisions,
    },
    scenario: { type: "texts", value: "name", meaning: "run this scenario instead; may be repeated" },
  },
  examples: [
    { line: "plugbay conform http://127.0.0.1:3000/mcp", does: "all that the newest revision requires" },
    { line: "plugbay conform ./server.js --scenario tools-list --json", does: "one scenario, as JSON" },
    {
      line: "plugbay conform --suite 0.2.0-alpha.12 -- node server.js",
      does: "a program, with a suite that npx fetches",
    },
  ],
  async run(context) {
    const { options, cwd, typedTarget } = context;
    if (typedTarget === undefined) throw new UsageError("plugbay conform needs a target");
    const suite = findSuite(options.suite, cwd);
    await using target = await testedUrl(typedTarget, context);
    const selections =
      options.scenario.length > 0
        ? options.scenario.map((name) => ["--scenario", name])
        : [["--requirements", options.requires ?? newest]];
    const results: ScenarioResult[] = [];
    for (const selection of selections)
      results.push(...(await runSuite(suite, { url: target.url, selection }, context)));
    const failed = results.filter(({ status, required }) => required && status === "failed");
    context.print({ suite: suite.version, conforms: failed.length === 0, scenarios: results }, () =>
      formatResults(results, context),
    );
    return failed.length === 0 ? undefined : 1;
  },
});

function formatResults(results: readonly ScenarioResult[], { style, columns }: CommandContext): string {
  const marks = { passed: style.green("passed"), failed: style.red("failed"), skipped: style.dim("skipped") };
  const rows = results.map(({ name, status, required, checks, problems }) => [
    `${marks[status]}${required ? "" : style.dim(" (not required)")}`,
    oneLine(name),
    problems[0] === undefined
      ? style.dim(`${checks.passed} checks`)
      : `${status === "failed" ? "" : style.yellow("warning: ")}${oneLine(problems[0], 500)}`,
  ]);
  const required = results.filter((one) => one.required);
  const failed = required.filter(({ status }) => status === "failed").length;
  const summary = failed === 0 ? style.green("the server conforms") : style.red(`${failed} required scenarios fail`);
  return `${formatTable(rows, columns)}\n${required.length - failed} of ${required.length} required scenarios hold: ${summary}`;
}
