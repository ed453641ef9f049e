import type { Tool } from "../protocol/tool.ts";

/**
 * Sorts tools so that their order does not depend on the order of the input, and prompts keep a cacheable prefix.
 *
 * Servers are sorted as in `servers`, the others after them by name; the tools of one server are sorted by name. Names
 * are compared by code units. Adding or removing a tool does not change the order of the others.
 */
export function sortTools(tools: readonly CatalogTool[], servers: readonly string[] = []): readonly CatalogTool[] {
  const places = new Map(servers.map((server, place) => [server, place]));
  const placeOf = (server: string): number => places.get(server) ?? servers.length;
  return tools.toSorted(
    (a, b) =>
      placeOf(a.server) - placeOf(b.server) ||
      compareUnits(a.server, b.server) ||
      compareUnits(a.tool.name, b.tool.name),
  );
}

/** Compares texts by their code units: the same everywhere, in every language. */
export function compareUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A tool of one of many servers. */
export interface CatalogTool {
  /** The host's name of the server. It has no `:`. Empty where there is one server only. */
  readonly server: string;
  readonly tool: Tool;
}

/** The name of a tool among those of all servers: `shop:buy`. */
export function toFullName({ server, tool }: CatalogTool): string {
  return server === "" ? tool.name : `${server}:${tool.name}`;
}

/** A tool that a model may use; of a host, with the server it is from. */
export interface SourceTool extends Tool {
  readonly server?: string;
  /** What its server calls it. */
  readonly localName?: string;
}

/** Prepares tools for the catalog: to be measured, searched or selected. */
export function toCatalogTools(tools: readonly SourceTool[]): readonly CatalogTool[] {
  return tools.map(({ server = "", localName, ...rest }) => {
    // The alias of a host is not a part of the tool definition.
    const { alias: _, ...tool } = rest as typeof rest & { readonly alias?: string };
    return { server, tool: { ...tool, name: localName ?? tool.name } };
  });
}
