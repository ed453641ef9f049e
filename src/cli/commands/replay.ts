import { resolve } from "node:path";
import { isObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { createLineSplitter, type Line } from "../../std/lines.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { createRecordedServer, type RecordedServer } from "../recording/answer-recorded.ts";
import { type Recording, readRecording } from "../recording/recording.ts";
import { type Repeated, repeatRecording } from "../recording/repeat-recording.ts";
import { targetOptions } from "../target/target-options.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "replay",
  usage: ["<file>", "<file> --against <target>", "<file> -- <command>"],
  description:
    "Replays a recording of plugbay record or plugbay tee.\n" +
    "Alone it is a server on stdio that answers as the recorded one did: by method and params, in the order of the recording.\n" +
    "With --against, or a command, it is a client that sends the recorded requests to that server again, and shows where the\n" +
    "answers differ; the exit code is then 1. Requests whose values were hidden, and those that asked back, are skipped.",
  maxArguments: 1,
  options: {
    ...targetOptions,
    against: { type: "text", short: "a", value: "target", meaning: "send the requests to this server" },
  },
  examples: [
    { line: "plugbay tools -- npx plugbay replay shop.ndjson", does: "use the recorded server" },
    {
      line: "plugbay replay shop.ndjson --against https://staging.example.com/mcp",
      does: "does another one do the same?",
    },
    { line: "plugbay replay shop.ndjson --json -- node server.js", does: "the same for a program, as JSON" },
  ],
  endsByInterrupt: true,
  async run(context) {
    const { args, cwd, options, rest } = context;
    const [file] = args;
    if (file === undefined) throw new UsageError("plugbay replay needs a recording", "write one with: plugbay record");
    if (options.against !== undefined && rest.length > 0)
      throw new UsageError("--against and a command are two servers", "give one of them");
    const recording = await readRecording(resolve(cwd, file));
    const target = options.against ?? (rest.length > 0 ? rest : undefined);
    return target === undefined ? serve(recording, context) : repeat(recording, target, context);
  },
});

/** Longer requests than this are no requests. */
const maxLineBytes = 16_777_216;

async function serve(recording: Recording, context: CommandContext): Promise<undefined> {
  const { stdin, stdout, signal, say } = context;
  if (stdin.isTTY === true) say("this is a server on stdio; end it with Ctrl-C");
  const server = createRecordedServer(recording);
  const splitter = createLineSplitter({ maxBytes: maxLineBytes });
  signal.addEventListener("abort", () => stdin.destroy(), { once: true });
  try {
    for await (const chunk of stdin) {
      for (const line of splitter.push(chunk)) for (const answer of answersTo(line, server)) stdout.write(answer);
      if (stdout.writableNeedDrain) await new Promise((resume) => stdout.once("drain", resume));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return undefined;
}

/** The lines to answer a line with. What is no message has no answer. */
function answersTo(line: Line, server: RecordedServer): readonly string[] {
  const parsed = typeof line === "string" ? parseJson(line) : undefined;
  if (parsed?.ok !== true) return [];
  const messages = [parsed.value].flat().flatMap((one) => (isObject(one) ? server.answer(one) : []));
  return messages.map((message) => `${JSON.stringify(message)}\n`);
}

async function repeat(
  recording: Recording,
  target: string | readonly string[],
  context: CommandContext,
): Promise<1 | undefined> {
  const { client } = await context.openTarget({ target });
  const { calls, skipped } = await repeatRecording(client, recording, context.signal);
  const different = calls.filter(({ changes }) => changes.length > 0);
  const value = { isSame: different.length === 0, repeated: calls.length, skipped, different };
  context.print(value, () =>
    [
      ...different.flatMap(formatDifference),
      `${calls.length} requests repeated, ${different.length} answers differ${skipped > 0 ? `, ${skipped} skipped` : ""}`,
    ].join("\n"),
  );
  return different.length > 0 ? 1 : undefined;
}

const maxShown = 20;

function formatDifference({ method, about, changes }: Repeated): readonly string[] {
  const more = changes.length > maxShown ? [`  … and ${changes.length - maxShown} more`] : [];
  return [
    `${oneLine(method)}${about === undefined ? "" : ` ${oneLine(about)}`}`,
    ...changes
      .slice(0, maxShown)
      .flatMap(({ path, before, after }) => [
        `  ${oneLine(path)}`,
        ...(before === undefined ? [] : [`    - ${oneLine(JSON.stringify(before), 500)}`]),
        ...(after === undefined ? [] : [`    + ${oneLine(JSON.stringify(after), 500)}`]),
      ]),
    ...more,
  ];
}
