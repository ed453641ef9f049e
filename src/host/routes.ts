import { McpError } from "../model/errors.ts";
import type { HostTool } from "./host-tool.ts";
import { splitName } from "./names.ts";
import type { Seat } from "./seat.ts";

/** Where calls of a tool go. */
export interface Route {
  readonly seat: Seat;
  /** What the server itself calls the tool. */
  readonly localName: string;
  /** True once it is known that anybody may call it without being asked. */
  isClear: boolean;
  /** The tool, once it is known. */
  tool: HostTool | undefined;
}

export interface Routes {
  /** Throws `invalid-params` when the name leads nowhere; `data.reason` says why. */
  find(name: string): Route;
  /** The server. Throws `invalid-params` when there is none of the name. */
  seat(server: string): Seat;
  /** Forgets what is known of tools: something has changed. */
  forget(): void;
}

/** More than any host has: names that nobody has heard of are not kept for ever. */
const maxRoutes = 20_000;

export function createRoutes(seats: ReadonlyMap<string, Seat>): Routes {
  let routes = new Map<string, Route>();

  const seat = (server: string): Seat => {
    const found = seats.get(server);
    if (found !== undefined) return found;
    const names = [...seats.keys()].join(", ") || "none";
    throw lost("unknown-server", `there is no server ${JSON.stringify(server)}; there are: ${names}`);
  };

  const byAlias = (alias: string): HostTool | undefined => {
    for (const { tools } of seats.values()) {
      const found = tools.last.find((tool) => tool.alias === alias);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  /** An alias has no separator, so one look tells which of the two a name is. */
  const look = (name: string): Route => {
    const parts = splitName(name);
    if (parts !== undefined) return toRoute(seat(parts.server), parts.name);
    const tool = byAlias(name);
    if (tool !== undefined) return toRoute(seat(tool.server), tool.localName);
    throw lost("no-separator", `${JSON.stringify(name)} names no server: tools of a host are called server:tool`);
  };

  return {
    find(name) {
      const known = routes.get(name);
      if (known !== undefined) return known;
      const found = look(name);
      if (routes.size >= maxRoutes) routes = new Map();
      routes.set(name, found);
      return found;
    },
    seat,
    forget() {
      routes = new Map();
    },
  };
}

function toRoute(seat: Seat, localName: string): Route {
  return { seat, localName, isClear: false, tool: undefined };
}

function lost(reason: string, message: string): McpError {
  return new McpError("invalid-params", message, { data: { reason } });
}
