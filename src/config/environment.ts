import { type DialectName, dialectOf } from "./dialects.ts";
import type { ConfigInput } from "./inputs.ts";

/** Where the values of variables come from. All of it is given: nothing is looked up behind the back of a host. */
export interface ConfigEnvironment {
  /** Environment variables, such as `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Values of `${input:id}` by id, for those that are known. */
  readonly inputs?: Readonly<Record<string, string>> | undefined;
  /** Asks for an input that is not known; once for each, one after the other. Without an answer the default counts. */
  readonly onInput?: ((input: ConfigInput) => string | undefined | Promise<string | undefined>) | undefined;
  /** The folder of the project. Default: the one that the file is for. */
  readonly workspaceFolder?: string | undefined;
  readonly userHome?: string | undefined;
  /** Default: `/`. */
  readonly pathSeparator?: string | undefined;
  /** Reads an env file, or a file that a variable names. Undefined when there is none. */
  readonly readText?: ((path: string) => Promise<string | undefined>) | undefined;
  /** A variable without a value stays in the text, with a warning instead of an error. */
  readonly lenient?: boolean | undefined;
}

/** Whether a path is absolute: `/a`, `C:\a`, `\\host\a`. */
export function isAbsolute(path: string): boolean {
  return /^(?:[\\/]|[A-Za-z]:[\\/])/.test(path);
}

/** A path as seen from a folder. */
export function joinPath(folder: string, path: string): string {
  if (isAbsolute(path) || folder === "") return path;
  const separator = folder.includes("\\") && !folder.includes("/") ? "\\" : "/";
  return `${folder.replace(/[\\/]$/, "")}${separator}${path.replace(/^\.[\\/]/, "")}`;
}

/** The folder a file is in; empty where the path has none. */
export function folderOf(path: string): string {
  const end = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return end === 0 ? path.slice(0, 1) : path.slice(0, Math.max(end, 0));
}

/** The last name of a path. */
export function baseName(path: string): string {
  const trimmed = path.replace(/[\\/]+$/, "");
  return trimmed.slice(Math.max(trimmed.lastIndexOf("/"), trimmed.lastIndexOf("\\")) + 1);
}

/**
 * The folder that a project's configuration is for: the one the file is in, or
 * around a folder of settings such as `.vscode`.
 */
export function projectFolder(path: string): string {
  return folderOf(path).replace(settingsFolders, "");
}

const settingsFolders =
  /(?:^|[\\/])\.(?:vscode|cursor|gemini|codex|idea|zed|github|roo|kilocode|kiro[\\/]settings|junie[\\/]mcp)$/;

/** A path where an application stores its servers. */
export interface WellKnownConfig {
  readonly path: string;
  readonly dialect: DialectName;
  /** What people call the program. */
  readonly app: string;
  /** A file of a `project` may have another author: ask before its servers are started. */
  readonly scope: "user" | "project";
}

