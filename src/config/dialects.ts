import { invalidConfig, type SourceLocation, shownName } from "./problem.ts";
import { type ConfigNode, kindOf, type ObjectNode, objectIn } from "./tree.ts";

/**
 * The applications whose configuration files are supported. `generic` is an `mcpServers` file of no particular
 * application.
 */
export type DialectName =
  | "generic"
  | "claude-code"
  | "claude-desktop"
  | "cline"
  | "codex"
  | "copilot"
  | "cursor"
  | "gemini"
  | "goose"
  | "inspector"
  | "jetbrains"
  | "kiro"
  | "librechat"
  | "mcp-cli"
  | "opencode"
  | "roo"
  | "vscode"
  | "windsurf"
  | "zed";

/** Where servers can be in a file. */
type Root = "mcpServers" | "servers" | "mcp_servers" | "context_servers" | "mcp" | "mcp.servers" | "extensions";

/**
 * How variables are written:
 * - `braces`: `${VAR}` and `${VAR:-default}`
 * - `editor`: `${env:VAR}`, `${input:id}`, `${workspaceFolder}`, `${userHome}` and their like
 * - `file`: `${file:path}`
 * - `dollar`: `$VAR`
 * - `curly`: `{env:VAR}` and `{file:path}`
 * - `mustache`: `{{NAME}}`, which each user fills in
 */
export type VariableSyntax = "braces" | "editor" | "file" | "dollar" | "curly" | "mustache";

/** What is particular about the files of one program. */
export interface Dialect {
  readonly name: DialectName;
  /** What people call the program. */
  readonly app: string;
  /** Fits the paths of its files, written with forward slashes. */
  readonly files: RegExp;
  /** Where servers are; the first that is there counts. */
  readonly roots: readonly Root[];
  /** Matches the paths of files that also contain other settings, and need not have servers. */
  readonly settings?: RegExp;
  readonly variables: readonly VariableSyntax[];
  /** What the field `timeout` limits, and in which unit it is. Default: a call, in milliseconds. */
  readonly timeout?: { readonly limits: "call" | "connect"; readonly unitMs: number };
  /** An empty list of allowed tools allows all of them. */
  readonly emptyAllowsAll?: true;
}

const anyPath = /^/;
const seconds = { limits: "call", unitMs: 1_000 } as const;

const table: { readonly [N in DialectName]: Omit<Dialect, "name"> } = {
  generic: { app: "mcp.json", files: /$^/, roots: ["mcpServers"], variables: ["braces", "editor"] },
  "claude-code": {
    app: "Claude Code",
    files: /(?:^|\/)\.(?:mcp|claude)\.json$/,
    roots: ["mcpServers"],
    settings: /\.claude\.json$/,
    variables: ["braces"],
  },
  "claude-desktop": {
    app: "Claude Desktop",
    files: /(?:^|\/)claude_desktop_config\.json$/,
    roots: ["mcpServers"],
    settings: anyPath,
    variables: [],
  },
  cline: {
    app: "Cline",
    files: /(?:^|\/)cline_mcp_settings\.json$/,
    roots: ["mcpServers"],
    variables: ["editor"],
    timeout: seconds,
  },
  codex: {
    app: "Codex",
    files: /(?:^|\/)\.?codex\/[\w.-]*config\.toml$/,
    roots: ["mcp_servers"],
    settings: anyPath,
    variables: [],
  },
  copilot: {
    app: "Copilot CLI",
    files: /(?:^|\/)(?:\.copilot\/mcp-config|\.github\/mcp)\.json$/,
    roots: ["mcpServers"],
    variables: ["braces", "editor"],
  },
  cursor: { app: "Cursor", files: /(?:^|\/)\.cursor\/mcp\.json$/, roots: ["mcpServers"], variables: ["editor"] },
  gemini: {
    app: "Gemini CLI",
    files: /(?:^|\/)\.?gemini(?:-cli)?\/settings\.json$/,
    roots: ["mcpServers"],
    settings: anyPath,
    variables: ["braces", "dollar"],
  },
  goose: {
    app: "Goose",
    files: /(?:^|\/)goose\/(?:config\/)?config\.yaml$/,
    roots: ["extensions"],
    settings: anyPath,
    variables: ["braces"],
    timeout: seconds,
    emptyAllowsAll: true,
  },
  inspector: { app: "Inspector", files: /(?:^|\/)\.mcp-inspector\/\w+\.json$/, roots: ["mcpServers"], variables: [] },
  jetbrains: {
    app: "JetBrains",
    files: /(?:^|\/)(?:\.idea|\.junie\/mcp)\/mcp\.json$/,
    roots: ["mcpServers"],
    variables: ["braces", "editor"],
  },
  kiro: {
    app: "Kiro",
    files: /(?:^|\/)\.kiro\/settings\/mcp\.json$/,
    roots: ["mcpServers"],
    variables: ["braces", "editor"],
  },
  librechat: {
    app: "LibreChat",
    files: /(?:^|\/)librechat[\w.-]*\.ya?ml$/,
    roots: ["mcpServers"],
    settings: anyPath,
    variables: ["braces", "mustache"],
  },
  "mcp-cli": { app: "mcp-cli", files: /(?:^|\/)\.?mcp_servers\.json$/, roots: ["mcpServers"], variables: ["braces"] },
  opencode: {
    app: "opencode",
    files: /(?:^|\/)\.?opencode(?:\/config)?\.jsonc?$/,
    roots: ["mcp"],
    settings: anyPath,
    variables: ["curly"],
    timeout: { limits: "connect", unitMs: 1 },
  },
  roo: {
    app: "Roo Code",
    files: /(?:^|\/)(?:\.(?:roo|kilocode)\/mcp|mcp_settings)\.json$/,
    roots: ["mcpServers"],
    variables: ["editor"],
    timeout: seconds,
  },
  vscode: {
    app: "VS Code",
    files: /(?:^|\/)(?:\.vscode|Code(?: - Insiders)?\/User)\/(?:mcp|settings)\.json$/,
    roots: ["servers", "mcp.servers", "mcp"],
    settings: /settings\.json$/,
    variables: ["editor"],
  },
  windsurf: {
    app: "Windsurf",
    files: /(?:^|\/)mcp_config\.json$/,
    roots: ["mcpServers"],
    variables: ["editor", "file"],
  },
  zed: {
    app: "Zed",
    files: /(?:^|\/)\.?zed\/settings\.json$/i,
    roots: ["context_servers"],
    settings: anyPath,
    variables: [],
    timeout: seconds,
  },
};

