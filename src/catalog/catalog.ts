import { type CatalogTool, fullNameOf, inStableOrder } from "./sort-tools.ts";
import { createToolIndex, type Hit, nearestTo } from "./tool-index.ts";

/** The tools of all servers, each under its full name. */
export interface Catalog {
  /** In stable order, each name once: the first that has it. */
  readonly tools: readonly CatalogTool[];
  readonly servers: readonly string[];
  find(name: string): CatalogTool | undefined;
  search(query: string, limit: number): readonly Hit[];
  /** Names that somebody may have meant who used one that is unknown. */
  suggest(name: string): readonly string[];
}

export function createCatalog(given: readonly CatalogTool[], order: readonly string[] = []): Catalog {
  const byName = new Map<string, CatalogTool>();
  for (const tool of inStableOrder(given, order)) {
    const name = fullNameOf(tool);
    if (!byName.has(name)) byName.set(name, tool);
  }
  const tools = [...byName.values()];
  /** Made when it is first needed. */
  let index: ReturnType<typeof createToolIndex> | undefined;
  const search = (query: string, limit: number): readonly Hit[] => {
    index ??= createToolIndex(tools);
    return index.search(query, { limit });
  };

  return {
    tools,
    servers: [...new Set(tools.map(({ server }) => server))],
    find: (name) => byName.get(name),
    search,
    suggest(name) {
      const near = nearestTo(name, [...byName.keys()]);
      return near.length > 0 ? near : search(name, 3).map((hit) => hit.name);
    },
  };
}
