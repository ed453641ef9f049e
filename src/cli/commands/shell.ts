import { createInterface } from "node:readline";
import { type Failure, toError } from "../../protocol/errors.ts";
import { splitWords } from "../../std/text.ts";
import { type Command, type CommandContext, defineCommand, type ExitCode } from "../command.ts";
import { completeLine } from "../shell/complete-line.ts";
import { openHistory } from "../shell/history.ts";
import { readLine } from "../shell/read-line.ts";
import type { OpenedTarget } from "../target/opened-target.ts";
import { oneLine } from "../terminal/printable.ts";
import { formatTable } from "../values/table.ts";

/** Commands that can be used in a shell: those about one server that is connected. */
const usable = [
  "tools",
  "call",
  "resources",
  "read",
  "prompts",
  "prompt",
  "skills",
  "complete",
  "watch",
  "tasks",
  "ping",
];

export const command: Command = defineCommand({
  name: "shell",
  usage: ["<target>", "-- <command>"],
  description:
    "Connects once and takes commands line by line: those of plugbay without the target, or the name of a tool with its\n" +
    "arguments. With history and completion (Tab) on a terminal; Ctrl-C ends what runs, Ctrl-D the shell. Without a terminal\n" +
    "the lines of stdin are run one after the other, up to the first that fails, whose exit code is that of the shell. A line\n" +
    "that begins with a space is not kept in the history.",
  target: "one",
  options: {},
  examples: [
    { line: "plugbay shell shop", does: "then: tools, buy sku=A1, read stock://A1, help" },
    {
      line: "printf 'tools\\nadd a=1 b=2\\n' | plugbay shell -- node server.js",
      does: "two calls over one connection",
    },
  ],
  async run(context) {
    const target = await context.openTarget();
    let ending: { readonly reason: Failure | undefined } | undefined;
    void target.client.closed.then((reason) => {
      ending = { reason };
    });
    const check = (): void => {
      if (ending?.reason !== undefined) throw toError(ending.reason);
    };
    return context.canAsk ? runTerminal(target, context, check) : runLines(target, context, check);
  },
});

async function runTerminal(target: OpenedTarget, context: CommandContext, check: () => void): Promise<ExitCode> {
  const { stdin, stderr, env, style, signal } = context;
  const { client } = target;
  const history = await openHistory(env);
  const { serverInfo } = client.server;
  context.say(
    `${oneLine(serverInfo.title ?? serverInfo.name)} ${oneLine(serverInfo.version)}, ${client.revision}; help shows what there is`,
  );
  const prompt = `${style.cyan(oneLine(serverInfo.name, 30))}> `;
  const names = { commands: [...usable, "help", "exit"], client };
  while (!signal.aborted) {
    check();
    const line = await readLine({
      input: stdin,
      output: stderr,
      prompt,
      history: history.lines,
      signal,
      complete: (text) => completeLine(text, names),
      onInterrupt: () => context.say("\nexit or Ctrl-D ends the shell"),
    });
    if (line === undefined || isExit(line)) break;
    await history.add(line);
    await runShellLine(line, target, context);
  }
  return 0;
}

/** Runs the lines of stdin, up to the first that fails. */
async function runLines(target: OpenedTarget, context: CommandContext, check: () => void): Promise<ExitCode> {
  const lines = createInterface({ input: context.stdin, terminal: false });
  for await (const line of lines) {
    if (isExit(line)) break;
    const code = await runShellLine(line, target, context);
    check();
    if (code !== 0) return code;
  }
  return 0;
}

function isExit(line: string): boolean {
  return /^\s*(?:exit|quit)\s*$/.test(line);
}

async function runShellLine(line: string, target: OpenedTarget, context: CommandContext): Promise<ExitCode> {
  if (line.trim() === "" || line.trimStart().startsWith("#")) return 0;
  const words = splitWords(line);
  const [first] = words ?? [];
  if (words === undefined || first === undefined) {
    context.say(`${context.style.red("error")}: a quote is open`);
    return 2;
  }
  if (first === "help") {
    showHelp(context);
    return 0;
  }
  const own = context.json ? ["--json"] : [];
  if (usable.includes(first)) return context.runLine([...words, ...own], target);
  return context.runLine(["call", ...words, ...own], target);
}

function showHelp({ commands, style, say }: CommandContext): void {
  const rows = commands
    .filter(({ name }) => usable.includes(name))
    .map(({ name, summary }) => [`  ${style.cyan(name)}`, summary]);
  say(
    formatTable([
      ...rows,
      [`  ${style.cyan("<tool> key=value")}`, "call a tool"],
      [`  ${style.cyan("exit")}`, "end the shell"],
    ]),
  );
}
