import { ownInfo } from "../../protocol/own-info.ts";
import type { Command, CommandRow, ExitCode } from "../command.ts";
import { commandRows } from "../commands.ts";
import type { OpenedTarget } from "../target/opened-target.ts";
import { targetOptions } from "../target/target-options.ts";
import type { TypedTarget } from "../target/typed-target.ts";
import { createStyle, wantsColour } from "../terminal/style.ts";
import { UsageError } from "../usage-error.ts";
import { readOptions } from "./arguments.ts";
import { ownOptions } from "./common-options.ts";
import { createContext, type Surroundings, styleOf } from "./create-context.ts";
import { readTyped, splitLine, type TypedLine } from "./typed.ts";

/** Runs a command line. Resolves to the exit code when everything that it opened is closed. Never rejects. */
export async function runCommandLine(argv: readonly string[], around: Surroundings): Promise<ExitCode> {
  const line = splitLine(argv);
  try {
    const { name = defaultOf(argv), own } = findCommand(line.own);
    // As in many other programs: `plugbay help call` is `plugbay call --help`.
    if (name === "help") return await runCommandLine([...own, "--help"], around);
    if (name === undefined) return await showOwn(line, around);
    const row = commandRows.find((known) => known.name === name);
    if (row === undefined) throw unknownCommand(name);
    return await runCommand(row, { ...line, own }, around);
  } catch (error) {
    return tell(error, { line, around, command: undefined, target: undefined });
  }
}

/** Without a word, `plugbay` does its main job. */
function defaultOf(argv: readonly string[]): string | undefined {
  return argv.length === 0 ? "gateway" : undefined;
}

/** The command of a line, wherever its options stand, and the line without it. */
function findCommand(own: readonly string[]): { readonly name: string | undefined; readonly own: readonly string[] } {
  const { args } = readOptions(own, { ...ownOptions, ...targetOptions }, { lenient: true });
  // Before the command, the value of an option that only the command knows looks like a word.
  const isAfterOption = own[0]?.startsWith("-") === true;
  const known = isAfterOption ? args.find((word) => commandRows.some((row) => row.name === word)) : undefined;
  const name = known ?? args[0];
  return { name, own: name === undefined ? own : own.toSpliced(own.indexOf(name), 1) };
}

function unknownCommand(name: string): UsageError {
  const known = commandRows.flatMap((row) => (row.hidden === undefined ? [row.name] : []));
  return new UsageError(`there is no command ${JSON.stringify(name)}`, undefined, { name, known });
}

async function showOwn(line: TypedLine, around: Surroundings): Promise<ExitCode> {
  const { options } = readOptions(line.own, ownOptions);
  if (options.version) {
    around.stdout.write(options.json ? `${JSON.stringify({ version: ownInfo.version })}\n` : `${ownInfo.version}\n`);
    return 0;
  }
  const { formatOwnHelp, ownHelp } = await import("./help.ts");
  const text = options.json ? asJson(ownHelp()) : formatOwnHelp(styleOf(around.stdout, around, line));
  around.stdout.write(`${text}\n`);
  return 0;
}

async function runCommand(
  row: CommandRow,
  line: TypedLine,
  around: Surroundings,
  given?: OpenedTarget,
): Promise<ExitCode> {
  const { command } = await row.load();
  if (line.own.includes("--help") || line.own.includes("-h")) return showHelp(row, command, { line, around });
  let target: TypedTarget | undefined;
  const opened: OpenedTarget[] = [];
  try {
    const typed = readTyped(command, line, given && { text: given.name });
    target = typed.target;
    const runLine = (words: readonly string[], one: OpenedTarget): Promise<ExitCode> => runWords(words, one, around);
    const context = createContext(command, { typed, line, around, given, opened, runLine });
    const code = (await command.run(context)) ?? 0;
    context.live.clear();
    return around.interrupt.signal.aborted && command.endsByInterrupt !== true ? 130 : code;
  } catch (error) {
    return tell(error, { line, around, command: row.name, target, endsByInterrupt: command.endsByInterrupt });
  } finally {
    await closeAll(opened);
  }
}

/** Runs a line as a command of a target that is open. Ctrl-C ends the line and nothing else. */
async function runWords(words: readonly string[], given: OpenedTarget, around: Surroundings): Promise<ExitCode> {
  const end = around.interrupt.begin();
  try {
    const line = { own: words, rest: undefined };
    const { name, own } = findCommand(words);
    const row = commandRows.find((known) => known.name === name);
    if (row === undefined)
      return await tell(unknownCommand(name ?? ""), { line, around, command: undefined, target: undefined });
    return await runCommand(row, { ...line, own }, around, given);
  } finally {
    end();
  }
}

function asJson(value: object): string {
  return JSON.stringify(value, undefined, 2);
}

interface Where {
  readonly line: TypedLine;
  readonly around: Surroundings;
}

async function showHelp(row: CommandRow, command: Command, { line, around }: Where): Promise<ExitCode> {
  const { commandHelp, formatCommandHelp } = await import("./help.ts");
  const isJson = line.own.includes("--json");
  const text = isJson
    ? asJson(commandHelp(row, command))
    : formatCommandHelp(row, command, styleOf(around.stdout, around, line));
  around.stdout.write(`${text}\n`);
  return 0;
}

/** How long a server may take to end by itself when its command is over. */
const graceMs = 100;

/** Closes what was opened. What takes longer than a moment ends with the process, which sees to it. */
async function closeAll(opened: readonly OpenedTarget[]): Promise<void> {
  if (opened.length === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const grace = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, graceMs);
  });
  await Promise.race([Promise.all(opened.map(({ client }) => client.close())), grace]);
  clearTimeout(timer);
}

interface FailedWhere extends Where {
  readonly command: string | undefined;
  readonly target: TypedTarget | undefined;
  readonly endsByInterrupt?: boolean | undefined;
}

/** Tells of an error: in JSON on stdout, or in words on stderr. */
async function tell(
  error: unknown,
  { line, around, command, target, endsByInterrupt }: FailedWhere,
): Promise<ExitCode> {
  const { stdout, stderr, env, interrupt } = around;
  const [{ toldFailure }, { printable }] = await Promise.all([
    import("./failure.ts"),
    import("../terminal/printable.ts"),
  ]);
  const { told, exitCode } = await toldFailure(error, { command, target, interrupted: interrupt.signal.aborted });
  if (exitCode === 130 && endsByInterrupt === true) return 0;
  if (line.own.includes("--json")) {
    stdout.write(`${asJson({ error: told })}\n`);
    return exitCode;
  }
  const isTerminal = stderr.isTTY === true;
  if (isTerminal) stderr.write("\r\u001b[K");
  const style = createStyle(wantsColour({ isTerminal, env, off: line.own.includes("--no-color") }));
  const hint = told.hint === undefined ? "" : `\n  ${style.cyan(printable(told.hint))}`;
  const what = exitCode === 130 ? style.yellow("interrupted") : style.red("error");
  stderr.write(`${what}: ${printable(told.message)} ${style.dim(`(${told.code})`)}${hint}\n`);
  return exitCode;
}
