import { resolve } from "node:path";
import { approveServer, createLock } from "../../lock/approve.ts";
import { diffLock } from "../../lock/diff-lock.ts";
import { formatLockDiff } from "../../lock/format-lock-diff.ts";
import type { Lock } from "../../lock/lock.ts";
import { readLock, writeLock } from "../../lock/node/lock-file.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { lockOptions } from "../lock/lock-options.ts";
import { readSurfaces } from "../lock/read-surfaces.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "approve",
  usage: ["<server> …"],
  description:
    "Approves servers as they are now, and changes the lock file for these and no others. It shows what is different from what\n" +
    "was approved before; on a terminal it asks, elsewhere --yes has to say so. It starts the programs of these servers.",
  maxArguments: 1000,
  options: { ...lockOptions, yes: { type: "flag", short: "y", meaning: "approve without being asked" } },
  examples: [
    { line: "plugbay approve shop", does: "see what changed, and approve it" },
    { line: "plugbay approve shop docs --yes", does: "in a script" },
  ],
  async run(context) {
    const { args: names, options, cwd } = context;
    if (names.length === 0)
      throw new UsageError("plugbay approve needs the name of a server", "see them with: plugbay list");
    const path = resolve(cwd, options.file ?? "plugbay.lock");
    const before = (await readLock(path)) ?? (await createLock([]));
    const { surfaces } = await readSurfaces({ names, files: options.config }, context);
    const diff = await diffLock(onlyServers(before, names), await createLock(surfaces));
    if (!context.json) context.say(formatLockDiff(diff).trimEnd());
    const changed = diff.servers.length > 0;
    if (changed && !options.yes) await confirm(context);
    let lock = before;
    for (const surface of surfaces) lock = await approveServer(lock, surface);
    if (changed) await writeLock(path, lock);
    context.print({ path, approved: names, diff }, () => (changed ? `wrote ${path}` : "nothing to approve"));
    return undefined;
  },
});

function onlyServers(lock: Lock, names: readonly string[]): Lock {
  const servers = Object.entries(lock.servers).filter(([name]) => names.includes(name));
  return { ...lock, servers: Object.fromEntries(servers) };
}

async function confirm(context: CommandContext): Promise<void> {
  if (!context.canAsk)
    throw new UsageError("nobody can be asked here whether to approve this", "approve it with --yes");
  const { openQuestions } = await import("../terminal/questions.ts");
  const questions = await openQuestions(context);
  if (!(await questions.confirm("Approve this?", false)))
    throw new UsageError("nothing was approved", "the lock file is as it was");
}
