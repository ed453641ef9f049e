import { canonicalText } from "../json/canonical.ts";
import type { Json } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { editJson } from "./edit-json.ts";
import { editYaml } from "./edit-yaml.ts";
import {
  type ConfigFormat,
  formatOf,
  objectTree,
  type ParseConfigOptions,
  type ParsedConfig,
  parseConfig,
} from "./parse-config.ts";
import { findTomlHeaders, findTomlPlaces, placeKey, type TomlPath } from "./parse-toml.ts";
import { formatConfigProblem, invalidConfig, shownName } from "./problem.ts";
import { readServer } from "./read-server.ts";
import type { ConfigEdit, RootedEdit } from "./server-entry.ts";
import type { ConfigNode } from "./tree.ts";

/**
 * The text of a configuration file with one server added, replaced or removed. Comments and all other text are
 * unchanged. The value of `set` must be a valid server.
 *
 * Rejects with `invalid-config` when the text or the entry is invalid, and when the file cannot be changed without
 * touching other parts.
 */
export async function editConfig(text: string, edit: ConfigEdit, options: ParseConfigOptions): Promise<string> {
  const { path } = options;
  const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
  const plain = text.slice(mark.length);
  const format = formatOf(path, plain);
  const whole = plain.trim() === "" && format === "json" ? "{}\n" : plain;
  const before = await parseConfig(whole, options);
  if (edit.type === "set") checkEntry(edit, before);
  if (edit.type === "remove" && !has(before, edit.name)) return text;
  const after = await editors[format](whole, { ...edit, root: before.root }, path);
  await checkEdit(before, after, edit, options);
  return mark + after;
}

const editors: { readonly [F in ConfigFormat]: (text: string, edit: RootedEdit, path: string) => Promise<string> } = {
  json: editJson,
  toml: editToml,
  yaml: editYaml,
};

function checkEntry({ name, entry }: Extract<ConfigEdit, { type: "set" }>, config: ParsedConfig): void {
  const at = { path: config.path };
  const { problems } = readServer({ name, at, value: objectTree(entry, at) }, config);
  const [problem] = problems;
  if (problem !== undefined)
    throw new McpError("invalid-config", formatConfigProblem(problem), { data: { path: config.path } });
}

/** Whatever an editor does, other servers must be what they were. */
async function checkEdit(
  before: ParsedConfig,
  text: string,
  edit: ConfigEdit,
  options: ParseConfigOptions,
): Promise<void> {
  const after = await parseConfig(text, options).catch(() => undefined);
  const expected = new Map(before.servers.map((server) => [keyOf(server), canonicalText(jsonOf(server.value))]));
  const own = JSON.stringify([edit.name]);
  if (edit.type === "set") expected.set(own, canonicalText(edit.entry));
  else expected.delete(own);
  const found = new Map(after?.servers.map((server) => [keyOf(server), canonicalText(jsonOf(server.value))]));
  const same =
    after !== undefined &&
    found.size === expected.size &&
    [...expected].every(([key, value]) => found.get(key) === value);
  if (same) return;
  throw invalidConfig(
    { path: options.path },
    `${shownName(edit.name)} cannot be changed here without touching other parts`,
  );
}

function keyOf({ name, folder }: ParsedConfig["servers"][number]): string {
  return JSON.stringify(folder === undefined ? [name] : [name, folder]);
}

function has({ servers }: ParsedConfig, name: string): boolean {
  return servers.some((server) => server.name === name && server.folder === undefined);
}

function jsonOf(node: ConfigNode): Json {
  switch (node.kind) {
    case "object":
      return Object.fromEntries([...node.members].map(([name, { value }]) => [name, jsonOf(value)]));
    case "array":
      return node.items.map(jsonOf);
    case "text":
      return node.text;
    case "nothing":
      return null;
    default:
      return node.value;
  }
}

/** Changes one server in TOML: its tables are removed, and written at the end. */
async function editToml(text: string, edit: RootedEdit, path: string): Promise<string> {
  const server = [...edit.root, edit.name];
  const rest = withoutTables(text, server);
  if (findTomlPlaces(rest).has(placeKey(server))) {
    const message = `${shownName(edit.name)} is not written as a table of its own, and cannot be changed here`;
    throw invalidConfig({ path }, message);
  }
  if (edit.type === "remove") return rest;
  const { stringify } = await import("smol-toml");
  const table = server.reduceRight<unknown>((value, name) => ({ [name]: value }), edit.entry);
  return `${rest.trimEnd()}${rest.trim() === "" ? "" : "\n\n"}${stringify(table)}`;
}

/** The text without the tables of a server. Comments above the next table are its own, and stay. */
function withoutTables(text: string, server: TomlPath): string {
  const headers = findTomlHeaders(text);
  let kept = "";
  let end = 0;
  for (const [index, { at, path }] of headers.entries()) {
    if (!server.every((name, depth) => path[depth] === name)) continue;
    kept += text.slice(end, at);
    const lines = text.slice(at, headers[index + 1]?.at).split(/(?<=\n)/);
    const last = lines.findLastIndex((line) => !/^\s*(?:#|$)/.test(line));
    end = at + lines.slice(0, last + 1).join("").length;
  }
  return kept + text.slice(end);
}
