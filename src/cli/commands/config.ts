import { dialectOf } from "../../config/dialects.ts";
import { explainConfig, formatConfigExplanation } from "../../config/explain-config.ts";
import { resolveConfig } from "../../config/resolve-config.ts";
import { type Command, type CommandContext, defineCommand, type ExitCode } from "../command.ts";
import { type ConfigFiles, onlyServer, readAllConfigs, serverNames } from "../target/config-files.ts";
import { targetOptions } from "../target/target-options.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { formatTable } from "../values/table.ts";

export const command: Command = defineCommand({
  name: "config",
  usage: ["[show]", "explain [server]", "convert <file> <dialect>"],
  description:
    "show lists the configuration files that are found, from the general to the particular, with whose they are. explain says\n" +
    "of every server, or of one, which value each field has, in which file and line it was found, which variables were put\n" +
    "in, and what is wrong. Secrets are hidden. convert writes the servers of a file in another dialect to stdout, or to the\n" +
    "new file of --out: variables stay variables, and what the dialect cannot say is told.",
  maxArguments: 3,
  options: {
    config: targetOptions.config,
    out: { type: "text", short: "o", value: "file", meaning: "write to this new file" },
  },
  examples: [
    { line: "plugbay config", does: "the files that are found here" },
    { line: "plugbay config explain shop", does: "where every setting of a server comes from" },
    { line: "plugbay config convert .cursor/mcp.json codex", does: "the servers of Cursor, as Codex has them" },
    { line: "plugbay config explain --json --config ~/.cursor/mcp.json", does: "all servers of one file, as JSON" },
  ],
  async run(context) {
    const [what = "show", name, ...more] = context.args;
    if (what === "convert")
      return (await import("../editing/convert-config.ts")).convertConfig(context, context.options.out);
    if ((what !== "show" && what !== "explain") || more.length > 0 || (what === "show" && name !== undefined)) {
      const unknown = { name: what, known: ["show", "explain", "convert"] };
      throw new UsageError(`plugbay config has no ${JSON.stringify(what)}`, undefined, unknown);
    }
    const { env, cwd, options } = context;
    const files = await readAllConfigs({ env, cwd, files: options.config });
    return what === "show" ? show(files, context) : explain(files, name, context);
  },
});

function show({ parsed, broken, known }: ConfigFiles, context: CommandContext): ExitCode {
  const scopes = new Map(known.map(({ path, scope }) => [path, scope]));
  const files = parsed.map(({ path, dialect, servers }) => ({
    path,
    dialect,
    app: dialectOf(dialect).app,
    scope: scopes.get(path) ?? "named",
    servers: servers.map(({ name }) => name),
  }));
  const problems = broken.map(({ message }) => message);
  context.print({ files, broken: problems }, () => {
    if (files.length === 0) return problems.length === 0 ? "no configuration files were found" : "";
    return formatTable(
      files.map(({ path, app, scope, servers }) => [
        oneLine(path, 1000),
        app,
        scope,
        context.style.dim(servers.length === 0 ? "no servers" : servers.map((name) => oneLine(name)).join(", ")),
      ]),
      context.columns,
    );
  });
  if (!context.json)
    for (const message of problems) context.say(`${context.style.red("error")}: ${printable(message)}`);
  return problems.length === 0 ? 0 : 2;
}

async function explain(files: ConfigFiles, name: string | undefined, context: CommandContext): Promise<ExitCode> {
  const known = serverNames(files);
  if (name !== undefined && !known.includes(name)) {
    const [broken] = files.broken;
    if (broken !== undefined) throw broken;
    throw new UsageError(`there is no server ${JSON.stringify(name)}`, "see them with: plugbay list", { name, known });
  }
  const parsed = name === undefined ? files.parsed : onlyServer(files.parsed, name);
  const explanation = explainConfig(await resolveConfig(parsed, files.environment));
  const broken = files.broken.map(({ message }) => message);
  context.print({ ...explanation, broken }, () => formatConfigExplanation(explanation).trimEnd());
  if (!context.json) for (const message of broken) context.say(`${context.style.red("error")}: ${printable(message)}`);
  const isUsable = explanation.servers.every(({ status }) => status !== "unusable");
  return isUsable && broken.length === 0 ? 0 : 2;
}
