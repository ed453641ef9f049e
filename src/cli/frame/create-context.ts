import type { Command, CommandContext, OptionSpecs, ParsedOptions } from "../command.ts";
import { commandRows } from "../commands.ts";
import type { OpenedTarget } from "../target/opened-target.ts";
import { createLiveLine } from "../terminal/live-line.ts";
import { createStyle, type Style, wantsColour } from "../terminal/style.ts";
import { UsageError } from "../usage-error.ts";
import { readOptions } from "./arguments.ts";
import type { Interrupt } from "./interrupt.ts";
import { type Typed, type TypedLine, toTyped } from "./typed.ts";

/** What a command line runs in. */
export interface Surroundings extends Pick<CommandContext, "stdin" | "env" | "cwd"> {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly interrupt: Interrupt;
}

interface ContextParts extends Pick<CommandContext, "runLine"> {
  readonly typed: Typed;
  readonly line: TypedLine;
  readonly around: Surroundings;
  /** The target of the command, where it is open already. */
  readonly given?: OpenedTarget | undefined;
  /** Gets what the command opens. */
  readonly opened: OpenedTarget[];
}

/** Makes what a command works with. */
export function createContext(
  command: Command,
  { typed, line, around, given, opened, runLine }: ContextParts,
): CommandContext {
  const { stdin, stdout, stderr, env, cwd, interrupt } = around;
  const { options, args, rest, target, specs } = typed;
  const json = options.json === true;
  const isTerminal = stderr.isTTY === true;
  const live = createLiveLine(stderr, { isTerminal, columns: () => stderr.columns ?? 80 });

  const write = (text: string): void => {
    if (text === "") return;
    live.clear();
    stdout.write(`${text}\n`);
  };

  const context: CommandContext = {
    stdin,
    stdout,
    stderr,
    env,
    cwd,
    options,
    args,
    rest,
    typedTarget: target,
    targetText: target?.text ?? "",
    lineFor: async (name, ...more) => (await import("./line-for.ts")).lineFor(target, name, ...more),
    json,
    style: styleOf(stdout, around, line),
    columns: stdout.isTTY ? stdout.columns : undefined,
    canAsk: stdin.isTTY === true && isTerminal && !json && options["no-input"] !== true,
    live,
    signal: interrupt.signal,
    interrupt: interrupt.interrupt,
    print: (value, toText) => write(json ? JSON.stringify(value, undefined, 2) : toText()),
    printEach: (value, toText) => write(json ? JSON.stringify(value) : toText()),
    say: live.write,
    commands: commandRows,
    runLine,
    parseWith<M extends OptionSpecs>(more: M): ParsedOptions<M> {
      // What the command understands itself wins over what is only found out.
      const again = readOptions(line.own, { ...more, ...specs });
      return { ...again, args: again.args.slice(typed.skipped) };
    },
    async openTarget(how = {}) {
      if (given !== undefined && how.target === undefined) return given;
      const wanted = how.target === undefined ? target : toTyped(how.target);
      if (wanted === undefined) throw new UsageError(`plugbay ${command.name} needs a target`);
      const { openTarget } = await import("../target/open-target.ts");
      const one = await openTarget(wanted, context, how);
      opened.push(one);
      return one;
    },
  };
  return context;
}

/** Colours for a stream, as far as it wants them. */
export function styleOf(stream: NodeJS.WriteStream, { env }: Pick<Surroundings, "env">, { own }: TypedLine): Style {
  return createStyle(wantsColour({ isTerminal: stream.isTTY === true, env, off: own.includes("--no-color") }));
}
