import { type Command, defineCommand } from "../command.ts";
import { changeServer, printChange } from "../editing/change-file.ts";
import { dryRunOption, editedFile, fileOptions } from "../editing/edited-file.ts";
import { newServer } from "../editing/new-server.ts";
import { serverSetter } from "../editing/server-setter.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "add",
  usage: ["<name> <url>", "<name> -- <command>"],
  description:
    "Writes a server into a configuration file: mcp.json of this folder, or with --for the file of an editor, in its words.\n" +
    "Comments and all other lines stay. plugbay undo brings the file back. Values of --env and --header are written as they\n" +
    "are: write a variable as the dialect has it, to keep a secret out of the file.",
  maxArguments: 2,
  options: {
    ...fileOptions,
    env: { type: "texts", short: "e", value: "NAME=value", meaning: "a variable of the program; may be repeated" },
    header: { type: "texts", short: "H", value: "name: value", meaning: "a header for the URL; may be repeated" },
    replace: { type: "flag", meaning: "replace a server of that name" },
    ...dryRunOption,
  },
  examples: [
    { line: "plugbay add docs https://example.com/mcp", does: "a URL, in mcp.json of this folder" },
    {
      line: "plugbay add files --for cursor --user -- npx -y some-server .",
      does: "a program, in your file of Cursor",
    },
    { line: "plugbay add docs https://example.com/mcp --for vscode --dry-run", does: "show what would change" },
  ],
  async run(context) {
    const { args, rest, options } = context;
    const [name, url] = args;
    if (name === undefined) throw new UsageError("plugbay add needs a name, and a URL or -- and a command");
    const entry = newServer({ url, command: rest, env: options.env, headers: options.header });
    const file = await editedFile(options, context);
    const edit = await serverSetter(file, { name, entry, replace: options.replace }, context);
    const change = await changeServer(file, edit, context, options["dry-run"]);
    printChange(change, `added ${name} to ${file.path}`, context, options["dry-run"]);
    return undefined;
  },
});
