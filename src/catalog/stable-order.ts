import type { CatalogTool } from "./catalog-tool.ts";

/**
 * The same tools in an order that does not depend on the one they came in, so
 * that prompts begin alike and stay cached.
 *
 * Servers stand as in `servers`, those that are not in it after them by name;
 * the tools of one stand by name. Names are compared by their code units. A tool
 * that comes or goes leaves the others in their order.
 */
export function inStableOrder(tools: readonly CatalogTool[], servers: readonly string[] = []): readonly CatalogTool[] {
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
