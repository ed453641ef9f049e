import { type CatalogTool, compareUnits } from "./sort-tools.ts";
import { tokensIn, tokensOf } from "./tokens.ts";

/** What tools take of a prompt, in tokens. */
export interface Meter {
  readonly tokens: number;
  /** The dearest first. */
  readonly servers: readonly ServerMeter[];
}

export interface ServerMeter {
  readonly server: string;
  readonly tokens: number;
  /** The dearest first. */
  readonly tools: readonly ToolMeter[];
}

export interface ToolMeter {
  readonly name: string;
  readonly tokens: number;
}

/** Estimates what tools take of a prompt when all of them are in it, by their full names. See {@link tokensOf}. */
export function meter(tools: readonly CatalogTool[]): Meter {
  const byServer = new Map<string, ToolMeter[]>();
  for (const item of tools) {
    const list = byServer.get(item.server) ?? [];
    byServer.set(item.server, list);
    list.push({ name: item.tool.name, tokens: tokensWithServer(item) });
  }
  const servers = [...byServer].map(([server, list]) => ({
    server,
    tokens: sumOf(list),
    tools: list.sort((a, b) => b.tokens - a.tokens || compareUnits(a.name, b.name)),
  }));
  servers.sort((a, b) => b.tokens - a.tokens || compareUnits(a.server, b.server));
  return { tokens: sumOf(servers), servers };
}

/** What one tool takes under its full name. */
export function tokensWithServer({ server, tool }: CatalogTool): number {
  return tokensIn(`${server}:`) + tokensOf(tool);
}

function sumOf(items: readonly { readonly tokens: number }[]): number {
  return items.reduce((sum, { tokens }) => sum + tokens, 0);
}
