import { isObject } from "../json/json.ts";
import type { Catalog } from "./catalog.ts";
import type { CatalogTool } from "./catalog-tool.ts";
import { answer, kindOf, type MetaTool, problem, quoted } from "./meta-tool.ts";
import type { ShownTools } from "./show-tools.ts";

const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 20;
/** So many servers are named in the description. */
const MAX_SERVERS = 100;

/** `search_tools`: shows the tools that fit a query best. */
export function searchTools(catalog: Catalog, show: (tools: readonly CatalogTool[]) => ShownTools): MetaTool {
  const servers = serversOf(catalog);
  return {
    tool: {
      name: "search_tools",
      description: `Finds tools by what they do, and shows their definitions. Run them with call_tool. The tools are of these servers: ${servers}.`,
      inputSchema: {
        type: "object",
        properties: {
          query: { type: "string", description: 'What the tool should do, in a few words, such as "create invoice".' },
          limit: {
            type: "integer",
            minimum: 1,
            maximum: MAX_LIMIT,
            description: `How many. Default ${DEFAULT_LIMIT}.`,
          },
        },
        required: ["query"],
      },
      annotations: { readOnlyHint: true },
    },
    async run(args) {
      const { query, limit = DEFAULT_LIMIT } = isObject(args) ? args : {};
      if (typeof query !== "string" || query.trim() === "") {
        return problem('search_tools needs "query", some words about what the tool should do.');
      }
      if (typeof limit !== "number")
        return problem(`"limit" must be a number from 1 to ${MAX_LIMIT}, not ${kindOf(limit)}.`);
      const hits = catalog.search(query, Math.min(MAX_LIMIT, Math.max(1, Math.floor(limit))));
      if (hits.length === 0)
        return answer(`No tool fits ${quoted(query)}. Try other words. The servers are: ${servers}.`);
      const { text, shortened } = show(hits);
      const more = shortened > 0 ? " Search for the name of one that is not shown in full to see its definition." : "";
      return answer(`Run one of these with call_tool.${more}\n${text}`);
    },
  };
}

function serversOf({ servers }: Catalog): string {
  const named = servers.slice(0, MAX_SERVERS).join(", ");
  return servers.length > MAX_SERVERS ? `${named} and ${servers.length - MAX_SERVERS} more` : named || "none";
}
