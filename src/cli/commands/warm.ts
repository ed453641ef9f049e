import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { formatTable } from "../values/table.ts";
import { runningBackgrounds } from "../warm/ask-background.ts";
import { groupMemory } from "../warm/group-memory.ts";
import { isNamed } from "../warm/is-named.ts";
import type { KeptStatus, WarmStatus } from "../warm/messages.ts";

export const command: Command = defineCommand({
  name: "warm",
  usage: ["[status]", "stop <target>", "stop -- <command>", "stop --all"],
  description:
    "With --warm, or PLUGBAY_WARM=1 in the environment, a command keeps its server up: a background process stays connected to\n" +
    "it, and the next command with the same target, folder and settings uses that connection. It ends by itself when no command\n" +
    "has used it for ten minutes, or for the time of --idle. status shows what is kept; stop ends it, with the server.\n" +
    "To keep a server: plugbay --warm call shop buy sku=A1",
  maxArguments: 2,
  options: { all: { type: "flag", meaning: "stop everything that is kept" } },
  examples: [
    { line: "plugbay warm status --json", does: "what is kept, for a program" },
    { line: "plugbay warm stop shop", does: "end what is kept of shop" },
    { line: "plugbay warm stop -- npx -y some-server", does: "end what is kept of a program" },
  ],
  async run(context) {
    const [what = "status", target] = context.args;
    if (what === "status" && target === undefined) return show(context);
    if (what === "stop") return stop(target, context);
    throw new UsageError(`plugbay warm has no ${JSON.stringify(what)}`, undefined, {
      name: what,
      known: ["status", "stop"],
    });
  },
});

async function show(context: CommandContext): Promise<undefined> {
  const found = await runningBackgrounds(context.env);
  const pids = found.flatMap(({ status }) => status?.servers.flatMap(({ pid }) => pid ?? []) ?? []);
  const memory = await groupMemory(pids);
  const kept = found.map(({ id, pid, status }) => ({
    id,
    pid,
    answers: status !== undefined,
    ...status,
    servers: (status?.servers ?? []).map((server) => ({
      ...server,
      memoryBytes: server.pid && memory.get(server.pid),
    })),
  }));
  context.print({ kept }, () =>
    kept.length === 0 ? "nothing is kept" : formatTable([heads, ...kept.map(rowOf)], context.columns),
  );
  return undefined;
}

const heads = ["ID", "TARGET", "SERVER", "SINCE", "USED", "COMMANDS", "MEMORY", "FOLDER"];

interface Shown extends Partial<Omit<WarmStatus, "pid" | "servers">> {
  readonly id: string;
  readonly pid: number | undefined;
  readonly servers: readonly (KeptStatus & { readonly memoryBytes: number | undefined })[];
}

function rowOf({ id, pid, names = [], folder, since, usedAt, memoryBytes, servers }: Shown): readonly string[] {
  if (since === undefined) return [id.slice(0, idChars), `process ${pid ?? "?"} does not answer`];
  const pids = servers.map((server) => server.pid ?? "remote").join(", ");
  const commands = servers.reduce((sum, server) => sum + server.commands, 0);
  const bytes = servers.reduce((sum, server) => sum + (server.memoryBytes ?? 0), memoryBytes ?? 0);
  return [
    id.slice(0, idChars),
    oneLine(names.join(", ")),
    pids,
    agoOf(since),
    agoOf(usedAt ?? since),
    String(commands),
    `${Math.round(bytes / 1_048_576)} MiB`,
    oneLine(folder ?? ""),
  ];
}

const idChars = 8;

function agoOf(time: number): string {
  const seconds = Math.max(0, Math.round((Date.now() - time) / 1000));
  return seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
}

async function stop(target: string | undefined, context: CommandContext): Promise<1 | undefined> {
  const { env, cwd, options, rest, print, say } = context;
  const words = rest.length > 0 ? rest : target;
  if ((words === undefined) !== (options.all === true))
    throw new UsageError("plugbay warm stop needs a target", "name one of plugbay warm status, or write --all");
  const running = await runningBackgrounds(env);
  const named = words === undefined ? running : running.filter((one) => isNamed(one, words, cwd));
  const here = named.filter(({ status }) => status?.folder === cwd);
  const wanted = words === undefined || here.length === 0 ? named : here;
  const ended = await Promise.all(wanted.map((one) => one.stop()));
  const stopped = wanted.filter((_, place) => ended[place]).map(({ id, status }) => ({ id, name: status?.names[0] }));
  print({ stopped }, () =>
    stopped.length === 0
      ? "nothing was kept"
      : stopped.map(({ id, name }) => `stopped ${oneLine(name ?? id)}`).join("\n"),
  );
  if (stopped.length === wanted.length) return undefined;
  say("a background process does not answer, and cannot be ended");
  return 1;
}
