import { type Command, type CommandContext, defineCommand, type OptionSpec, type OptionSpecs } from "../command.ts";
import { commonOptions } from "../frame/common-options.ts";
import { targetOptions } from "../target/target-options.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "completion",
  usage: ["bash|zsh|fish"],
  description:
    "Writes a script that makes a shell complete commands, options, their values and names of servers. It asks plugbay for\n" +
    "what fits, so it need not be renewed.",
  maxArguments: 2,
  options: {},
  examples: [
    { line: "plugbay completion bash > ~/.local/share/bash-completion/completions/plugbay", does: "for bash" },
    { line: "plugbay completion zsh > ~/.zsh/completions/_plugbay", does: "for zsh, in a folder of fpath" },
    { line: "plugbay completion fish > ~/.config/fish/completions/plugbay.fish", does: "for fish" },
  ],
  async run(context) {
    const [shell, ...more] = context.args;
    if (shell === "words") {
      const words = await completeWords(context.rest, context);
      context.print({ words }, () => words.join("\n"));
      return undefined;
    }
    const script = shell === undefined ? undefined : scripts[shell];
    if (script === undefined || more.length > 0) {
      throw new UsageError(
        shell === undefined
          ? "plugbay completion needs the name of a shell"
          : `${JSON.stringify(shell)} is no shell that is known`,
        "write bash, zsh or fish",
      );
    }
    context.print({ shell, script }, () => script);
    return undefined;
  },
});

/** What the last of these words could be. */
async function completeWords(words: readonly string[], context: CommandContext): Promise<readonly string[]> {
  const last = words.at(-1) ?? "";
  const [name, ...typed] = words.slice(0, -1);
  const fitting = (all: readonly string[]): readonly string[] => all.filter((one) => one.startsWith(last));
  const rows = context.commands.filter((row) => row.hidden === undefined);
  if (name === undefined) return fitting([...rows.map((row) => row.name), "--help", "--version"]);
  const row = rows.find((known) => known.name === name);
  if (row === undefined || typed.includes("--")) return [];
  const { command: one } = await row.load();
  const specs: OptionSpecs = { ...one.options, ...(one.target !== undefined && targetOptions), ...commonOptions };
  const asked = valueOption(typed.at(-1), specs);
  if (asked?.choices !== undefined) return fitting(asked.choices);
  if (last.startsWith("-")) return fitting(Object.keys(specs).map((option) => `--${option}`));
  const plain = plainWords(typed, specs);
  if (plain.length === 0 && firstWords[name] !== undefined) return fitting(firstWords[name]);
  const takesName = one.target !== undefined || ["check", "lock", "approve"].includes(name);
  const before = plain.join(" ");
  const isPlace = takesName ? before === "" : beforeName[name] === before;
  return isPlace && asked === undefined ? fitting(await names(context)) : [];
}

/** The words that are neither options nor values of options. */
function plainWords(typed: readonly string[], specs: OptionSpecs): readonly string[] {
  return typed.filter((word, at) => !word.startsWith("-") && valueOption(typed[at - 1], specs) === undefined);
}

/** What the first word of a command may be, where that is no target. */
const firstWords: Readonly<Record<string, readonly string[]>> = {
  completion: ["bash", "zsh", "fish"],
  config: ["show", "explain", "convert"],
  warm: ["status", "stop"],
};

/** After which word of these commands the name of a server stands. */
const beforeName: Readonly<Record<string, string>> = { config: "explain", warm: "stop", remove: "", install: "" };

/** The option that takes the next word as its value. */
function valueOption(word: string | undefined, specs: OptionSpecs): OptionSpec | undefined {
  const [, long, short] = /^--([\w-]+)$|^-(\w)$/.exec(word ?? "") ?? [];
  const spec = Object.entries(specs).find(
    ([name, one]) => name === long || (short !== undefined && one.short === short),
  );
  return spec?.[1].type === "flag" ? undefined : spec?.[1];
}

async function names({ env, cwd }: CommandContext): Promise<readonly string[]> {
  const { readAllConfigs, serverNames } = await import("../target/config-files.ts");
  return serverNames(await readAllConfigs({ env, cwd, files: [] }));
}

const scripts: Readonly<Record<string, string>> = {
  bash: `_plugbay() {
  local IFS=$'\\n'
  COMPREPLY=($(plugbay completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _plugbay plugbay`,
  zsh: `#compdef plugbay
_plugbay() {
  local -a found
  found=("\${(@f)$(plugbay completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -a found; else _files; fi
}
if [ "$funcstack[1]" = "_plugbay" ]; then _plugbay; else compdef _plugbay plugbay; fi`,
  fish: `function __plugbay_words
  set -l typed (commandline -opc) (commandline -ct)
  set -l found (plugbay completion words -- $typed[2..-1] 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c plugbay -f -a '(__plugbay_words)'`,
};
