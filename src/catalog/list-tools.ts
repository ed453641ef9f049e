import { isObject, type Json } from "../json/json.ts";
import type { CallToolResult } from "../model/tool.ts";
import type { Catalog } from "./catalog.ts";
import { type CatalogTool, fullNameOf } from "./catalog-tool.ts";
import { answer, hintOf, type MetaTool, problem, quoted } from "./meta-tool.ts";
import { nearestTo } from "./nearest.ts";
import { oneLine } from "./one-line.ts";
import type { ShownTools } from "./show-tools.ts";

/** So many groups are in the description, and so many tools stand for one that says nothing of itself. */
const MAX_GROUPS = 100;
const MAX_EXAMPLES = 5;
/** So many definitions can be asked for at once. */
const MAX_NAMES = 50;

/** `list_tools`: opens a group, which is a server, and shows its tools. */
export function listTools(
  catalog: Catalog,
  show: (tools: readonly CatalogTool[]) => ShownTools,
  summaries: Readonly<Record<string, string>> = {},
): MetaTool {
  const groups = groupsOf(catalog, summaries);
  return {
    tool: {
      name: "list_tools",
      description: `Opens a group of tools and shows their definitions. Run them with call_tool. The groups are:\n${groups}`,
      inputSchema: {
        type: "object",
        properties: {
          group: { type: "string", description: "The group to open." },
          names: {
            type: "array",
            items: { type: "string" },
            maxItems: MAX_NAMES,
            description:
              "Only these of its tools. For large groups, of which the answer names some without definition.",
          },
        },
        required: ["group"],
      },
      annotations: { readOnlyHint: true },
    },
    async run(args) {
      const { group, names } = isObject(args) ? args : {};
      if (typeof group !== "string") return problem(`list_tools needs "group". The groups are:\n${groups}`);
      if (!catalog.servers.includes(group)) return unknownGroup(catalog, group);
      const tools = catalog.tools.filter(({ server }) => server === group);
      if (names === undefined) return opened(show(tools));
      if (!isNames(names)) return problem('"names" must be a list of names of tools, or absent.');
      const wanted = names.slice(0, MAX_NAMES).map((name) => [name, findIn(tools, name)] as const);
      const [unknown] = wanted.find(([, tool]) => tool === undefined) ?? [];
      if (unknown !== undefined) return unknownName(tools, group, unknown);
      return opened(show(wanted.flatMap(([, tool]) => tool ?? [])));
    },
  };
}

function opened({ text, shortened }: ShownTools): CallToolResult {
  const more = shortened > 0 ? ' Ask for definitions that are not there with "names".' : "";
  return answer(`Run one of these with call_tool.${more}\n${text}`);
}

function isNames(names: Json): names is readonly string[] {
  return Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === "string");
}

/** A tool of a group, by its full name or by its own. */
function findIn(tools: readonly CatalogTool[], name: string): CatalogTool | undefined {
  return tools.find((item) => fullNameOf(item) === name) ?? tools.find(({ tool }) => tool.name === name);
}

function unknownName(tools: readonly CatalogTool[], group: string, name: string): CallToolResult {
  return problem(`Group ${group} has no tool ${quoted(name)}.${hintOf(nearestTo(name, tools.map(fullNameOf)))}`);
}

function unknownGroup({ servers }: Catalog, group: string): CallToolResult {
  const near = nearestTo(group, servers);
  const hint = near.length > 0 ? hintOf(near) : ` The groups are: ${servers.slice(0, MAX_GROUPS).join(", ")}.`;
  return problem(`There is no group ${quoted(group)}.${hint}`);
}

/** A line a group. */
function groupsOf({ tools, servers }: Catalog, summaries: Readonly<Record<string, string>>): string {
  const examples = new Map<string, string[]>();
  for (const { server, tool } of tools) {
    const names = examples.get(server) ?? [];
    examples.set(server, names);
    if (names.length <= MAX_EXAMPLES) names.push(oneLine(tool.name));
  }
  const lines = servers.slice(0, MAX_GROUPS).map((server) => {
    const summary = Object.hasOwn(summaries, server) ? oneLine(summaries[server] ?? "") : "";
    return `- ${server}: ${summary === "" ? exampleText(examples.get(server) ?? []) : summary}`;
  });
  return [...lines, ...(servers.length > MAX_GROUPS ? [`and ${servers.length - MAX_GROUPS} more`] : [])].join("\n");
}

function exampleText(names: readonly string[]): string {
  const some = names.slice(0, MAX_EXAMPLES).join(", ");
  return names.length > MAX_EXAMPLES ? `${some} and more` : some;
}