/** The dialect of a name. */
export function dialectOf(name: DialectName): Dialect {
  return { name, ...table[name] };
}

/** The dialect whose files are at such a path, if any. */
export function dialectOfPath(path: string): Dialect | undefined {
  const slashed = path.replaceAll("\\", "/");
  return dialects.find(({ files }) => files.test(slashed));
}

/** Every dialect there is. */
export const dialects: readonly Dialect[] = (Object.keys(table) as DialectName[]).map(dialectOf);

/** The dialect of a root for servers, where the path does not decide. */
const dialectOfRoot: Readonly<Record<Root, DialectName>> = {
  mcpServers: "generic",
  servers: "vscode",
  mcp_servers: "codex",
  context_servers: "zed",
  mcp: "opencode",
  "mcp.servers": "vscode",
  extensions: "goose",
};

/** What a file says, as far as servers are concerned. */
export interface Found {
  readonly dialect: Dialect;
  /** Absent when a file of settings says nothing of servers. */
  readonly servers?: ObjectNode;
  /** The names of what the servers are in, from the outside. */
  readonly path?: readonly string[];
  /** The node that defines `${input:id}`. */
  readonly around?: ObjectNode;
  /** Other roots with servers that were not read. */
  readonly unread: readonly { readonly root: string; readonly at: SourceLocation }[];
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
export function findServers(tree: ConfigNode, path: string, known: Dialect | undefined): Found {
  const dialect = known ?? dialectOfPath(path);
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

/** The roots for servers in a file, the preferred one first. */
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
  const servers = objectOrNone(tree.members.get(root)?.value);
  if (servers === undefined) {
    const at = tree.members.get(root)?.value.at ?? tree.at;
    throw invalidConfig(at, `${root} must be an object that has servers by their names`);
  }
  const inner = root === "mcp" ? objectIn(servers, "servers") : undefined;
  if (inner === undefined || isEntry(inner)) return { servers, around: tree, path: [root], nested: false };
  return { servers: inner, around: servers, path: [root, "servers"], nested: true };
}

/** A name with nothing behind it, as YAML has it when all servers are removed, has no servers. */
function objectOrNone(value: ConfigNode | undefined): ObjectNode | undefined {
  if (value?.kind === "nothing") return { kind: "object", at: value.at, members: new Map() };
  return value?.kind === "object" ? value : undefined;
}

/** `mcp: { servers }` is in the settings of VS Code, and in newer files of opencode. */
function nestedDialect(tree: ObjectNode): Dialect {
  const schema = tree.members.get("$schema")?.value;
  return dialectOf(schema?.kind === "text" && schema.text.includes("opencode") ? "opencode" : "vscode");
}

/** In many files `mcp` has other settings; a warning is given only for entries that look like servers. */
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
