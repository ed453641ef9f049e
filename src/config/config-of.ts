import { type Dialect, type DialectName, dialectOf } from "./dialect.ts";
import { type ParsedConfig, toParsed } from "./parse-config.ts";
import { objectTree } from "./parse-object.ts";
import { invalidConfig } from "./problem.ts";
import { type Config, resolveConfig } from "./resolve-config.ts";
import { findServers, isEntry } from "./roots.ts";
import type { Surroundings } from "./surroundings.ts";
import { kindOf, type ObjectNode } from "./tree.ts";

export interface ParseObjectOptions {
  /** What messages call it. Default: `config`. */
  readonly path?: string;
  /** Default: found out from what is in it. */
  readonly dialect?: DialectName;
}

/**
 * Reads a configuration that is given in code: what a file would have, or just
 * servers by their names. Throws `invalid-config`.
 */
export function parseObject(object: object, options: ParseObjectOptions = {}): ParsedConfig {
  const { path = "config", dialect } = options;
  const tree = objectTree(object, { path });
  if (tree.kind !== "object") throw invalidConfig({ path }, `an object is expected, not ${kindOf(tree)}`);
  const given = dialect === undefined ? undefined : dialectOf(dialect);
  return toParsed(path, tree, isPlain(tree) ? plain(tree, given) : findServers(tree, path, given));
}

/** The servers of an object: `configOf({ mcpServers: { … } })` or `configOf({ shop: { command: "shop" } })`. */
export async function configOf(object: object, surroundings: Surroundings = {}): Promise<Config> {
  return resolveConfig([parseObject(object)], surroundings);
}

/** Whether the members are servers themselves. A server may have a name that files use for something else. */
function isPlain(tree: ObjectNode): boolean {
  return [...tree.members.values()].some(({ value }) => value.kind === "object" && isEntry(value));
}

function plain(tree: ObjectNode, dialect: Dialect = dialectOf("generic")): ReturnType<typeof findServers> {
  return { dialect, servers: tree, path: [], unread: [] };
}
