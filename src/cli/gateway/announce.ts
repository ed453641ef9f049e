import type { CommandContext } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { formatTable } from "../values/table.ts";
import type { GatewaySources } from "./gateway-sources.ts";
import type { RunningGateway } from "./run-gateway.ts";

/** Says where a gateway is, which servers it has, how to plug in a client, and what to do next. */
export async function announce(
  { gateway, serving, adminUrl }: RunningGateway,
  { from, isDemo }: GatewaySources,
  context: CommandContext,
): Promise<void> {
  const { url } = serving;
  const tools = await gateway.listTools();
  const counts = new Map<string, number>();
  for (const { server } of tools) counts.set(server, (counts.get(server) ?? 0) + 1);
  const servers = gateway.status().servers.map(({ name, state, reason }) => ({
    name,
    state,
    tools: counts.get(name) ?? 0,
    ...(reason && { reason: reason.message }),
  }));
  const example = tools[0]?.alias;
  context.print(
    { url, pid: process.pid, ...(adminUrl !== undefined && { statusUrl: `${adminUrl}status` }), servers },
    () =>
      [
        `${context.style.bold("plugbay gateway")} on ${context.style.cyan(url)} (Ctrl-C ends it)`,
        `servers of ${from}:\n${indented(formatServers(servers, context))}`,
        `Plug it into a client, by its configuration file:\n${indented(JSON.stringify(entry(url), null, 2))}`,
        `Next:\n${indented(formatTable(nextSteps(url, { isDemo, example, adminUrl }), context.columns))}`,
      ].join("\n\n"),
  );
}

interface ListedServer {
  readonly name: string;
  readonly state: string;
  readonly tools: number;
  readonly reason?: string;
}

function formatServers(servers: readonly ListedServer[], { style, columns }: CommandContext): string {
  if (servers.length === 0) return "none: the file has no servers";
  const rows = servers.map(({ name, state, tools, reason }) => [
    style.cyan(oneLine(name)),
    state === "ready" ? style.green(state) : style.yellow(state),
    `${tools} tools`,
    oneLine(reason ?? ""),
  ]);
  return formatTable(rows, columns);
}

function entry(url: string): object {
  return { mcpServers: { plugbay: { type: "http", url } } };
}

interface NextStepsOptions {
  readonly isDemo: boolean;
  readonly example: string | undefined;
  readonly adminUrl: string | undefined;
}

function nextSteps(url: string, { isDemo, example, adminUrl }: NextStepsOptions): readonly (readonly string[])[] {
  return [
    [`plugbay tools ${url}`, "what there is"],
    ...(example === undefined ? [] : [[`plugbay call ${url} ${example}`, "call a tool"]]),
    ...(adminUrl === undefined ? [] : [[`curl ${adminUrl}status`, "how the servers stand; /metrics for Prometheus"]]),
    isDemo
      ? ["plugbay gateway mcp.json", "your own servers, in place of this demo; plugbay --help shows all commands"]
      : ["plugbay gateway --help", "sign-in, a store for several processes, workers"],
  ];
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}
