import { qualify } from "../host/host-tool.ts";
import type { HostView } from "../host/host-view.ts";
import { McpError } from "../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import { toMatcher } from "../std/glob.ts";
import { checkSearch, type ViewSearch } from "./tool-search.ts";

/** What of a list is in a view. */
export interface ViewFilter {
  /** Globs. Absent means all. */
  readonly allow?: readonly string[] | undefined;
  /** Globs. Wins over `allow`. */
  readonly deny?: readonly string[] | undefined;
}

/** A part of a gateway that is served at a path of its own. */
export interface GatewayView {
  /** Names of servers, and globs. Default: all servers. */
  readonly servers?: readonly string[] | undefined;
  /** The tools by globs on what their servers call them; one with `:` is on `server:tool`. Default: all. */
  readonly tools?: ViewFilter | undefined;
  /** The prompts, in the same way. Default: all. */
  readonly prompts?: ViewFilter | undefined;
  /** The resources by globs on their URIs. What a tool of the view shows is there unless it is denied. Default: all. */
  readonly resources?: ViewFilter | undefined;
  /**
   * Whether tools and prompts have the name of their server in front. Default: `false` where `servers` is one name, else
   * `true`. Without, those that would have the same name have it all the same.
   */
  readonly prefix?: boolean | undefined;
  /** New names of tools, by `server:tool` or by what their servers call them. Default: none. */
  readonly rename?: Readonly<Record<string, string>> | undefined;
  /** What models are told of tools, by `server:tool` or by what their servers call them. Default: what servers say. */
  readonly describe?: Readonly<Record<string, string>> | undefined;
  /** What models are told of the view. Default: what its servers say. */
  readonly instructions?: string | undefined;
  /**
   * Whether `search_tools` and `call_tool` are listed in place of the tools: `"auto"` when their definitions take more than
   * 10,000 tokens. Default `false`.
   */
  readonly search?: boolean | "auto" | ViewSearch | undefined;
}

const viewOptionNames: OptionNames<GatewayView> = {
  servers: true,
  tools: true,
  prompts: true,
  resources: true,
  prefix: true,
  rename: true,
  describe: true,
  instructions: true,
  search: true,
};

const filterNames: OptionNames<ViewFilter> = { allow: true, deny: true };

/** Throws `invalid-definition` for views that cannot be served. */
export function checkViews(views: Readonly<Record<string, GatewayView>>): void {
  for (const [name, view] of Object.entries(views)) {
    const owner = `view ${JSON.stringify(name)} of openGateway`;
    const problem = nameProblem(name);
    if (problem !== undefined) throw invalid(name, `the name of ${owner} ${problem}`);
    if (typeof view !== "object" || view === null) throw invalid(name, `${owner} must be an object`);
    checkOptionNames(owner, view, viewOptionNames);
    for (const list of ["tools", "prompts", "resources"] as const)
      checkOptionNames(`${list} of ${owner}`, view[list] ?? {}, filterNames);
    checkNewNames(name, view, owner);
    checkSearch(view.search, owner);
  }
}

/** A view is a step of a path. */
function nameProblem(name: string): string | undefined {
  if (name === "" || name === "." || name === "..") return "is no step of a path";
  if (name.includes("/") || /\p{Cc}/u.test(name)) return "must not have slashes or control characters";
  return name.length > 128 ? "is longer than 128 characters" : undefined;
}

function checkNewNames(view: string, { rename = {} }: GatewayView, owner: string): void {
  const names = Object.values(rename);
  const bad = names.find((name) => !/^[A-Za-z0-9_.-]{1,128}$/.test(name));
  if (bad !== undefined)
    throw invalid(view, `rename of ${owner} has the name ${JSON.stringify(bad)}; use 1 to 128 of A-Z a-z 0-9 _ . -`);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw invalid(view, `rename of ${owner} gives the name ${JSON.stringify(twice)} twice`);
}

function invalid(view: string, message: string): McpError {
  return new McpError("invalid-definition", message, { data: { member: `views.${view}` } });
}

/** The view of a single server: everything that it has, by its own names. */
export function serverView(server: string): HostView {
  return { ...toHostView(server, {}), isPrefixed: false, only: server, hasServer: (name) => name === server };
}

export function toHostView(name: string, view: GatewayView): HostView {
  const { servers, tools, prompts, resources, instructions } = view;
  const [first = "", ...others] = servers ?? [];
  const isOne = servers !== undefined && others.length === 0 && !/[*?]/.test(first);
  const { prefix = !isOne } = view;
  const renamed = createByTool(view.rename);
  const described = createByTool(view.describe);
  const isResourceDenied = toMatcher(resources?.deny ?? []);
  const isResourceAllowed = resources?.allow === undefined ? () => true : toMatcher(resources.allow);
  return {
    name,
    isPrefixed: prefix,
    only: isOne && !prefix ? first : undefined,
    instructions,
    hasServer: servers === undefined ? () => true : toMatcher(servers),
    hasTool: createFilter(tools),
    hasPrompt: createFilter(prompts),
    hasResource: (uri, isOfTool) => !isResourceDenied(uri) && (isOfTool || isResourceAllowed(uri)),
    renamed,
    originals: (to) =>
      Object.entries(view.rename ?? {}).flatMap(([from, name]) =>
        name === to && (!from.includes(":") || from.startsWith(`${first}:`)) ? [from.slice(from.indexOf(":") + 1)] : [],
      ),
    described,
  };
}

/** What is said of tools by their full names, or by what their servers call them. */
function createByTool(given: Readonly<Record<string, string>> = {}) {
  const table = new Map(Object.entries(given));
  return (server: string, localName: string): string | undefined =>
    table.size === 0 ? undefined : (table.get(qualify(server, localName)) ?? table.get(localName));
}

function createFilter({ allow, deny = [] }: ViewFilter = {}): (server: string, localName: string) => boolean {
  const isAllowed = allow === undefined ? () => true : createMatcher(allow);
  const isDenied = createMatcher(deny);
  return (server, localName) => !isDenied(server, localName) && isAllowed(server, localName);
}

/** Globs with a separator are on full names, others on what servers call their things. */
function createMatcher(globs: readonly string[]): (server: string, localName: string) => boolean {
  const isFull = toMatcher(globs.filter((glob) => glob.includes(":")));
  const isLocal = toMatcher(globs.filter((glob) => !glob.includes(":")));
  return (server, localName) => isLocal(localName) || isFull(qualify(server, localName));
}
