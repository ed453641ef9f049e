import { type DialectName, dialectOf, type Found, findServers } from "./dialects.ts";
import { type ConfigInput, readInputs } from "./inputs.ts";
import { parseJsonTree } from "./parse-json.ts";
import { parseTomlTree } from "./parse-toml.ts";
import { parseYamlTree } from "./parse-yaml.ts";
import { type ConfigProblem, invalidConfig, type Locate, locator, type SourceLocation } from "./problem.ts";
import {
  addMember,
  type Budget,
  type ConfigNode,
  createBudget,
  limits,
  type Member,
  type ObjectNode,
  objectIn,
} from "./tree.ts";

export interface ParseConfigOptions {
  /** The path of the file: it decides the format and the dialect, and is named in every message. */
  readonly path: string;
  /** Whose file it is. Default: found out from the path, else from what is in it. */
  readonly dialect?: DialectName | undefined;
}

/** What one file says, before variables are put in. For `resolveConfig`. */
export interface ParsedConfig {
  readonly path: string;
  /** The folder of the project it is for, where the path does not tell. */
  readonly folder?: string;
  readonly dialect: DialectName;
  /** The root of the servers in the file, such as `["mcpServers"]`, also when there are none. */
  readonly root: readonly string[];
  readonly servers: readonly RawServer[];
  /** What `${input:id}` stands for, by id. */
  readonly inputs: ReadonlyMap<string, ConfigInput>;
  readonly problems: readonly ConfigProblem[];
}

/** A server as its file has it. */
export interface RawServer {
  readonly name: string;
  readonly at: SourceLocation;
  readonly value: ConfigNode;
  /** Only for work in this folder. */
  readonly folder?: string;
  /** Where it is switched off outside of its own entry. */
  readonly off?: SourceLocation;
}

/**
 * Parses the text of a configuration file: JSON with comments, TOML or YAML, in the dialect of any application. Rejects
 * with `invalid-config` when the file is invalid as a whole; the message begins with `path:line:column`.
 */
export async function parseConfig(text: string, options: ParseConfigOptions): Promise<ParsedConfig> {
  const { path, dialect } = options;
  const plain = text.startsWith("\ufeff") ? text.slice(1) : text;
  const format = formatOf(path, plain);
  const maxLength = format === "yaml" ? limits.maxYamlLength : limits.maxTextLength;
  if (plain.length > maxLength) throw invalidConfig({ path }, `the file is longer than ${maxLength} characters`);
  const tree = await parsers[format](plain, locator(path, plain));
  const found = findServers(tree, path, dialect === undefined ? undefined : dialectOf(dialect));
  return toParsed(path, tree, found);
}

/** The parsers are loaded when the first file of their kind is read. */
const parsers: { readonly [F in ConfigFormat]: (text: string, locate: Locate) => Promise<ConfigNode> } = {
  json: parseJsonTree,
  toml: parseTomlTree,
  yaml: parseYamlTree,
};

/** The servers that were found in a tree. Throws `invalid-config` when there are too many. */
export function toParsed(path: string, tree: ConfigNode, found: Found): ParsedConfig {
  const servers = [...serversIn(found.servers), ...projectServers(tree)];
  if (servers.length > limits.maxServers)
    throw invalidConfig(tree.at, `there are more than ${limits.maxServers} servers`);
  const off = switchedOff(tree, found);
  const problems = found.unread.map(({ root, at }): ConfigProblem => {
    return { level: "warning", place: at, field: root, message: `the servers in ${root} are not read` };
  });
  return {
    path,
    dialect: found.dialect.name,
    root: found.path ?? [found.dialect.roots[0] ?? "mcpServers"],
    servers: servers.map((server) => ({ ...server, ...off(server.name) })),
    inputs: readInputs(found.around?.members.get("inputs")?.value),
    problems,
  };
}

function serversIn(node: ObjectNode | undefined): readonly RawServer[] {
  return [...(node?.members ?? [])].map(([name, { at, value }]) => ({ name, at, value }));
}

/** Claude Code stores servers of single folders in its own file: `projects: { "/folder": { mcpServers } }`. */
function projectServers(tree: ConfigNode): readonly RawServer[] {
  const projects = tree.kind === "object" ? objectIn(tree, "projects") : undefined;
  return [...(projects?.members ?? [])].flatMap(([folder, { value }]) => {
    const servers = value.kind === "object" ? objectIn(value, "mcpServers") : undefined;
    return serversIn(servers).map((server) => ({ ...server, folder }));
  });
}

/** Gemini CLI switches servers off by lists beside them: `mcp: { allowed, excluded }`. */
function switchedOff(tree: ConfigNode, found: Found): (name: string) => Pick<RawServer, "off"> {
  const lists = found.dialect.name === "gemini" && tree.kind === "object" ? objectIn(tree, "mcp") : undefined;
  const allowed = lists?.members.get("allowed")?.value;
  const excluded = lists?.members.get("excluded")?.value;
  return (name) => {
    if (excluded?.kind === "array" && has(excluded.items, name)) return { off: excluded.at };
    if (allowed?.kind === "array" && !has(allowed.items, name)) return { off: allowed.at };
    return {};
  };
}

function has(items: readonly ConfigNode[], name: string): boolean {
  return items.some((item) => item.kind === "text" && item.text === name);
}

/** A value of a program as a tree. What is not JSON is refused by `invalid-config`; a member that is undefined is absent. */
export function objectTree(value: unknown, at: SourceLocation): ConfigNode {
  return toNode(value, { at, budget: createBudget() }, 0);
}

interface Source {
  readonly at: SourceLocation;
  readonly budget: Budget;
}

function toNode(value: unknown, source: Source, depth: number): ConfigNode {
  const { at } = source;
  source.budget.take(depth, at);
  switch (typeof value) {
    case "string":
      return { kind: "text", at, text: value };
    case "number":
      return { kind: "number", at, value, text: String(value) };
    case "boolean":
      return { kind: "flag", at, value };
    case "object":
      if (value === null) return { kind: "nothing", at };
      if (Array.isArray(value))
        return { kind: "array", at, items: value.map((item) => toNode(item, source, depth + 1)) };
      return { kind: "object", at, members: membersOf(Object.entries(value), source, depth + 1) };
    default:
      throw invalidConfig(at, `a ${typeof value} cannot be part of a configuration`);
  }
}

function membersOf(
  entries: readonly (readonly [string, unknown])[],
  source: Source,
  depth: number,
): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>();
  for (const [name, value] of entries) {
    if (value !== undefined) addMember(members, name, { at: source.at, value: toNode(value, source, depth) });
  }
  return members;
}

/** How a configuration file is written. */
export type ConfigFormat = "json" | "toml" | "yaml";

/** The format of a file: by its extension, else by how its text begins. JSON may have comments. */
export function formatOf(path: string, text: string): ConfigFormat {
  const extension = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return extensions.get(extension) ?? formatOfText(text);
}

const extensions: ReadonlyMap<string, ConfigFormat> = new Map([
  ["json", "json"],
  ["jsonc", "json"],
  ["json5", "json"],
  ["toml", "toml"],
  ["yaml", "yaml"],
  ["yml", "yaml"],
]);

function formatOfText(text: string): ConfigFormat {
  const start = text.replace(/^(?:\s|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/, "");
  if (start.startsWith("{")) return "json";
  return /^(?:\[|[\w.-]+[ \t]*=)/.test(start) ? "toml" : "yaml";
}
