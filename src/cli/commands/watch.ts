import type { Change } from "../../protocol/subscription.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";

export const command: Command = defineCommand({
  name: "watch",
  usage: ["<target> [uri]", "[uri] -- <command>"],
  description:
    "Tells when the lists of a server change, or a resource does, until Ctrl-C. Each change is one line; with --json one JSON\n" +
    "object a line. --count ends it after so many.",
  target: "one",
  maxArguments: 1,
  endsByInterrupt: true,
  options: {
    count: { type: "number", short: "n", value: "n", meaning: "end after so many changes" },
    read: { type: "flag", meaning: "read the resource whenever it changes" },
  },
  examples: [
    { line: "plugbay watch shop", does: "changes of all lists that the server announces" },
    { line: "plugbay watch shop stock://A1 --read --json", does: "a resource whenever it changes" },
  ],
  async run(context) {
    const { args, options, signal } = context;
    const [uri] = args;
    const { client } = await context.openTarget();
    const watch = uri === undefined ? client.changes({}, { signal }) : client.watch(uri, { signal });
    await watch.ready;
    if (!context.json) context.say(context.style.dim("watching; Ctrl-C ends it"));
    let left = options.count ?? Number.POSITIVE_INFINITY;
    for await (const change of watch) {
      const contents =
        uri !== undefined && options.read ? await client.readResource(uri, { signal, fresh: true }) : undefined;
      context.printEach({ ...change, ...contents }, () => formatChange(change, contents, context));
      if (--left <= 0) break;
    }
    return undefined;
  },
});

function formatChange(
  change: Change | { readonly uri: string },
  contents: { readonly contents: readonly object[] } | undefined,
  { style }: CommandContext,
): string {
  const what =
    "kind" in change && change.kind !== "resource" ? change.kind : "uri" in change ? oneLine(change.uri, 1000) : "";
  const now = style.dim(new Date().toISOString().slice(11, 19));
  const read = contents?.contents.map((one) => ("text" in one ? String(one.text) : "(data)")).join("\n");
  return `${now} ${what} changed${read === undefined ? "" : `: ${oneLine(read, 1000)}`}`;
}
