import { resolve } from "node:path";
import { createLock } from "../../lock/approve.ts";
import { writeLock } from "../../lock/node/lock-file.ts";
import { type Command, defineCommand } from "../command.ts";
import { lockOptions } from "../lock/lock-options.ts";
import { readSurfaces } from "../lock/read-surfaces.ts";
import { oneLine } from "../terminal/printable.ts";

export const command: Command = defineCommand({
  name: "lock",
  usage: ["[server …]"],
  description:
    "Approves servers of the configuration files as they are now, all of them or those that are named, and writes a new lock\n" +
    "file: programs, URLs, tools, prompts, resources. It connects to the servers, and starts those that are programs.\n" +
    "plugbay check compares later; openHost({ lock }) starts and shows nothing else.",
  maxArguments: 1000,
  options: lockOptions,
  examples: [
    { line: "plugbay lock --config mcp.json", does: "all servers of a file" },
    { line: "plugbay lock shop docs --file team.lock", does: "two servers, into another file" },
  ],
  async run(context) {
    const { args: names, options, cwd } = context;
    const { surfaces } = await readSurfaces({ names, files: options.config }, context);
    const lock = await createLock(surfaces);
    const path = resolve(cwd, options.file ?? "plugbay.lock");
    await writeLock(path, lock);
    const servers = surfaces.map(({ name, tools }) => ({ name, tools: tools.length }));
    context.print({ path, servers }, () =>
      [`wrote ${path}`, ...servers.map(({ name, tools }) => `  ${oneLine(name)}: ${tools} tools`)].join("\n"),
    );
    return undefined;
  },
});
