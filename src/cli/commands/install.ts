import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { changeServer, printChange } from "../editing/change-file.ts";
import { dryRunOption, editedFile, fileOptions } from "../editing/edited-file.ts";
import { findInstallable, type Installable } from "../editing/installable.ts";
import { serverSetter } from "../editing/server-setter.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "install",
  usage: ["<project folder, file, or name>"],
  description:
    "Writes a server that is here into the configuration file of an editor, in its words: a project with a program (bin of\n" +
    "its package.json), a file that exports a server, or a server of another configuration file by its name. Comments and all\n" +
    "other lines stay. plugbay undo brings the file back. For a URL or any other command see plugbay add.",
  maxArguments: 1,
  options: {
    ...fileOptions,
    name: { type: "text", value: "name", meaning: "what the server is called there" },
    replace: { type: "flag", meaning: "replace a server of that name" },
    ...dryRunOption,
  },
  examples: [
    { line: "plugbay install . --for claude-code", does: "the project of this folder" },
    { line: "plugbay install ./server.js --for cursor --user --name demo", does: "a file, for all folders" },
    { line: "plugbay install docs --for vscode --dry-run", does: "a configured server: show what would change" },
  ],
  async run(context) {
    const { args, options } = context;
    if (args[0] === undefined) throw new UsageError("plugbay install needs a folder, a file or the name of a server");
    if (options.for === undefined && options.file === undefined) {
      throw new UsageError("plugbay install needs an editor", "say which with --for, such as --for cursor");
    }
    const found = await findInstallable(args[0], context);
    const name = options.name ?? found.name;
    const file = await editedFile(options, context);
    const edit = await serverSetter(file, { name, entry: found.entry, replace: options.replace }, context);
    const change = await changeServer(file, edit, context, options["dry-run"]);
    printChange(change, toldOf(name, file.path, found, context), context, options["dry-run"]);
    return undefined;
  },
});

function toldOf(name: string, path: string, { entry }: Installable, { style }: CommandContext): string {
  const hint = "command" in entry ? `\n  ${style.dim(`call it with: plugbay tools ${name}`)}` : "";
  return `installed ${name} in ${path}${hint}`;
}
