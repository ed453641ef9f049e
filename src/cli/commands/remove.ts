import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { changeServer, printChange } from "../editing/change-file.ts";
import { dryRunOption, type EditedFile, editedFile, fileOptions } from "../editing/edited-file.ts";
import { readAllConfigs, serverNames } from "../target/config-files.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "remove",
  usage: ["<name>"],
  description:
    "Takes a server out of a configuration file. Comments and all other lines stay. Without options it is taken out of the file\n" +
    "that has it, if only one has. plugbay undo brings the file back.",
  maxArguments: 1,
  options: { ...fileOptions, ...dryRunOption },
  examples: [
    { line: "plugbay remove docs", does: "out of the only file that has it" },
    { line: "plugbay remove docs --for cursor --user", does: "out of your file of Cursor" },
    { line: "plugbay remove docs --dry-run", does: "show what would change" },
  ],
  async run(context) {
    const { args, options } = context;
    const [name] = args;
    if (name === undefined) throw new UsageError("plugbay remove needs the name of a server");
    const isChosen = options.for !== undefined || options.file !== undefined || options.project || options.user;
    const file = isChosen ? await editedFile(options, context) : await onlyFileWith(name, context);
    if (isChosen) await checkHas(name, file, context);
    const change = await changeServer(file, { type: "remove", name }, context, options["dry-run"]);
    printChange(change, `removed ${name} from ${file.path}`, context, options["dry-run"]);
    return undefined;
  },
});

async function onlyFileWith(name: string, { env, cwd }: CommandContext): Promise<EditedFile> {
  const files = await readAllConfigs({ env, cwd, files: [] });
  const having = files.parsed.filter(({ servers }) => servers.some((server) => server.name === name));
  const [first, second] = having;
  // It may be in a file that cannot be read.
  if (first === undefined) throw files.broken[0] ?? unknownServer(name, serverNames(files));
  if (second === undefined) return { path: first.path, dialect: first.dialect };
  const paths = having.map(({ path }) => path).join(" and in ");
  throw new UsageError(`the server ${name} is in ${paths}`, `say which with --file, such as --file ${first.path}`);
}

async function checkHas(name: string, { path }: EditedFile, { env, cwd }: CommandContext): Promise<void> {
  const files = await readAllConfigs({ env, cwd, files: [path] });
  const [broken] = files.broken;
  if (broken !== undefined) throw broken;
  if (!serverNames(files).includes(name)) throw unknownServer(name, serverNames(files), ` in ${path}`);
}

function unknownServer(name: string, known: readonly string[], where = ""): UsageError {
  const hint = "plugbay list shows the names there are";
  return new UsageError(`there is no server ${JSON.stringify(name)}${where}`, hint, { name, known });
}
