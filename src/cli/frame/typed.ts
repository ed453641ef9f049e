import type { Command, OptionSpecs, ParsedOptions } from "../command.ts";
import { targetOptions } from "../target/target-options.ts";
import type { TypedTarget } from "../target/typed-target.ts";
import { UsageError } from "../usage-error.ts";
import { readOptions } from "./arguments.ts";
import { commonOptions } from "./common-options.ts";

/** A command line: what is for `plugbay`, and the words after `--`, if it is there. */
export interface TypedLine {
  readonly own: readonly string[];
  readonly rest: readonly string[] | undefined;
}

export function splitLine(argv: readonly string[]): TypedLine {
  const end = argv.indexOf("--");
  return end < 0 ? { own: argv, rest: undefined } : { own: argv.slice(0, end), rest: argv.slice(end + 1) };
}

/** A target from its text or its command line. */
export function toTyped(target: string | readonly string[]): TypedTarget {
  return typeof target === "string" ? { text: target } : { text: `-- ${target.join(" ")}`, command: target };
}

/** What was typed for a command. */
export interface Typed extends ParsedOptions<OptionSpecs> {
  /** Every option that the command understands. */
  readonly specs: OptionSpecs;
  readonly target: TypedTarget | undefined;
  /** How many arguments name the target. */
  readonly skipped: number;
  readonly rest: readonly string[];
}

/** Reads what was typed for a command. Throws a {@link UsageError} for what it does not take. */
export function readTyped(command: Command, { own, rest }: TypedLine, given?: TypedTarget): Typed {
  const { options, target: wants, maxArguments = 0, takesMoreOptions = false } = command;
  const specs = { ...options, ...(wants !== undefined && targetOptions), ...commonOptions };
  const parsed = readOptions(own, specs, { lenient: takesMoreOptions });
  if (command.hasOwnConnection === true && parsed.given.has("warm"))
    throw new UsageError(`plugbay ${command.name} has a connection of its own`, "leave --warm out");
  const target = wants === undefined ? undefined : (given ?? targetOf(parsed.args, rest));
  if (wants === "one" && target === undefined) {
    const hint = "give a URL, a name of `plugbay list`, a file, or -- and a command";
    throw new UsageError(`plugbay ${command.name} needs a target`, hint);
  }
  const isTyped = target !== undefined && target !== given && target.command === undefined;
  const args = isTyped ? parsed.args.slice(1) : parsed.args;
  const more = args[maxArguments];
  // What follows an option that is not known yet may be its value.
  if (more !== undefined && !takesMoreOptions) throw new UsageError(`one argument too many: ${JSON.stringify(more)}`);
  return { ...parsed, args, specs, target, skipped: isTyped ? 1 : 0, rest: wants === undefined ? (rest ?? []) : [] };
}

function targetOf([first]: readonly string[], rest: readonly string[] | undefined): TypedTarget | undefined {
  if (rest === undefined) return first === undefined ? undefined : { text: first };
  if (rest.length === 0) throw new UsageError("there is no command after --", "write -- node server.js");
  return toTyped(rest);
}
