import { callTool, createCatalog, problem, searchTools, showTools } from "../catalog/meta-tools.ts";
import type { CatalogTool } from "../catalog/sort-tools.ts";
import { tokensWithServer } from "../catalog/tokens.ts";
import { createListMemo } from "../host/list-pages.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { type Failure, McpError } from "../protocol/errors.ts";
import type { Result } from "../protocol/methods.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import {
  type Call,
  type CallOf,
  type Middleware,
  type OutcomeOf,
  type Service,
  withCall,
  withMethod,
} from "../protocol/service.ts";
import type { CallToolResult, Tool } from "../protocol/tool.ts";
import { defined } from "../std/defined.ts";

/** How the tools of a view are searched for. */
export interface ViewSearch {
  /** `auto` lists the tools themselves while their definitions take no more than `maxTokens`. Default `always`. */
  readonly when?: "always" | "auto" | undefined;
  /** Default 10,000. */
  readonly maxTokens?: number | undefined;
  /** How many tokens the definitions in one answer may take; what has no room is named. Default 8,000. */
  readonly maxAnswerTokens?: number | undefined;
}

const searchOptionNames: OptionNames<ViewSearch> = { when: true, maxTokens: true, maxAnswerTokens: true };

type SearchOption = boolean | "auto" | ViewSearch | undefined;

/** Throws `invalid-definition` for what says nothing about searching. `owner` is the view. */
export function checkSearch(search: SearchOption, owner: string): void {
  if (search === undefined || typeof search === "boolean" || search === "auto") return;
  const isSettings = typeof search === "object" && search !== null;
  if (isSettings) checkOptionNames(`search of ${owner}`, search, searchOptionNames);
  if (isSettings && [undefined, "always", "auto"].includes(search.when)) return;
  const message = `search of ${owner} must be true, false, "auto", or an object whose when is "always" or "auto"`;
  throw new McpError("invalid-definition", message, { data: { member: "search" } });
}

/** The settings of a view that has tools to be searched for. Undefined for any other. */
export function toSearch(search: SearchOption): ViewSearch | undefined {
  if (search === undefined || search === false) return undefined;
  if (typeof search === "object") return search;
  return { when: search === "auto" ? "auto" : "always" };
}

/**
 * Lists two tools in place of many: one that searches them, and one that calls what was found. What is called is called as
 * if by its own name: it asks, reports and is cancelled in the same way.
 *
 * `servers` are those whose tools there are, for the description.
 */
export function toolSearch(settings: ViewSearch, servers: () => readonly string[]): Middleware {
  const { when = "always", maxTokens = 10_000, maxAnswerTokens = 8_000 } = settings;
  const read = createListMemo((tools: readonly Tool[]) =>
    createSearchable(tools.filter(isForModels), servers(), maxAnswerTokens),
  );
  const readAll = (pages: readonly ToolPage[]): Searchable => read(pages.flatMap((page) => page.tools));
  const isSearched = ({ tokens }: Searchable): boolean => when === "always" || tokens > maxTokens;

  const list = async (call: CallOf<"tools/list">, next: Service): Promise<OutcomeOf<"tools/list">> => {
    if (call.params.cursor !== undefined) return next(call);
    const all = await readPages(call, next);
    if (!all.ok) return all.outcome;
    const [first = { tools: [] }, ...others] = all.pages;
    const searchable = readAll(all.pages);
    if (!isSearched(searchable)) return { kind: "complete", result: first };
    // What is said of searching names servers: it is good for as long as their lists are.
    const { ttlMs, cacheScope } = others.at(-1) ?? first;
    return { kind: "complete", result: { ...searchable.page, ...defined({ ttlMs, cacheScope }) } };
  };

  const search = async (call: CallOf<"tools/call">, next: Service): Promise<OutcomeOf<"tools/call">> => {
    const all = await readPages(withMethod(call, listing(call)), next);
    if (!all.ok) return all.outcome as OutcomeOf<"tools/call">;
    const searchable = readAll(all.pages);
    if (!isSearched(searchable)) return next(call);
    return { kind: "complete", result: await searchable.search(call.params.arguments ?? {}) };
  };

  return (next) => async (call: Call) => {
    if (call.method === "tools/list") return list(call, next);
    if (call.method !== "tools/call") return next(call);
    if (call.params.name === finder) return search(call, next);
    return call.params.name === caller.tool.name ? callFound(call, next) : next(call);
  };
}

