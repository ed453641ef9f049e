import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { CallToolResult, Tool } from "../protocol/tool.ts";
import { type CatalogTool, sortTools, toFullName } from "./sort-tools.ts";
import { oneLine, tokensWithServer } from "./tokens.ts";
import { createToolIndex, nearestTo, type ToolHit } from "./tool-index.ts";

/** Runs a tool by its full name, `server:tool`. */
export type ToolCaller = (name: string, args: JsonObject) => Promise<CallToolResult>;

/** A tool about tools. */
export interface MetaTool {
  readonly tool: Tool;
  run(args: JsonObject, call: ToolCaller): Promise<CallToolResult>;
}

function answer(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

/** What the model did wrong, and what to do about it. */
export function problem(text: string): CallToolResult {
  return { ...answer(text), isError: true };
}

/** The model used a name that does not exist. */
export function unknownTool(catalog: Catalog, name: string, finder?: string): CallToolResult {
  const others = finder === undefined ? "" : ` Find tools with ${finder}.`;
  return problem(`There is no tool ${quoted(name)}.${hintOf(catalog.suggest(name))}${others}`);
}

function hintOf(near: readonly string[]): string {
  return near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : "";
}

/** A text of the model, quoted in an error message for it. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

/** What a value is, where another was expected. */
function kindOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** `call_tool`: runs a tool that is not in the prompt. Without a catalog, `call` itself rejects unknown names. */
export function callTool(catalog: Catalog | undefined, finder: string): MetaTool {
  return {
    tool: {
      name: "call_tool",
      description: `Calls a tool that ${finder} has shown. Its arguments must fit its inputSchema.`,
      inputSchema: {
        type: "object",
        properties: {
          name: { type: "string", description: `The name of the tool as ${finder} gave it.` },
          arguments: { type: "object", description: "The arguments of that tool." },
        },
        required: ["name"],
      },
    },
    async run(args, call) {
      if (!isObject(args) || typeof args.name !== "string") {
        return problem(`call_tool needs "name", the name of a tool as ${finder} gave it.`);
      }
      const { name, arguments: input = {}, ...others } = args;
      if (name === finder || name === "call_tool") return problem(`Call ${name} itself, not through call_tool.`);
      if (catalog !== undefined && catalog.find(name) === undefined) return unknownTool(catalog, name, finder);
      if (!isObject(input)) return problem(`"arguments" of call_tool must be an object, not ${kindOf(input)}.`);
      const [stray] = Object.keys(others);
      if (stray !== undefined) return problem(`Put ${quoted(stray)} into "arguments": call_tool has no such argument.`);
      return call(name, input);
    },
  };
}

/** Maximum number of groups in the description, and of example tools for a group without a summary. */
const MAX_GROUPS = 100;
const MAX_EXAMPLES = 5;
/** Maximum number of definitions in one request. */
const MAX_LISTED = 50;

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
            maxItems: MAX_LISTED,
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
      const wanted = names.slice(0, MAX_LISTED).map((name) => [name, findIn(tools, name)] as const);
      const [unknown] = wanted.find(([, tool]) => tool === undefined) ?? [];
      if (unknown !== undefined) return unknownName(tools, group, unknown);
      return opened(show(wanted.flatMap(([, tool]) => tool ?? [])));
    },
  };
}

function opened({ text, shortened }: ShownTools): CallToolResult {
  const advice = shortened > 0 ? ' Ask for definitions that are not there with "names".' : "";
  return answer(`Run one of these with call_tool.${advice}\n${text}`);
}

function isNames(names: Json): names is readonly string[] {
  return Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === "string");
}

/** A tool of a group, by its full name or by its own. */
function findIn(tools: readonly CatalogTool[], name: string): CatalogTool | undefined {
  return tools.find((item) => toFullName(item) === name) ?? tools.find(({ tool }) => tool.name === name);
}

function unknownName(tools: readonly CatalogTool[], group: string, name: string): CallToolResult {
  return problem(`Group ${group} has no tool ${quoted(name)}.${hintOf(nearestTo(name, tools.map(toFullName)))}`);
}

function unknownGroup({ servers }: Catalog, group: string): CallToolResult {
  const near = nearestTo(group, servers);
  const hint = near.length > 0 ? hintOf(near) : ` The groups are: ${servers.slice(0, MAX_GROUPS).join(", ")}.`;
  return problem(`There is no group ${quoted(group)}.${hint}`);
}

/** One line for each group. */
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

const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 20;
/** Maximum number of servers that the description names. */
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
      const advice =
        shortened > 0 ? " Search for the name of one that is not shown in full to see its definition." : "";
      return answer(`Run one of these with call_tool.${advice}\n${text}`);
    },
  };
}

function serversOf({ servers }: Catalog): string {
  const named = servers.slice(0, MAX_SERVERS).join(", ");
  return servers.length > MAX_SERVERS ? `${named} and ${servers.length - MAX_SERVERS} more` : named || "none";
}

/** Tools as a model reads them. */
interface ShownTools {
  /** One line for each tool: its definition as JSON, or its name and the beginning of its description. */
  readonly text: string;
  /** The tools whose definition is there as a whole. */
  readonly whole: readonly CatalogTool[];
  /** How many are there by name only, or not at all. */
  readonly shortened: number;
}

/** Maximum number of tools that one answer lists by name when their definitions do not fit. */
const MAX_NAMES = 200;

/**
 * Writes the definitions of tools while they fit in `maxTokens`, but always the first one, and the names of the others.
 * The same tools give the same text.
 */
export function showTools(tools: readonly CatalogTool[], maxTokens: number): ShownTools {
  const whole: CatalogTool[] = [];
  let tokens = 0;
  for (const tool of tools) {
    tokens += tokensWithServer(tool);
    if (whole.length > 0 && tokens > maxTokens) break;
    whole.push(tool);
  }
  const rest = tools.slice(whole.length);
  const named = rest.slice(0, MAX_NAMES);
  const lines = [...whole.map(definitionOf), ...named.map(briefly)];
  if (rest.length > named.length) lines.push(`and ${rest.length - named.length} more`);
  return { text: lines.join("\n"), whole, shortened: rest.length };
}

function definitionOf(item: CatalogTool): string {
  const { description, inputSchema } = item.tool;
  return JSON.stringify({ name: toFullName(item), description, inputSchema });
}

function briefly(item: CatalogTool): string {
  const { title, description = title ?? "" } = item.tool;
  const about = oneLine(description);
  return about === "" ? toFullName(item) : `${toFullName(item)}: ${about}`;
}

/** The tools of all servers, each under its full name. */
export interface Catalog {
  /** In stable order, each name once: the first that has it. */
  readonly tools: readonly CatalogTool[];
  readonly servers: readonly string[];
  find(name: string): CatalogTool | undefined;
  search(query: string, limit: number): readonly ToolHit[];
  /** Known names that are similar to an unknown one. */
  suggest(name: string): readonly string[];
}

export function createCatalog(given: readonly CatalogTool[], order: readonly string[] = []): Catalog {
  const byName = new Map<string, CatalogTool>();
  for (const tool of sortTools(given, order)) {
    const name = toFullName(tool);
    if (!byName.has(name)) byName.set(name, tool);
  }
  const tools = [...byName.values()];
  /** Created on first use. */
  let index: ReturnType<typeof createToolIndex> | undefined;
  const search = (query: string, limit: number): readonly ToolHit[] => {
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
