import type { GatewayStatus } from "./status.ts";

/** Figures of the servers of a gateway, as Prometheus reads them. */
export function formatUpstreamMetrics({ servers }: Pick<GatewayStatus, "servers">, prefix = "mcp_gateway_"): string {
  const gauge = (name: string, help: string, figureOf: (server: GatewayStatus["servers"][number]) => number): string =>
    [
      `# HELP ${prefix}${name} ${help}`,
      `# TYPE ${prefix}${name} gauge`,
      ...servers.map((server) => `${prefix}${name}{server="${escapeLabel(server.name)}"} ${figureOf(server)}`),
      "",
    ].join("\n");
  return [
    gauge("server_up", "1 while a server can be called", (server) => (isUp(server) ? 1 : 0)),
    gauge("server_paused", "1 while calls to a server are refused because it did not answer", (server) =>
      server.pausedMs === undefined ? 0 : 1,
    ),
    gauge(
      "caller_connections",
      "Connections that single callers have to a server",
      (server) => server.callerConnections,
    ),
  ].join("");
}

function isUp({ state }: GatewayStatus["servers"][number]): boolean {
  return state === "ready" || state === "idle";
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
