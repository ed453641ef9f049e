import { canonicalText } from "../json/canonical.ts";
import type { Json, JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import { editJson } from "./edit-json.ts";
import { editToml } from "./edit-toml.ts";
import { editYaml } from "./edit-yaml.ts";
import { type ConfigFormat, formatOf } from "./format.ts";
import { type ParseConfigOptions, type ParsedConfig, parseConfig } from "./parse-config.ts";
import { objectTree } from "./parse-object.ts";
import { formatProblem, invalidConfig, shownName } from "./problem.ts";
import { readServer } from "./read-server.ts";
import type { ConfigNode } from "./tree.ts";

/** A change of one server. An entry is written as it is, in the words of the file's dialect. */
export type ConfigEdit =
  | { readonly type: "set"; readonly name: string; readonly entry: JsonObject }
  | { readonly type: "remove"; readonly name: string };

/** An edit, and the names of what the servers are in. */
export type RootedEdit = ConfigEdit & { readonly root: readonly string[] };

/**
 * The text of a configuration file with one server added, replaced or removed.
 * Comments and everything else stay. What `set` is given has to be a server.
 *
 * Rejects with `invalid-config` when the text or the entry is wrong, and when the
 * file is written in a way that cannot be changed without touching other parts.
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
    throw new McpError("invalid-config", formatProblem(problem), { data: { path: config.path } });
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
  const same = found.size === expected.size && [...expected].every(([key, value]) => found.get(key) === value);
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
