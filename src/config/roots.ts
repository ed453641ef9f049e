import { type Dialect, dialectOf, dialectOfPath, dialectOfRoot, type Root } from "./dialect.ts";
import type { Place } from "./place.ts";
import { invalidConfig, shownName } from "./problem.ts";
import { type ConfigNode, kindOf, type ObjectNode, objectIn } from "./tree.ts";

/** What a file says, as far as servers are concerned. */
export interface Found {
  readonly dialect: Dialect;
  /** Absent when a file of settings says nothing of servers. */
  readonly servers?: ObjectNode;
  /** The names of what the servers are in, from the outside. */
  readonly path?: readonly string[];
  /** What `${input:id}` stands for is defined in here. */
  readonly around?: ObjectNode;
  /** Other places for servers that were not read. */
  readonly unread: readonly { readonly root: string; readonly at: Place }[];
}

const known: readonly Root[] = [
  "mcpServers",
  "servers",
  "mcp_servers",
  "context_servers",
  "mcp.servers",
  "mcp",
  "extensions",
];

/** Finds the servers of a file. Throws `invalid-config` when nothing in it is understood. */
export function findServers(tree: ConfigNode, path: string, given: Dialect | undefined): Found {
  const dialect = given ?? dialectOfPath(path);
  if (tree.kind === "nothing") return { dialect: dialect ?? dialectOf("generic"), unread: [] };
  if (tree.kind !== "object") throw invalidConfig(tree.at, `an object with servers is expected, not ${kindOf(tree)}`);
  const settings = dialect?.settings?.test(path.replaceAll("\\", "/")) ?? false;
  const [root, ...others] = rootsIn(tree, dialect, settings);
  if (root === undefined) {
    if (settings || tree.members.size === 0) return { dialect: dialect ?? dialectOf("generic"), unread: [] };
    throw nothingIn(tree);
  }
  const found = serversAt(tree, root);
  return {
    ...found,
    dialect: dialect ?? (found.nested ? nestedDialect(tree) : dialectOf(dialectOfRoot[root])),
    unread: others.flatMap((other) => unreadAt(tree, other)),
  };
}

/** The places for servers that a file has, the one to read first. */
function rootsIn(tree: ObjectNode, dialect: Dialect | undefined, settings: boolean): readonly Root[] {
  const own = dialect?.roots ?? [];
  const roots = settings ? own : [...new Set([...own, ...known])];
  return roots.filter((root) => {
    const value = tree.members.get(root)?.value;
    // In the settings of VS Code, `mcp` has more than servers in it.
    if (root === "mcp" && dialect?.name === "vscode") return value?.kind === "object" && value.members.has("servers");
    return value !== undefined;
  });
}

interface FoundAt extends Required<Pick<Found, "servers" | "around" | "path">> {
  readonly nested: boolean;
}

function serversAt(tree: ObjectNode, root: Root): FoundAt {
  const member = tree.members.get(root);
  if (member?.value.kind !== "object") {
    const at = member?.value.at ?? tree.at;
    throw invalidConfig(at, `${root} must be an object that has servers by their names`);
  }
  const inner = root === "mcp" ? objectIn(member.value, "servers") : undefined;
  if (inner === undefined || isEntry(inner))
    return { servers: member.value, around: tree, path: [root], nested: false };
  return { servers: inner, around: member.value, path: [root, "servers"], nested: true };
}

/** `mcp: { servers }` is in the settings of VS Code, and in newer files of opencode. */
function nestedDialect(tree: ObjectNode): Dialect {
  const schema = tree.members.get("$schema")?.value;
  return dialectOf(schema?.kind === "text" && schema.text.includes("opencode") ? "opencode" : "vscode");
}

/** `mcp` has other settings in many files; only what looks like servers is worth a word. */
function unreadAt(tree: ObjectNode, root: Root): Found["unread"] {
  const member = tree.members.get(root);
  if (member?.value.kind !== "object") return [];
  const entries = [...member.value.members.values()].filter(({ value }) => value.kind === "object" && isEntry(value));
  return entries.length === 0 ? [] : [{ root, at: member.at }];
}

/** Whether an object describes one server, rather than many. */
export function isEntry(node: ObjectNode): boolean {
  return ["command", "cmd", "url", "httpUrl", "serverUrl", "uri", "type"].some((field) => {
    const kind = node.members.get(field)?.value.kind;
    return kind === "text" || kind === "array";
  });
}

function nothingIn(tree: ObjectNode): Error {
  const keys = [...tree.members.keys()];
  const shown = keys.slice(0, maxShown).map(shownName).join(", ");
  const more = keys.length > maxShown ? ` and ${keys.length - maxShown} more` : "";
  return invalidConfig(
    tree.at,
    `there are no servers in it: it has ${shown}${more}; understood is ${known.join(", ")}`,
  );
}

const maxShown = 8;
