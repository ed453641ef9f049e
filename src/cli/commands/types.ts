import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { resolveConfig } from "../../config/resolve-config.ts";
import { generateTypes, type ListedServer } from "../../typegen/generate-types.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { readAllConfigs } from "../target/config-files.ts";
import type { OpenedTarget } from "../target/opened-target.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "types",
  usage: ["<target or configuration file> …", "-- <command>"],
  description:
    "Writes a TypeScript module with the types of the tools of servers, for connect<Shop>(…) and openHost<HostTools>(…). Give\n" +
    "targets, or configuration files for all servers that are on in them. It goes to stdout, or to the file of --out.",
  target: "one",
  maxArguments: 100,
  options: {
    out: { type: "text", short: "o", value: "file", meaning: "write to this file" },
    "with-client": { type: "flag", meaning: "also write a connect function for each server" },
  },
  examples: [
    { line: "plugbay types mcp.json > servers.ts", does: "all servers of a file" },
    { line: "plugbay types shop docs --out src/servers.ts", does: "two configured servers" },
    { line: "plugbay types --with-client -- npx -y some-server", does: "a program" },
  ],
  async run(context) {
    const { options, cwd, targetText } = context;
    const isCommand = targetText.startsWith("-- ");
    const names = isCommand ? context.args : [targetText, ...context.args];
    const opened = isCommand ? [await context.openTarget()] : [];
    for (const name of names) opened.push(...(await openAll(name, context)));
    const servers: ListedServer[] = [];
    for (const one of opened) servers.push(await listed(one, context));
    const text = generateTypes(servers, { withClient: options["with-client"] });
    if (options.out === undefined) {
      context.print({ text }, () => text.trimEnd());
      return undefined;
    }
    const path = resolve(cwd, options.out);
    await writeFile(path, text);
    context.print({ path }, () => `wrote ${path}`);
    return undefined;
  },
});

const configFile = /\.(?:jsonc?|toml|ya?ml)$/;

/** A configuration file stands for all of its servers that are on. */
async function openAll(name: string, context: CommandContext): Promise<readonly OpenedTarget[]> {
  if (!configFile.test(name) || name.includes("://")) return [await context.openTarget({ target: name })];
  const { env, cwd } = context;
  const files = await readAllConfigs({ env, cwd, files: [name] });
  const [broken] = files.broken;
  if (broken !== undefined) throw broken;
  const { servers } = await resolveConfig(files.parsed, { ...files.environment, lenient: true });
  const on = servers.filter(({ enabled }) => enabled);
  if (on.length === 0) throw new UsageError(`${name} has no servers that are on`);
  return Promise.all(on.map(({ name: target }) => context.openTarget({ target, files: [name] })));
}

async function listed({ client, name, server }: OpenedTarget, { signal }: CommandContext): Promise<ListedServer> {
  const { capabilities, serverInfo } = client.server;
  const tools = capabilities.tools === undefined ? [] : await client.listTools({ signal });
  const prompts = capabilities.prompts === undefined ? undefined : await client.listPrompts({ signal });
  // A URL or a command is no name for a type.
  return { name: server === undefined ? serverInfo.name : name, tools, ...(prompts && { prompts }) };
}
