import type { Tool } from "../model/tool.ts";

/** A tool of one of many servers. */
export interface CatalogTool {
  /** The host's name of the server. It has no `:`. */
  readonly server: string;
  readonly tool: Tool;
}

/** The name of a tool among those of all servers: `shop:buy`. */
export function fullNameOf({ server, tool }: CatalogTool): string {
  return `${server}:${tool.name}`;
}