type ToolPage = Result<"tools/list">;

const finder = "search_tools";
/** Whoever is called judges the name: nobody has to look into lists for that. */
const caller = callTool(undefined, finder);

/** The parameters of a call that lists tools for whoever made another call. */
function listing({ peer }: CallOf): Parameters<typeof withMethod<"tools/list">>[1] {
  return { method: "tools/list", params: {}, peer, tasks: undefined };
}

type ReadPages =
  | { readonly ok: true; readonly pages: readonly ToolPage[] }
  | { readonly ok: false; readonly outcome: OutcomeOf<"tools/list"> };

const maxPages = 1_000;

async function readPages(call: CallOf<"tools/list">, next: Service): Promise<ReadPages> {
  const pages: ToolPage[] = [];
  let cursor: string | undefined;
  do {
    const outcome = await next(withCall(call, { params: cursor === undefined ? {} : { cursor } }));
    if (outcome.kind !== "complete") return { ok: false, outcome };
    pages.push(outcome.result);
    cursor = outcome.result.nextCursor;
  } while (cursor !== undefined && pages.length < maxPages);
  return { ok: true, pages };
}

/** Some tools are there only for the user interface of another one. */
function isForModels({ _meta: meta }: Tool): boolean {
  const visibility = isObject(meta?.ui) ? meta.ui.visibility : undefined;
  return !Array.isArray(visibility) || visibility.includes("model");
}

/** Tools that can be searched for. */
interface Searchable {
  /** What the definitions of all take. */
  readonly tokens: number;
  /** What is listed in their place. */
  readonly page: ToolPage;
  search(args: JsonObject): Promise<CallToolResult>;
}

function createSearchable(tools: readonly Tool[], servers: readonly string[], maxAnswerTokens: number): Searchable {
  const all = tools.map((tool): CatalogTool => ({ server: "", tool }));
  const catalog = { ...createCatalog(all), servers };
  const found = searchTools(catalog, (some) => showTools(some, maxAnswerTokens));
  return {
    tokens: all.reduce((sum, tool) => sum + tokensWithServer(tool), 0),
    page: Object.freeze({ tools: [found.tool, caller.tool] }),
    search: (args) => found.run(args, () => Promise.reject(new TypeError("searching calls no tool"))),
  };
}

/** Calls the tool that the arguments name. A mistake in them is a result that says what to do. */
async function callFound(call: CallOf<"tools/call">, next: Service): Promise<OutcomeOf<"tools/call">> {
  let outcome: OutcomeOf<"tools/call"> | undefined;
  const result = await caller.run(call.params.arguments ?? {}, async (name, args) => {
    outcome = await next(withCall(call, { params: { ...call.params, name, arguments: args } }));
    return outcome.kind === "complete" ? outcome.result : { content: [] };
  });
  if (outcome?.kind !== "failed") return outcome ?? { kind: "complete", result };
  return isUnknown(outcome.failure) ? { kind: "complete", result: wrongName(outcome.failure) } : outcome;
}

const unknownReasons: readonly Json[] = ["unknown-tool", "unknown-server", "ambiguous-tool"];

function isUnknown({ data }: Failure): boolean {
  return isObject(data) && unknownReasons.includes(data.reason ?? null);
}

function wrongName({ message }: Failure): CallToolResult {
  return problem(`${message}. Find tools with ${finder}.`);
}
