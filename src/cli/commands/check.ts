import { resolve } from "node:path";
import { createLock } from "../../lock/approve.ts";
import { diffLock } from "../../lock/diff-lock.ts";
import { formatLockDiff } from "../../lock/format-lock-diff.ts";
import type { Lock } from "../../lock/lock.ts";
import { readLock } from "../../lock/node/lock-file.ts";
import { McpError } from "../../protocol/errors.ts";
import { type Command, defineCommand } from "../command.ts";
import { lockOptions } from "../lock/lock-options.ts";
import { readSurfaces } from "../lock/read-surfaces.ts";
import { oneLine, printable } from "../terminal/printable.ts";

export const command: Command = defineCommand({
  name: "check",
  usage: ["[server …]"],
  description:
    "Compares servers with what was approved, all of them or those that are named. A server whose program or URL was not\n" +
    "approved is reported, and not started. The exit code is 5 when anything is different.",
  maxArguments: 1000,
  options: lockOptions,
  examples: [
    { line: "plugbay check", does: "is everything as it was approved?" },
    { line: "plugbay check --config mcp.json --json", does: "the same in a pipeline" },
  ],
  async run(context) {
    const { args: names, options, cwd } = context;
    const path = resolve(cwd, options.file ?? "plugbay.lock");
    const lock = await readLock(path);
    if (lock === undefined) {
      throw new McpError("invalid-config", `${path}: there is no such file; write it with: plugbay lock`, {
        data: { path },
      });
    }
    const { surfaces, refused } = await readSurfaces({ names, files: options.config, lock }, context);
    const known = new Set(refused.map(({ server }) => server));
    const diff = await diffLock(compared(lock, names, known), await createLock(surfaces));
    const isClean = diff.servers.length === 0 && refused.length === 0;
    context.print({ isClean, refused, diff }, () =>
      [
        ...refused.map(({ server, message }) => `${oneLine(server)}: not started: ${printable(message)}`),
        ...(diff.servers.length > 0 || isClean ? [formatLockDiff(diff).trimEnd()] : []),
      ].join("\n"),
    );
    return isClean ? 0 : 5;
  },
});

/** What is compared of a lock: not what was refused, which is told already. */
function compared(lock: Lock, names: readonly string[], refused: ReadonlySet<string>): Lock {
  const isCompared = (name: string): boolean => !refused.has(name) && (names.length === 0 || names.includes(name));
  return { ...lock, servers: Object.fromEntries(Object.entries(lock.servers).filter(([name]) => isCompared(name))) };
}
