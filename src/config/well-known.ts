import { type DialectName, dialectOf } from "./dialect.ts";
import { joinPath } from "./paths.ts";

/** A place where a program keeps its servers. */
export interface WellKnownConfig {
  readonly path: string;
  readonly dialect: DialectName;
  /** What people call the program. */
  readonly app: string;
  /** A `project` may come from somebody else: ask before its servers are started. */
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
  { dialect: "zed", base: "project", path: ".zed/settings.json" },
  { dialect: "librechat", base: "project", path: "librechat.yaml" },
];

/** Where programs of a system keep their settings. */
function settingsFolder({ home, platform, env }: Machine): string {
  if (platform === "darwin") return joinPath(home, "Library/Application Support");
  if (platform === "win32") return env.APPDATA ?? joinPath(home, "AppData/Roaming");
  return env.XDG_CONFIG_HOME ?? joinPath(home, ".config");
}
