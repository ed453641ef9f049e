import { ownInfo } from "../../protocol/own-info.ts";
import type { Command, CommandRow, OptionSpecs } from "../command.ts";
import { commandGroups, commandRows } from "../commands.ts";
import { targetOptions } from "../target/target-options.ts";
import type { Style } from "../terminal/style.ts";
import { commonOptions, ownOptions } from "./common-options.ts";

/** The help of `plugbay`. */
export function formatOwnHelp(style: Style): string {
  const groups = commandGroups.flatMap((group) => {
    const rows = commandRows.filter((row) => row.group === group && row.hidden === undefined);
    if (rows.length === 0) return [];
    return [section(style, group, table(rows.map(({ name, summary }) => [style.cyan(name), summary])))];
  });
  return [
    "plugbay: use, check and set up servers of the Model Context Protocol",
    section(style, "Usage", ["  plugbay <command> [arguments] [options]", "  plugbay    the same as plugbay gateway"]),
    ...groups,
    section(style, "Targets", table(targets)),
    section(style, "Options", formatOptions(ownOptions)),
    section(style, "Examples", table(examples.map(([line, does]) => [style.cyan(line), style.dim(`# ${does}`)]))),
    section(style, "Exit codes", table(exitCodes)),
    "plugbay <command> --help shows the options of a command, and examples.",
  ].join("\n\n");
}

/** The same for a program: the value of `plugbay --help --json`. */
export function ownHelp(): object {
  const commands = commandRows.filter((row) => row.hidden === undefined);
  return {
    name: "plugbay",
    version: ownInfo.version,
    commands: commands.map(({ name, group, summary }) => ({ name, group, summary })),
    targets: targets.map(([form, meaning]) => ({ form, meaning })),
    options: toOptionList(ownOptions),
    examples: examples.map(([line, does]) => ({ line, does })),
    exitCodes: exitCodes.map(([code, meaning]) => ({ code: Number(code), meaning })),
  };
}

/** The same for a program: the value of `plugbay <command> --help --json`. */
export function commandHelp({ group, summary }: Pick<CommandRow, "group" | "summary">, command: Command): object {
  const { name, usage, description, target, options, examples: lines } = command;
  return {
    name,
    group,
    summary,
    usage: usage.map((line) => usageLine(name, line)),
    description: description.replaceAll("\n", " "),
    ...(target !== undefined && { target, targetOptions: toOptionList(targetOptions) }),
    options: toOptionList(options),
    commonOptions: toOptionList(commonOptions),
    examples: lines,
  };
}

function toOptionList(specs: OptionSpecs): readonly object[] {
  return Object.entries(specs).map(([name, spec]) => ({ name: `--${name}`, ...spec }));
}

function usageLine(name: string, line: string): string {
  return `plugbay ${name}${line === "" ? "" : ` ${line}`}`;
}

/** The help of one command. */
export function formatCommandHelp(row: Pick<CommandRow, "summary">, command: Command, style: Style): string {
  const { name, usage, description, options, examples: lines, target } = command;
  const own = Object.keys(options).length === 0 ? [] : [section(style, "Options", formatOptions(options))];
  const ofTarget = target === undefined ? [] : [section(style, "Options of the target", formatOptions(targetOptions))];
  return [
    `plugbay ${name}: ${row.summary}`,
    section(
      style,
      "Usage",
      usage.map((line) => `  ${usageLine(name, line)}`),
    ),
    description,
    ...(target === undefined ? [] : [section(style, "Target", table(targets))]),
    ...own,
    ...ofTarget,
    section(style, "Options of every command", formatOptions(commonOptions)),
    section(
      style,
      "Examples",
      lines.flatMap(({ line, does }) => [`  ${style.dim(`# ${does}`)}`, `  ${style.cyan(line)}`]),
    ),
  ].join("\n\n");
}

function section(style: Style, title: string, lines: readonly string[]): string {
  return [`${style.bold(title)}:`, ...lines].join("\n");
}

function formatOptions(specs: OptionSpecs): readonly string[] {
  return table(
    Object.entries(specs).map(([name, { short, type, value, meaning, choices }]) => {
      const letter = short === undefined ? "    " : `-${short}, `;
      const what = type === "flag" ? "" : ` <${value ?? "value"}>`;
      return [`${letter}--${name}${what}`, choices === undefined ? meaning : `${meaning}: ${choices.join(", ")}`];
    }),
  );
}

/** Two columns. Escapes for colours have no width. */
function table(rows: readonly (readonly [string, string] | readonly string[])[]): readonly string[] {
  const width = Math.max(...rows.map(([left = ""]) => widthOf(left)));
  return rows.map(([left = "", right = ""]) => `  ${left}${" ".repeat(width - widthOf(left))}  ${right}`);
}

function widthOf(text: string): number {
  return text.replaceAll(colours, "").length;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the escapes for colours
const colours = /\u001b\[\d+m/g;

const targets: readonly (readonly [string, string])[] = [
  ["https://example.com/mcp", "a URL"],
  ["-- npx -y some-server", "a command, after the other arguments"],
  ["shop", "a name from a configuration file: plugbay list shows them"],
  ["shop:buy", "the same, with a tool of it"],
  ["./server.ts", "a file that exports a server, or that serves on stdio"],
];

const examples: readonly (readonly [string, string])[] = [
  ["plugbay list", "the servers of all configuration files"],
  ["plugbay tools https://example.com/mcp", "its tools, and what they take"],
  ["plugbay call shop buy sku=A1 quantity:=2", "call a tool of the server shop"],
  ["plugbay call shop:buy --json --args args.json", "the same, for a program"],
  ["plugbay read docs://intro -- npx -y some-server", "read a resource of a program"],
  ["plugbay shell shop", "many calls over one connection"],
];

const exitCodes: readonly (readonly [string, string])[] = [
  ["0", "success"],
  ["1", "the call failed, also when the tool says so by isError"],
  ["2", "wrong usage, definition or configuration"],
  ["3", "cannot connect, or the other side does not speak MCP"],
  ["4", "signing in is needed: plugbay login"],
  ["5", "refused by a policy or a lock"],
  ["130", "interrupted"],
];
