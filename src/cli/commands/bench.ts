import { systemClock } from "../../std/clock.ts";
import { type BenchResult, runBench } from "../bench/run-bench.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { findNamed } from "../values/find-named.ts";
import { formatTable } from "../values/table.ts";
import { missingArguments, readToolArguments } from "../values/tool-arguments.ts";

export const command: Command = defineCommand({
  name: "bench",
  usage: ["<target> <tool> [key=value …]", "<server:tool> [key=value …]", "<tool> [key=value …] -- <command>"],
  description:
    "Calls a tool again and again over one connection, and says how long calls took. It ends after --duration, or after\n" +
    "--count calls, whichever comes first. The tool really is called: choose one that may be. The exit code is 1 when a call\n" +
    "has failed. Percentiles are right to within one percent.",
  target: "one",
  hasOwnConnection: true,
  maxArguments: 1000,
  options: {
    concurrency: {
      type: "number",
      short: "n",
      value: "n",
      meaning: "calls at the same time; default 10, at most 1000",
    },
    duration: { type: "duration", short: "d", value: "time", meaning: "how long; default 5s, at most 10m" },
    count: { type: "number", value: "n", meaning: "how many calls; default as many as the time allows" },
    args: { type: "text", value: "file", meaning: "arguments as a JSON object in a file; - is stdin" },
  },
  examples: [
    { line: "plugbay bench shop articles", does: "ten at a time, for five seconds" },
    { line: "plugbay bench https://example.com/mcp buy sku=A1 -n 50 -d 30s --json", does: "more of them, as JSON" },
  ],
  async run(context) {
    const { options, signal, live } = context;
    const bounds = readBounds(options);
    const { client, tool: named } = await context.openTarget({ connect: {} });
    const [tool, ...words] = named === undefined ? context.args : [named, ...context.args];
    if (tool === undefined) throw new UsageError("plugbay bench needs a tool", "see them with: plugbay tools");
    const { inputSchema } = findNamed(tool, await client.listTools({ signal }), "tool");
    const input = await readToolArguments({ words, file: options.args }, inputSchema, context);
    const missing = missingArguments(inputSchema, input);
    if (missing.length > 0) throw new UsageError(`the tool needs ${missing.join(", ")}`, "write key=value");
    let shownAt = 0;
    const result = await runBench(client, {
      ...bounds,
      tool,
      input,
      clock: systemClock,
      signal,
      onCall(count, elapsedMs) {
        if (!live.isLive || elapsedMs - shownAt < 100) return;
        shownAt = elapsedMs;
        live.show(`${count} calls, ${(elapsedMs / 1000).toFixed(1)} s`);
      },
    });
    print(result, { ...bounds, tool }, context);
    return result.failures.size > 0 ? 1 : undefined;
  },
});

interface Bounds {
  readonly concurrency: number;
  readonly maxCalls: number;
  readonly maxMs: number;
}

function readBounds(options: {
  readonly concurrency?: number | undefined;
  readonly duration?: number | undefined;
  readonly count?: number | undefined;
}): Bounds {
  const { concurrency = 10, count = 10_000_000 } = options;
  const maxMs = options.duration ?? (options.count === undefined ? 5_000 : 600_000);
  if (!(Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 1000))
    throw new UsageError("--concurrency is a number from 1 to 1000");
  if (!(Number.isInteger(count) && count >= 1 && count <= 10_000_000))
    throw new UsageError("--count is a number from 1 to 10000000");
  if (!(maxMs > 0 && maxMs <= 600_000)) throw new UsageError("--duration is more than 0 and at most 10m");
  return { concurrency, maxCalls: count, maxMs };
}

function print(
  { latencies, elapsedMs, failures, firstFailure }: BenchResult,
  { tool, concurrency }: Bounds & { readonly tool: string },
  context: CommandContext,
): void {
  const { count, meanMs, minMs, maxMs } = latencies;
  const failed = [...failures.values()].reduce((sum, one) => sum + one, 0);
  const perSecond = round(elapsedMs === 0 ? 0 : (count / elapsedMs) * 1000);
  const [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map((part) => round(latencies.percentile(part)));
  const latencyMs = { min: round(minMs), mean: round(meanMs), p50, p90, p99, p999, max: round(maxMs) };
  const value = { tool, concurrency, calls: count, failed, failures: Object.fromEntries(failures) };
  context.print(
    {
      ...value,
      ...(firstFailure !== undefined && { firstFailure }),
      elapsedMs: round(elapsedMs),
      perSecond,
      latencyMs,
    },
    () => {
      const codes = [...failures].map(([code, times]) => `${times} x ${code}`).join(", ");
      return formatTable([
        ["calls", `${count} in ${(elapsedMs / 1000).toFixed(2)} s, ${concurrency} at a time`],
        ["throughput", `${perSecond} calls/s`],
        ...Object.entries(latencyMs).map(([name, ms]) => [name, `${ms} ms`]),
        ...(failed === 0 ? [] : [["failed", `${failed}: ${codes}; the first: ${oneLine(firstFailure ?? "")}`]]),
      ]);
    },
  );
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
