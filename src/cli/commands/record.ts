import { resolve } from "node:path";
import { createMask, secretsInArgs, secretsInHeaders } from "../../std/secrets.ts";
import { splitWords } from "../../std/text.ts";
import { spawnChannel } from "../../transport/node/spawn-channel.ts";
import { type Command, type CommandContext, defineCommand, type ExitCode } from "../command.ts";
import { recordChannel, recordFetch } from "../recording/recorded-connection.ts";
import { createRecorder } from "../recording/recorder.ts";
import { readSurface } from "../surface/read-surface.ts";
import type { OpenedTarget } from "../target/opened-target.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "record",
  usage: ["<target> -o <file> [line …]", "-o <file> [line …] -- <command>"],
  description:
    "Connects to a server, lists all that it has, runs the lines, and writes every message of both sides into a file: JSON, one\n" +
    "message a line, with its time. A line is a command as plugbay shell takes it. Without lines they are read from stdin, and\n" +
    "on a terminal the shell opens. Credentials are hidden in the file, which only its owner may read.\n" +
    "plugbay tee records what passes between a server and another host.",
  target: "one",
  hasOwnConnection: true,
  maxArguments: 1000,
  options: {
    output: { type: "text", short: "o", value: "file", meaning: "the file to write; required" },
    raw: { type: "flag", meaning: "hide nothing in the file" },
  },
  examples: [
    { line: 'plugbay record shop -o shop.ndjson "call buy sku=A1" "read stock://all"', does: "two commands" },
    { line: "plugbay record https://example.com/mcp -o s.ndjson < lines.txt", does: "commands from a file" },
    { line: "plugbay record -o s.ndjson -- node server.js", does: "on a terminal: what you do in the shell" },
  ],
  async run(context) {
    const { options, cwd, signal, args, say } = context;
    if (options.output === undefined) throw new UsageError("plugbay record needs a file", "write -o <file>");
    const path = resolve(cwd, options.output);
    const recorder = createRecorder(path, {
      of: (await context.lineFor("")).replace(/^plugbay +(?:-- )?/, ""),
      mask: createMask(secretsOf(context)),
      isRaw: options.raw,
      onProblem: say,
    });
    try {
      const target = await context.openTarget({
        connect: { fetch: recordFetch(recorder) },
        openChannel: (program) => recordChannel(spawnChannel(program), recorder),
      });
      await readSurface(target.client, target.name, signal);
      const code = await runLines(target, context, args);
      say(`${recorder.count} messages in ${path}`);
      return code;
    } finally {
      recorder.close();
    }
  },
});

/** What was given as a secret, and may come back in a message. */
function secretsOf({ options, targetText }: CommandContext): readonly string[] {
  const values = (name: string): readonly string[] => {
    const given = Object.hasOwn(options, name) ? options[name] : undefined;
    return Array.isArray(given) ? given.map((text) => String(text).replace(/^[^:=]*[:=]\s*/, "")) : [];
  };
  const words = splitWords(targetText) ?? [];
  return [...secretsInHeaders(values("header")), ...values("env"), ...secretsInArgs(words)];
}

/** Runs lines one after the other. The exit code is that of the first that failed. */
async function runLines(
  target: OpenedTarget,
  context: CommandContext,
  args: readonly string[],
): Promise<ExitCode | undefined> {
  if (args.length === 0 && context.canAsk) return context.runLine(["shell"], target);
  let failed: ExitCode | undefined;
  for (const line of args.length > 0 ? args : await readLines(context.stdin)) {
    if (context.signal.aborted) break;
    const words = splitWords(line);
    if (words === undefined) throw new UsageError(`a quote is open in ${JSON.stringify(line)}`);
    if (words.length === 0) continue;
    const code = await context.runLine(words, target);
    if (code !== 0) failed ??= code;
  }
  return failed;
}

const maxChars = 1_048_576;

async function readLines(stdin: NodeJS.ReadStream): Promise<readonly string[]> {
  if (stdin.isTTY === true) return [];
  let text = "";
  for await (const chunk of stdin.setEncoding("utf8")) {
    text += chunk;
    if (text.length > maxChars) throw new UsageError(`stdin has more than ${maxChars} characters`);
  }
  return text.split("\n");
}
