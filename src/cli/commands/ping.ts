import { type Command, defineCommand } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { formatTable } from "../values/table.ts";

export const command: Command = defineCommand({
  name: "ping",
  usage: ["<target>", "-- <command>"],
  description:
    "Connects to a server and asks whether it is there. Shows what it says of itself, and how long both took.",
  target: "one",
  options: { count: { type: "number", short: "n", value: "n", meaning: "how often to ask; default 1" } },
  examples: [
    { line: "plugbay ping https://example.com/mcp", does: "is it there?" },
    { line: "plugbay ping shop -n 5 --json", does: "five times, as JSON" },
  ],
  async run(context) {
    const { signal } = context;
    const { count = 1 } = context.options;
    if (!Number.isInteger(count) || count < 1 || count > maxCount)
      throw new UsageError(`--count takes a number from 1 to ${maxCount}, not ${count}`);
    const start = performance.now();
    const { client } = await context.openTarget();
    const connectMs = since(start);
    const pingMs: number[] = [];
    for (let asked = 0; asked < count; asked++) {
      const before = performance.now();
      await client.ping({ signal });
      pingMs.push(since(before));
    }
    const { serverInfo, capabilities } = client.server;
    const { revision } = client;
    context.print({ server: serverInfo, revision, capabilities, connectMs, pingMs }, () =>
      formatTable([
        ["server", `${oneLine(serverInfo.title ?? serverInfo.name)} ${oneLine(serverInfo.version)}`],
        ["revision", revision],
        [
          "offers",
          Object.keys(capabilities)
            .map((name) => oneLine(name))
            .join(", "),
        ],
        ["connect", `${connectMs} ms`],
        ["ping", pingMs.map((ms) => `${ms} ms`).join(", ")],
      ]),
    );
    return undefined;
  },
});

const maxCount = 1000;

function since(start: number): number {
  return Math.round((performance.now() - start) * 10) / 10;
}
