import { type Command, type CommandContext, defineCommand, type OptionValues } from "../command.ts";
import { checkHttp } from "../doctor/check-http.ts";
import { checkNetwork } from "../doctor/check-network.ts";
import { checkProgram } from "../doctor/check-program.ts";
import { checkProtocol } from "../doctor/check-protocol.ts";
import { type Finding, lintSurface } from "../doctor/lint-surface.ts";
import { createLadder, type Ladder, type Step } from "../doctor/step.ts";
import { findTarget, readHeaders, withOptions } from "../target/open-target.ts";
import type { targetOptions } from "../target/target-options.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "doctor",
  usage: ["<target>", "-- <command>"],
  description:
    "Says why a server cannot be used. Checks one thing after the other and stops at the first that fails: proxy, DNS, TCP, TLS,\n" +
    "HTTP, CORS; or program, environment, start, stdout; then protocol, sign-in, lists, and a call that does no harm: a tool\n" +
    "that says it only reads, else a ping. Then it looks at what the server shows as models see it: schemas, names, tokens,\n" +
    "what providers cannot be told, annotations, descriptions, invisible characters.\n" +
    "The exit code is that of the failing check, and 1 when a schema cannot be used.",
  target: "one",
  hasOwnConnection: true,
  options: {
    origin: { type: "text", value: "origin", meaning: "check whether a page of this origin may use the server" },
  },
  examples: [
    { line: "plugbay doctor https://example.com/mcp", does: "why does it not work?" },
    { line: "plugbay doctor https://example.com/mcp --origin https://app.example.com", does: "may a page use it?" },
    { line: "plugbay doctor --json -- npx -y some-server", does: "a program, as JSON" },
  ],
  async run(context) {
    const { options, typedTarget, json } = context;
    const ladder = createLadder((step) => {
      if (!json) context.printEach(step, () => formatStep(step, context));
    });
    const { entry, server } = await findTarget(typedTarget ?? { text: "" }, context);
    const given: Partial<OptionValues<typeof targetOptions>> = context.parseWith({}).options;
    const timeoutMs = given["connect-timeout"] ?? server?.connectTimeoutMs ?? 10_000;
    const loginLine = await context.lineFor("login");
    if ("url" in entry) {
      const headers = { ...entry.headers, ...readHeaders(given.header ?? []) };
      await checkUrl(entry.url, ladder, { ...context, timeoutMs, headers, origin: options.origin, loginLine });
    } else {
      if (options.origin !== undefined) throw new UsageError("--origin is for URLs, and the target is a program");
      const program = withOptions(entry, given, context);
      if (!("command" in program)) {
        throw new UsageError(`doctor is for programs and URLs, and the target is of the type ${program.type}`);
      }
      await checkProgram(program, ladder, { ...context, timeoutMs });
    }
    const findings = ladder.hasFailed || context.signal.aborted ? [] : await checkRest(context, ladder, loginLine);
    const failed = ladder.steps.find(({ status }) => status === "failed");
    const cause = failed ?? causeIn(findings);
    const isSound = cause === undefined;
    context.print({ isSound, ...(cause && { cause }), steps: ladder.steps, findings }, () =>
      [...findings.map((finding) => formatFinding(finding, context)), isSound ? "nothing is broken" : ""]
        .filter((line) => line !== "")
        .join("\n"),
    );
    return cause?.exitCode;
  },
});

/** A finding that nobody can use the server with, as the cause. */
function causeIn(findings: readonly Finding[]): Step | undefined {
  const broken = findings.find(({ level }) => level === "error");
  return broken && { name: broken.rule, status: "failed", message: `${broken.about}: ${broken.message}`, exitCode: 1 };
}

interface UrlOptions extends Pick<CommandContext, "signal" | "env"> {
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly origin: string | undefined;
  readonly loginLine: string;
}

async function checkUrl(text: string, ladder: Ladder, options: UrlOptions): Promise<void> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return ladder.fail("url", "the URL is not one of http: or https:", undefined, 2);
  const { timeoutMs, signal, env } = options;
  await checkNetwork(url, ladder, { timeoutMs, signal, env });
  if (!ladder.hasFailed) await checkHttp(url, ladder, options);
}

async function checkRest(context: CommandContext, ladder: Ladder, loginLine: string): Promise<readonly Finding[]> {
  const dropped: Finding[] = [];
  const onWarning = ({ message }: { readonly message: string }): void => {
    if (/malformed|left out|duplicate|schema/i.test(message))
      dropped.push({ level: "error", rule: "schema", about: "list", message });
  };
  const open = async () => (await context.openTarget({ connect: { onWarning, maxTotalMs: 60_000 } })).client;
  const surface = await checkProtocol(ladder, {
    signal: context.signal,
    loginLine,
    callLine: (tool) => context.lineFor("call", tool),
    open,
  });
  return [...dropped, ...(surface === undefined ? [] : lintSurface(surface))];
}

function formatStep({ name, status, message, hint }: Step, { style }: CommandContext): string {
  const marks = { ok: style.green("ok     "), warning: style.yellow("warning"), failed: style.red("failed ") };
  const next = hint === undefined ? "" : `\n        ${style.cyan(oneLine(hint, 500))}`;
  return `${marks[status]} ${name}: ${oneLine(message, 1000)}${next}`;
}

function formatFinding({ level, rule, about, message }: Finding, { style }: CommandContext): string {
  const marks = { error: style.red("error  "), warning: style.yellow("warning"), note: style.dim("note   ") };
  return `${marks[level]} ${rule}: ${oneLine(about)}: ${oneLine(message, 500)}`;
}
