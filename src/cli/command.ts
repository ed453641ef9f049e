import type { Writable } from "node:stream";
import type { OpenedTarget, OpenTargetOptions } from "./target/opened-target.ts";
import type { TypedTarget } from "./target/typed-target.ts";
import type { LiveLine } from "./terminal/live-line.ts";
import type { Style } from "./terminal/style.ts";

/** How the process ends. `docs/cli.md` says what each means; `frame/exit-codes.ts` says which error gives which. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 130;

/** One option of a command. Its name is the key in `options`, without the dashes, in kebab case. */
export interface OptionSpec {
  /**
   * `flag` takes no value, `texts` may be given several times, `duration` is a number with a unit (`500ms`, `30s`, `2m`)
   * and arrives in milliseconds.
   */
  readonly type: "flag" | "text" | "texts" | "number" | "duration";
  /** One letter. */
  readonly short?: string;
  /** What stands for the value in the help, such as `file`. */
  readonly value?: string;
  /** What the option does, in a few words without a full stop. */
  readonly meaning: string;
  /** The only values that are accepted. */
  readonly choices?: readonly string[];
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** An option of one type, for options that several commands share. */
export type OptionOf<T extends OptionSpec["type"]> = OptionSpec & { readonly type: T };

/** What the options of a command came to. */
export type OptionValues<O extends OptionSpecs> = { readonly [K in keyof O]: OptionValue<O[K]["type"]> };

type OptionValue<T extends OptionSpec["type"]> = T extends "flag"
  ? boolean
  : T extends "texts"
    ? readonly string[]
    : T extends "text"
      ? string | undefined
      : number | undefined;

/** A line that can be typed as it stands, and what it does. */
export interface Example {
  readonly line: string;
  readonly does: string;
}

/** A command: everything the frame has to know of it. `commands.ts` says how one is added. */
export interface Command<O extends OptionSpecs = OptionSpecs> {
  /** What is typed after `plugbay`. */
  readonly name: string;
  /** What follows the name, one line for each way to call it, such as `<target> [tool]`. */
  readonly usage: readonly string[];
  /** What the help says after the usage: whatever somebody has to know who has only the help. */
  readonly description: string;
  readonly options: O;
  /** At least two. */
  readonly examples: readonly Example[];
  /**
   * `one`: the first argument, or the command line after `--`, is the target, which `openTarget()` opens; `optional`: it
   * may be left out. Commands with a target also have the options of `target/target-options.ts`. Default: no target.
   */
  readonly target?: "one" | "optional";
  /** How many arguments there may be besides the target. Default 0; one more is a usage error. */
  readonly maxArguments?: number;
  /** True lets options pass that nobody knows: the command reads them by `parseWith` when it knows more. Default false. */
  readonly takesMoreOptions?: boolean;
  /** True for a command that connects in a way of its own, or not at all: it refuses `--warm`. Default false. */
  readonly hasOwnConnection?: boolean;
  /** True for a command that runs until somebody ends it: Ctrl-C is then how it is meant to end. Default false. */
  readonly endsByInterrupt?: boolean;
  /**
   * Does the work. What it throws is reported by the frame, with the exit code of its error code. It returns nothing for
   * success, or the exit code of a failure that it has shown itself.
   */
  run(context: CommandContext<O>): Promise<ExitCode | undefined>;
}

/** What is known of a command before it is loaded. */
export interface CommandRow {
  readonly name: string;
  readonly group: CommandGroup;
  /** What it does, in a few words without a full stop. */
  readonly summary: string;
  /** Loads the file of the command. */
  load(): Promise<{ readonly command: Command }>;
  /** True for what `plugbay` runs itself and nobody types: it is in no help. */
  readonly hidden?: true;
}

/** Where the help lists a command. */
export type CommandGroup = "Use servers" | "Find out" | "Set up" | "Serve many" | "Sign in" | "Approve" | "Other";

/** Declares a command, so that its options have their types in `run`. */
export function defineCommand<const O extends OptionSpecs>(command: Command<O>): Command {
  return command;
}

/** What a command works with. Nothing of it is taken from the process behind its back. */
export interface CommandContext<O extends OptionSpecs = OptionSpecs> {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: NodeJS.ProcessEnv;
  /** The folder that relative paths are seen from. */
  readonly cwd: string;

  readonly options: OptionValues<O>;
  /** Arguments besides the target. */
  readonly args: readonly string[];
  /** The command line after `--`, where it is no target. */
  readonly rest: readonly string[];
  /** The target as it was typed, for who has to look at it before it is opened. */
  readonly typedTarget: TypedTarget | undefined;
  /** The target as it was typed: it may have a secret in it. Empty without one. */
  readonly targetText: string;
  /** A line with another command for the same target, fit to be shown: what to type next. */
  lineFor(command: string, ...args: readonly string[]): Promise<string>;

  /** True with `--json`: stdout gets JSON and nothing else. */
  readonly json: boolean;
  /** Colours for stdout. They do nothing unless it is a terminal that wants them. */
  readonly style: Style;
  /** Columns of stdout, or undefined where it is no terminal. */
  readonly columns: number | undefined;
  /** True when somebody sits at a terminal and may be asked. Never with `--json` or `--no-input`. */
  readonly canAsk: boolean;
  /** stderr for people: lines, and one line at its end that changes. */
  readonly live: LiveLine;

  /** Aborts at the first Ctrl-C, SIGTERM or SIGHUP. Pass it to whatever takes time. */
  readonly signal: AbortSignal;
  /** Does what Ctrl-C does: for a terminal whose keys are read by a question. */
  interrupt(): void;

  /** Writes a result: as JSON with `--json`, else the text, which ends without a line break. An empty text writes nothing. */
  print(value: unknown, toText: () => string): void;
  /** The same for one of many results: its JSON takes one line. */
  printEach(value: unknown, toText: () => string): void;
  /** Writes a line for people to stderr. */
  say(text: string): void;

  /** All commands there are. */
  readonly commands: readonly CommandRow[];

  /** Runs a line of words as a command with a target that is open already. Ctrl-C ends the line, not this command. Never rejects. */
  runLine(words: readonly string[], target: OpenedTarget): Promise<ExitCode>;

  /** The options and arguments again, with more options: for those that only a server can name. */
  parseWith<M extends OptionSpecs>(more: M): ParsedOptions<M>;

  /**
   * Connects to the target of the command, or to another one by its text. The frame closes it when the command is over.
   * Logs, questions and warnings of the server go to the terminal.
   */
  openTarget(options?: OpenTargetOptions): Promise<OpenedTarget>;
}

/** Options as they were given. */
export interface ParsedOptions<O extends OptionSpecs> {
  readonly options: OptionValues<O>;
  /** Names of the options that were given. */
  readonly given: ReadonlySet<string>;
  /** Arguments besides the target. */
  readonly args: readonly string[];
}
