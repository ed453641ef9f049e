import type { JsonObject } from "../../json/json.ts";

const text = { type: "string" };
const texts = { type: "array", items: text };
const url = { type: "string", pattern: "^[a-z][a-z0-9+.-]*://\\S+$" };
const truth = { type: "boolean" };

/** Hosts refuse members that they do not know. */
function only(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: "object", properties, required: [...required], additionalProperties: false };
}

function anyName(value: JsonObject): JsonObject {
  return { type: "object", additionalProperties: value };
}

const program = { command: text, args: texts, env: anyName(text) };

const server = only(
  {
    type: { enum: ["node", "python", "binary"] },
    entry_point: { type: "string", minLength: 1 },
    mcp_config: only({ ...program, platform_overrides: anyName(only(program)) }, ["command"]),
  },
  ["type", "entry_point", "mcp_config"],
);

const setting = only(
  {
    type: { enum: ["string", "number", "boolean", "directory", "file"] },
    title: text,
    description: text,
    required: truth,
    default: { type: ["string", "number", "boolean", "array"] },
    multiple: truth,
    sensitive: truth,
    min: { type: "number" },
    max: { type: "number" },
  },
  ["type", "title", "description"],
);

const compatibility = only({
  claude_desktop: text,
  platforms: { type: "array", items: { enum: ["darwin", "win32", "linux"] } },
  runtimes: only({ python: text, node: text }),
});

const icon = only({ src: text, size: { type: "string", pattern: "^[0-9]+x[0-9]+$" }, theme: text }, ["src", "size"]);

/** What hosts want of the `manifest.json` of a bundle, in version 0.3. */
export const bundleManifestSchema: JsonObject = only(
  {
    $schema: text,
    dxt_version: { const: "0.3" },
    manifest_version: { const: "0.3" },
    name: { type: "string", minLength: 1 },
    display_name: text,
    version: { type: "string", minLength: 1 },
    description: text,
    long_description: text,
    author: only({ name: text, email: text, url }, ["name"]),
    repository: only({ type: text, url }, ["type", "url"]),
    homepage: url,
    documentation: url,
    support: url,
    icon: text,
    icons: { type: "array", items: icon },
    screenshots: texts,
    localization: only({ resources: text, default_locale: text }, ["resources", "default_locale"]),
    server,
    tools: { type: "array", items: only({ name: text, description: text }, ["name"]) },
    tools_generated: truth,
    prompts: {
      type: "array",
      items: only({ name: text, description: text, arguments: texts, text }, ["name", "text"]),
    },
    prompts_generated: truth,
    keywords: texts,
    license: text,
    privacy_policies: { type: "array", items: url },
    compatibility,
    user_config: anyName(setting),
    _meta: anyName({ type: "object" }),
  },
  ["manifest_version", "name", "version", "description", "author", "server"],
);
