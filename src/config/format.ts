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
