import { isObject, type JsonObject } from "../json/json.ts";
import type { CallToolResult, Tool } from "../protocol/tool.ts";
import {
  type Catalog,
  callTool,
  createCatalog,
  listTools,
  type MetaTool,
  problem,
  searchTools,
  showTools,
  type ToolCaller,
  unknownTool,
} from "./meta-tools.ts";
import { type CatalogTool, toFullName } from "./sort-tools.ts";
import { tokensWithServer } from "./tokens.ts";

/** How many tools are in the prompt of a model, and when. */
export interface SelectionPolicy {
  /**
   * - `all`: every tool, from the start.
   * - `groups`: the servers; the tools of one when the model opens it.
   * - `search`: those that fit best when the model asks for some.
   * - `auto`: `all` when that takes no more than `maxTokens`, else `search`.
   */
  readonly kind: "all" | "groups" | "search" | "auto";
  /** For `auto`. Default 10,000. */
  readonly maxTokens?: number | undefined;
  /** How many tokens the definitions in one answer may take; what has no room is named. Default 8,000. */
  readonly maxAnswerTokens?: number | undefined;
  /** The order of the servers. See `sortTools`. */
  readonly servers?: readonly string[] | undefined;
  /** One line of description for each server, for `groups`. A server without one is described by some of its tools. */
  readonly summaries?: Readonly<Record<string, string>> | undefined;
}

/** The tools in the prompt of one conversation, and the function that runs the calls of the model. */
export interface ToolSelection {
  readonly kind: "all" | "groups" | "search";
  /** Definitions for the prompt, under their full names. They do not change during a conversation. */
  readonly tools: readonly Tool[];
  /**
   * Runs what the model called: one of `tools`, or a tool it was shown since. A
   * mistake of the model is a result with `isError` that says what to do. Rejects
   * only when `call` does.
   */
  run(name: string, args: JsonObject, call: ToolCaller): Promise<CallToolResult>;
}

/**
 * Selects the tools of a prompt by a policy. Equal tools and policies give equal texts, so that prompts stay cached.
 */
export function selectTools(
  tools: readonly CatalogTool[],
  policy: SelectionPolicy | SelectionPolicy["kind"],
): ToolSelection {
  const { kind: wanted, maxTokens = 10_000, maxAnswerTokens = 8000, servers, summaries } = toPolicy(policy);
  const catalog = createCatalog(tools, servers);
  const kind = wanted === "auto" ? fitting(catalog, maxTokens) : wanted;
  const shown = new Set<string>();
  const show = (some: readonly CatalogTool[]) => {
    const answer = showTools(some, maxAnswerTokens);
    for (const tool of answer.whole) shown.add(toFullName(tool));
    return answer;
  };

  if (kind === "all") {
    const named = catalog.tools.map((item) => ({ ...item.tool, name: toFullName(item) }));
    return { kind, tools: named, run: runner(catalog, [], (name) => catalog.find(name) !== undefined) };
  }
  const finder = kind === "groups" ? listTools(catalog, show, summaries) : searchTools(catalog, show);
  const metaTools = [finder, callTool(catalog, finder.tool.name)];
  return {
    kind,
    tools: metaTools.map(({ tool }) => tool),
    run: runner(catalog, metaTools, (name) => shown.has(name)),
  };
}

function toPolicy(policy: SelectionPolicy | SelectionPolicy["kind"]): SelectionPolicy {
  return typeof policy === "string" ? { kind: policy } : policy;
}

function fitting({ tools }: Catalog, maxTokens: number): "all" | "search" {
  let tokens = 0;
  for (const tool of tools) {
    tokens += tokensWithServer(tool);
    if (tokens > maxTokens) return "search";
  }
  return "all";
}

/**
 * A call of a tool whose definition the model has not seen returns the definition first, because its arguments are
 * guesses.
 */
function runner(catalog: Catalog, metaTools: readonly MetaTool[], isShown: (name: string) => boolean) {
  const [finder] = metaTools;
  return async (name: string, args: JsonObject, call: ToolCaller): Promise<CallToolResult> => {
    const meta = metaTools.find(({ tool }) => tool.name === name);
    if (meta !== undefined) return meta.run(args, call);
    if (catalog.find(name) === undefined) return unknownTool(catalog, name, finder?.tool.name);
    if (isShown(name))
      return isObject(args) ? call(name, args) : problem(`The arguments of ${name} must be an object.`);
    return problem(`You have not seen the definition of ${name} yet. Get it with ${finder?.tool.name} first.`);
  };
}
