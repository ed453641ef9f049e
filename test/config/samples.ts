import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DialectName } from "../../src/config/dialects.ts";
import type { ConfigEnvironment } from "../../src/config/environment.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { type Config, resolveConfig } from "../../src/config/resolve-config.ts";

const folder = fileURLToPath(new URL("samples", import.meta.url));

/** A file as users of a program have it. */
export interface Sample {
  readonly dialect: DialectName;
  /** The name of the file in `samples`. */
  readonly file: string;
  /** Where users have it. */
  readonly path: string;
}

export const samples: readonly Sample[] = [
  { dialect: "generic", file: "generic.jsonc", path: "/home/shop/mcp.json" },
  { dialect: "claude-code", file: "claude-code.jsonc", path: "/home/shop/.mcp.json" },
  {
    dialect: "claude-desktop",
    file: "claude-desktop.jsonc",
    path: "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json",
  },
  { dialect: "cline", file: "cline.jsonc", path: "/home/ada/.cline/data/settings/cline_mcp_settings.json" },
  { dialect: "codex", file: "codex.toml", path: "/home/ada/.codex/config.toml" },
  { dialect: "copilot", file: "copilot.jsonc", path: "/home/ada/.copilot/mcp-config.json" },
  { dialect: "cursor", file: "cursor.jsonc", path: "/home/shop/.cursor/mcp.json" },
  { dialect: "gemini", file: "gemini.jsonc", path: "/home/shop/.gemini/settings.json" },
  { dialect: "goose", file: "goose.yaml", path: "/home/ada/.config/goose/config.yaml" },
  { dialect: "inspector", file: "inspector.jsonc", path: "/home/ada/.mcp-inspector/mcp.json" },
  { dialect: "jetbrains", file: "jetbrains.jsonc", path: "/home/shop/.idea/mcp.json" },
  { dialect: "kiro", file: "kiro.jsonc", path: "/home/shop/.kiro/settings/mcp.json" },
  { dialect: "librechat", file: "librechat.yaml", path: "/home/chat/librechat.yaml" },
  { dialect: "mcp-cli", file: "mcp-cli.jsonc", path: "/home/shop/mcp_servers.json" },
  { dialect: "opencode", file: "opencode.jsonc", path: "/home/shop/opencode.jsonc" },
  { dialect: "roo", file: "roo.jsonc", path: "/home/shop/.roo/mcp.json" },
  { dialect: "vscode", file: "vscode.jsonc", path: "/home/shop/.vscode/mcp.json" },
  { dialect: "windsurf", file: "windsurf.jsonc", path: "C:\\Users\\ada\\.codeium\\windsurf\\mcp_config.json" },
  { dialect: "zed", file: "zed.jsonc", path: "/home/ada/.config/zed/settings.json" },
];

export function sampleOf(dialect: DialectName): Sample {
  const sample = samples.find((one) => one.dialect === dialect);
  if (sample === undefined) throw new Error(`no sample of ${dialect}`);
  return sample;
}

export function textOf({ file }: Sample): string {
  return readFileSync(join(folder, file), "utf8");
}

/** Whatever a variable is called, its value is `planted-` and that name. Every file has two variables in it. */
export const planted: ConfigEnvironment = {
  env: new Proxy<Record<string, string>>(
    {},
    {
      get: (_, name) => `planted-${String(name)}`,
      // A default is used in the samples, so these are not set.
      getOwnPropertyDescriptor: (_, name) =>
        ["DB_TOOL", "SENTRY_BASE", "AUTH_HEADER", "TRACKER_TOKEN"].includes(String(name))
          ? undefined
          : { configurable: true, enumerable: true, value: `planted-${String(name)}` },
    },
  ),
  inputs: { "github-token": "planted-input", SHEETS_USER: "planted-user" },
  userHome: "/home/ada",
  readText: async (path) => (path.endsWith(".env") ? 'FROM_FILE="planted-file"\n' : "planted-content\n"),
};

export async function resolveText(
  text: string,
  path: string,
  environment: ConfigEnvironment = planted,
): Promise<Config> {
  return resolveConfig([await parseConfig(text, { path })], environment);
}
