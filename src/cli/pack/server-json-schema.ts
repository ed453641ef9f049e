import type { JsonObject } from "../../json/json.ts";
import { maxDescription, serverJsonSchemaUrl } from "./server-json.ts";

const text = { type: "string" };
const url = { type: "string", pattern: "^https?://\\S+$" };
const remoteUrl = { type: "string", pattern: "^(?:https?://[^\\s]+|\\{[a-zA-Z_][a-zA-Z0-9_]*\\}[^\\s]*)$" };
/** A range, such as `^1.2.3` or `1.x`, is refused by the registry, and so is `latest`. */
const version = {
  type: "string",
  minLength: 1,
  maxLength: 255,
  pattern: "^[^\\^~<>=*|\\s]+$",
  not: { const: "latest" },
};

/** A variable of the environment, or a header. */
const input = {
  type: "object",
  properties: {
    name: text,
    description: text,
    isRequired: { type: "boolean" },
    isSecret: { type: "boolean" },
    format: { enum: ["string", "number", "boolean", "filepath"] },
    default: text,
    value: text,
    placeholder: text,
    choices: { type: "array", items: text },
  },
  required: ["name"],
};

const remote = {
  type: "object",
  properties: {
    type: { enum: ["streamable-http", "sse"] },
    url: remoteUrl,
    headers: { type: "array", items: input },
    variables: { type: "object" },
  },
  required: ["type", "url"],
};

const transport = {
  anyOf: [{ type: "object", properties: { type: { const: "stdio" } }, required: ["type"] }, remote],
};

const sha256 = { type: "string", pattern: "^[a-f0-9]{64}$" };

const packaged = {
  type: "object",
  properties: {
    registryType: text,
    registryBaseUrl: url,
    identifier: { type: "string", minLength: 1 },
    version,
    fileSha256: sha256,
    runtimeHint: text,
    transport,
    environmentVariables: { type: "array", items: input },
    packageArguments: { type: "array", items: { type: "object", required: ["type"] } },
    runtimeArguments: { type: "array", items: { type: "object", required: ["type"] } },
  },
  required: ["registryType", "identifier", "transport"],
  // A bundle has no registry that would vouch for it.
  if: { properties: { registryType: { const: "mcpb" } } },
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  then: { required: ["fileSha256"], properties: { identifier: url } },
};

/** What the registry wants of a `server.json`, in its schema of 2025-12-11. */
export const serverJsonSchema: JsonObject = {
  type: "object",
  properties: {
    $schema: { const: serverJsonSchemaUrl },
    name: { type: "string", minLength: 3, maxLength: 200, pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$" },
    title: { type: "string", minLength: 1, maxLength: 100 },
    description: { type: "string", minLength: 1, maxLength: maxDescription },
    version,
    websiteUrl: url,
    repository: {
      type: "object",
      properties: { url, source: text, id: text, subfolder: text },
      required: ["url", "source"],
    },
    icons: { type: "array", items: { type: "object", properties: { src: url }, required: ["src"] } },
    packages: { type: "array", items: packaged },
    remotes: { type: "array", items: remote },
    _meta: { type: "object" },
  },
  required: ["$schema", "name", "description", "version"],
};
