import type { Host } from "../host/host.ts";
import type { ServerStatus } from "../host/status.ts";
import type { CallerConnections } from "./caller-connections.ts";
import type { CircuitBreakers } from "./circuit-breaker.ts";

/** How a gateway stands, as plain data without secrets. */
export interface GatewayStatus {
  readonly name: string;
  readonly version: string;
  /** True when a server that should be there is not, or calls to one are refused. */
  readonly isDegraded: boolean;
  readonly servers: readonly GatewayServerStatus[];
}

/** How one server of a gateway stands. */
export interface GatewayServerStatus extends ServerStatus {
  /** Connections that single callers have to it. */
  readonly callerConnections: number;
  /** For how long calls are refused, because it has not answered the last ones. */
  readonly pausedMs?: number;
}

interface StatusParts {
  readonly host: Pick<Host, "info" | "servers">;
  readonly connections: Pick<CallerConnections, "counts"> | undefined;
  readonly breakers: Pick<CircuitBreakers, "pausedMs">;
}

export function statusOf({ host, connections, breakers }: StatusParts): GatewayStatus {
  const counts = connections?.counts();
  const servers = host.servers().map((server): GatewayServerStatus => {
    const pausedMs = breakers.pausedMs(server.name);
    const callerConnections = counts?.get(server.name) ?? 0;
    return { ...server, callerConnections, ...(pausedMs !== undefined && { pausedMs }) };
  });
  const { name, version } = host.info;
  return { name, version, isDegraded: servers.some(isBroken), servers };
}

/** A server that is not used at the moment is well; one that is switched off is meant to be. */
function isBroken({ state, failures, pausedMs }: GatewayServerStatus): boolean {
  return state === "down" || state === "needs-auth" || failures !== undefined || pausedMs !== undefined;
}
