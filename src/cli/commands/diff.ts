import { statSync } from "node:fs";
import { resolve } from "node:path";
import { isLockClean } from "../../lock/diff-lock.ts";
import type { LockedServer } from "../../lock/lock.ts";
import { readLock, writeLock } from "../../lock/node/lock-file.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { compareSurfaces, formatSurfaceDiff, serverIn, toLocked } from "../surface/compare-surfaces.ts";
import { readSurface } from "../surface/read-surface.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "diff",
  usage: ["<before> <after>", "<before> -- <command>"],
  description:
    "Compares what two servers show: tools, prompts, resources, templates, instructions. Either side is a target, or a file:\n" +
    "a lock file, or a snapshot, which is a lock file of one server without its place. The exit code is 1 when they differ.\n" +
    "With --update the file on the left is written as the server on the right is now.",
  target: "one",
  maxArguments: 1,
  options: {
    server: { type: "text", short: "s", value: "name", meaning: "which server of a lock file with several" },
    update: { type: "flag", short: "u", meaning: "write the snapshot on the left instead of comparing" },
  },
  examples: [
    { line: "plugbay diff https://example.com/mcp https://staging.example.com/mcp", does: "two servers" },
    { line: "plugbay diff plugbay.lock shop --server shop", does: "what was approved, and what is there" },
    { line: "plugbay diff shop.snapshot --update -- node server.js", does: "write a snapshot" },
    { line: "plugbay diff shop.snapshot --json -- node server.js", does: "compare with it, in a pipeline" },
  ],
  async run(context) {
    const { before, after } = sidesOf(context);
    if (context.options.update) return update(before, after, context);
    const [old, now] = await Promise.all([readSide(before, context), readSide(after, context)]);
    const diff = compareSurfaces(now.name, old.locked, now.locked);
    const isSame = isLockClean(diff);
    context.print({ isSame, changes: diff.servers }, () => formatSurfaceDiff(diff));
    return isSame ? undefined : 1;
  },
});

/** A text, or undefined for the target of the command line. */
interface Sides {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

function sidesOf({ args: [other], targetText }: CommandContext): Sides {
  const hint = "write plugbay diff <before> <after>, or plugbay diff <before> -- <command>";
  if (other === undefined) throw new UsageError("plugbay diff needs two sides", hint);
  return targetText.startsWith("-- ") ? { before: other, after: undefined } : { before: undefined, after: other };
}

interface Side {
  readonly name: string;
  readonly locked: LockedServer;
}

async function readSide(text: string | undefined, context: CommandContext<typeof command.options>): Promise<Side> {
  const path = fileOf(text, context);
  const wanted = typeof context.options.server === "string" ? context.options.server : undefined;
  if (path !== undefined) {
    const lock = await readLock(path);
    if (lock !== undefined) return { name: wanted ?? path, locked: serverIn(lock, path, wanted) };
  }
  const { client, name } = await context.openTarget(text === undefined ? {} : { target: text });
  return { name, locked: await toLocked(await readSurface(client, name, context.signal)) };
}

/** The file that a side names. A file of a program is a target. */
function fileOf(text: string | undefined, { cwd, targetText }: CommandContext): string | undefined {
  const typed = text ?? targetText;
  if (typed.startsWith("-- ") || /\.[cm]?[jt]s$/.test(typed)) return undefined;
  const path = resolve(cwd, typed);
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true ? path : undefined;
}

async function update(
  before: string | undefined,
  after: string | undefined,
  context: CommandContext,
): Promise<undefined> {
  const { cwd, targetText, signal } = context;
  const path = resolve(cwd, before ?? targetText);
  const { client, name } = await context.openTarget(after === undefined ? {} : { target: after });
  const locked = await toLocked(await readSurface(client, name, signal));
  await writeLock(path, { lockVersion: 2, servers: { [client.server.serverInfo.name]: locked } });
  context.print({ path }, () => `wrote ${path}`);
  return undefined;
}
