/** Whose configuration files are understood. `generic` is an `mcpServers` file of nobody in particular. */
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
  | "vscode"
  | "windsurf"
  | "zed";

/** Where servers can be in a file. */
export type Root = "mcpServers" | "servers" | "mcp_servers" | "context_servers" | "mcp" | "mcp.servers" | "extensions";

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
  /** Fits the paths of files that have other settings as well, and so need not have servers at all. */
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

/** The dialect that a place for servers belongs to, where the path does not tell. */
export const dialectOfRoot: Readonly<Record<Root, DialectName>> = {
  mcpServers: "generic",
  servers: "vscode",
  mcp_servers: "codex",
  context_servers: "zed",
  mcp: "opencode",
  "mcp.servers": "vscode",
  extensions: "goose",
};