/** The machine that files are looked for on. */
export interface Machine {
  /** The folder of the project. */
  readonly cwd: string;
  readonly home: string;
  /** As `process.platform` has it. */
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Where configuration files can be, from the general to the particular: those of the user, then those of the project. */
export function wellKnownConfigs(machine: Machine): readonly WellKnownConfig[] {
  const { cwd, home, env } = machine;
  const roots: Readonly<Record<Base, string>> = {
    home,
    settings: settingsFolder(machine),
    xdg: env.XDG_CONFIG_HOME ?? joinPath(home, ".config"),
    codex: env.CODEX_HOME ?? joinPath(home, ".codex"),
    copilot: env.COPILOT_HOME ?? joinPath(home, ".copilot"),
    project: cwd,
  };
  const fits = machine.platform === "win32" ? "windows" : "unix";
  return files
    .filter(({ only }) => only === undefined || only === fits)
    .map(({ base, path, dialect }) => ({
      path: joinPath(roots[base], path),
      dialect,
      app: dialectOf(dialect).app,
      scope: base === "project" ? "project" : "user",
    }));
}

type Base = "home" | "settings" | "xdg" | "codex" | "copilot" | "project";

interface KnownFile {
  readonly dialect: DialectName;
  readonly base: Base;
  readonly path: string;
  readonly only?: "windows" | "unix";
}

const cline = "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";

const roo = "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json";

const files: readonly KnownFile[] = [
  { dialect: "generic", base: "xdg", path: "mcp/mcp.json" },
  { dialect: "claude-desktop", base: "settings", path: "Claude/claude_desktop_config.json" },
  { dialect: "claude-code", base: "home", path: ".claude.json" },
  { dialect: "vscode", base: "settings", path: "Code/User/mcp.json" },
  { dialect: "copilot", base: "copilot", path: "mcp-config.json" },
  { dialect: "cursor", base: "home", path: ".cursor/mcp.json" },
  { dialect: "codex", base: "codex", path: "config.toml" },
  { dialect: "gemini", base: "home", path: ".gemini/settings.json" },
  { dialect: "opencode", base: "xdg", path: "opencode/opencode.json" },
  { dialect: "opencode", base: "xdg", path: "opencode/opencode.jsonc" },
  { dialect: "windsurf", base: "home", path: ".codeium/windsurf/mcp_config.json" },
  { dialect: "cline", base: "settings", path: cline },
  { dialect: "roo", base: "settings", path: roo },
  { dialect: "cline", base: "home", path: ".cline/data/settings/cline_mcp_settings.json" },
  { dialect: "jetbrains", base: "home", path: ".junie/mcp/mcp.json" },
  { dialect: "kiro", base: "home", path: ".kiro/settings/mcp.json" },
  { dialect: "zed", base: "xdg", path: "zed/settings.json", only: "unix" },
  { dialect: "zed", base: "settings", path: "Zed/settings.json", only: "windows" },
  { dialect: "goose", base: "xdg", path: "goose/config.yaml", only: "unix" },
  { dialect: "goose", base: "settings", path: "Block/goose/config/config.yaml", only: "windows" },
  { dialect: "inspector", base: "home", path: ".mcp-inspector/mcp.json" },
  { dialect: "mcp-cli", base: "xdg", path: "mcp/mcp_servers.json" },
  { dialect: "mcp-cli", base: "project", path: "mcp_servers.json" },
  { dialect: "generic", base: "project", path: "mcp.json" },
  { dialect: "claude-code", base: "project", path: ".mcp.json" },
  { dialect: "vscode", base: "project", path: ".vscode/mcp.json" },
  { dialect: "copilot", base: "project", path: ".github/mcp.json" },
  { dialect: "cursor", base: "project", path: ".cursor/mcp.json" },
  { dialect: "codex", base: "project", path: ".codex/config.toml" },
  { dialect: "gemini", base: "project", path: ".gemini/settings.json" },
  { dialect: "opencode", base: "project", path: "opencode.json" },
  { dialect: "opencode", base: "project", path: "opencode.jsonc" },
  { dialect: "jetbrains", base: "project", path: ".idea/mcp.json" },
  { dialect: "jetbrains", base: "project", path: ".junie/mcp/mcp.json" },
  { dialect: "kiro", base: "project", path: ".kiro/settings/mcp.json" },
  { dialect: "roo", base: "project", path: ".roo/mcp.json" },
  { dialect: "zed", base: "project", path: ".zed/settings.json" },
  { dialect: "librechat", base: "project", path: "librechat.yaml" },
];

/** The settings folder of applications on a system. */
function settingsFolder({ home, platform, env }: Machine): string {
  if (platform === "darwin") return joinPath(home, "Library/Application Support");
  if (platform === "win32") return env.APPDATA ?? joinPath(home, "AppData/Roaming");
  return env.XDG_CONFIG_HOME ?? joinPath(home, ".config");
}
