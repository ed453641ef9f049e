import { type Dialect, type DialectName, dialectOf, findServers, isEntry } from "./dialects.ts";
import type { ConfigEnvironment } from "./environment.ts";
import { readUserVariables } from "./inputs.ts";
import { objectTree, type ParsedConfig, type RawServer, toParsed } from "./parse-config.ts";
import { type ConfigProblem, invalidConfig, type SourceLocation } from "./problem.ts";
import { readServer } from "./read-server.ts";
import { type ResolvedServer, resolveServer } from "./resolve-server.ts";
import type { ServerEntry, ServerOrigin } from "./server-entry.ts";
import { kindOf, type ObjectNode } from "./tree.ts";
import { createVariables, type VariablesOptions } from "./variables.ts";

/** Servers, ready to be connected to. */
export interface Config {
  /** Those that can be used, also if they are switched off. In the order of the files; each name is there once. */
  readonly servers: readonly ServerEntry[];
  readonly problems: readonly ConfigProblem[];
  /** Every file that has an influence on the configuration. */
  readonly files: readonly ConfigFile[];
  /** Where every server was said, also those that cannot be used. */
  readonly origins: readonly ServerOrigin[];
}

export interface ConfigFile {
  readonly path: string;
  /** `value` was read for a variable. It may be missing. */
  readonly kind: "config" | "value";
  readonly dialect?: DialectName | undefined;
}

/**
 * Resolves variables in configurations, and merges them.
 *
 * Pass them from the general to the particular: of servers with the same name the last one replaces the others as a
 * whole. A server with an error is left out and reported in `problems`; the others can be used. Every input is asked
 * for once, and only for enabled servers.
 */
export async function resolveConfig(
  parsed: readonly ParsedConfig[],
  environment: ConfigEnvironment = {},
): Promise<Config> {
  const files = new Map<string, ConfigFile>();
  for (const { path, dialect } of parsed) files.set(path, { path, kind: "config", dialect });
  const onFile = (path: string): void => {
    if (!files.has(path)) files.set(path, { path, kind: "value" });
  };
  const shared = { environment, onFile, answers: new Map() };
  const resolved: ResolvedServer[] = [];
  for (const winner of winners(parsed, environment)) {
    resolved.push(await resolveWinner(winner, shared));
  }
  return {
    servers: resolved.flatMap(({ entry }) => entry ?? []),
    problems: [...parsed.flatMap(({ problems }) => problems), ...resolved.flatMap(({ problems }) => problems)],
    files: [...files.values()],
    origins: resolved.map(({ origin }) => origin),
  };
}

interface Winner {
  readonly server: RawServer;
  readonly config: ParsedConfig;
  readonly replaces: readonly SourceLocation[];
}

/** The last server of every name, in the order of the first occurrences. */
function winners(parsed: readonly ParsedConfig[], { workspaceFolder }: ConfigEnvironment): Iterable<Winner> {
  const byName = new Map<string, Winner>();
  for (const config of parsed) {
    const folder = workspaceFolder ?? config.folder;
    for (const server of config.servers) {
      if (server.folder !== undefined && server.folder !== folder) continue;
      const other = byName.get(server.name);
      const replaces = other === undefined ? [] : [...other.replaces, other.server.at];
      byName.set(server.name, { server, config, replaces });
    }
  }
  return byName.values();
}

async function resolveWinner(
  { server, config, replaces }: Winner,
  shared: Pick<VariablesOptions, "environment" | "onFile" | "answers">,
): Promise<ResolvedServer> {
  const own = server.value.kind === "object" ? readUserVariables(server.value) : [];
  const inputs = new Map([...config.inputs, ...own]);
  const { lenient = false, workspaceFolder = config.folder } = shared.environment;
  const variables = createVariables({ path: config.path, folder: workspaceFolder, inputs, ...shared });
  return resolveServer(readServer(server, config), { variables, lenient, replaces });
}

interface ParseObjectOptions {
  /** What messages call it. Default: `config`. */
  readonly path?: string | undefined;
  /** Default: found out from what is in it. */
  readonly dialect?: DialectName | undefined;
}

/**
 * Reads a configuration that is given in code: what a file would have, or just
 * servers by their names. Throws `invalid-config`.
 */
export function parseConfigObject(object: object, options: ParseObjectOptions = {}): ParsedConfig {
  const { path = "config", dialect } = options;
  const tree = objectTree(object, { path });
  if (tree.kind !== "object") throw invalidConfig({ path }, `an object is expected, not ${kindOf(tree)}`);
  const given = dialect === undefined ? undefined : dialectOf(dialect);
  return toParsed(path, tree, isPlain(tree) ? plain(tree, given) : findServers(tree, path, given));
}

/** The servers of an object: `configOf({ mcpServers: { … } })` or `configOf({ shop: { command: "shop" } })`. */
export async function configFromObject(object: object, environment: ConfigEnvironment = {}): Promise<Config> {
  return resolveConfig([parseConfigObject(object)], environment);
}

/** Whether the members are servers themselves. A server may have a name that files use for something else. */
function isPlain(tree: ObjectNode): boolean {
  return [...tree.members.values()].some(({ value }) => value.kind === "object" && isEntry(value));
}

function plain(tree: ObjectNode, dialect: Dialect = dialectOf("generic")): ReturnType<typeof findServers> {
  return { dialect, servers: tree, path: [], unread: [] };
}
