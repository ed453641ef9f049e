import type { RootedEdit } from "./edit-config.ts";
import { invalidConfig, shownName } from "./problem.ts";
import { findTomlHeaders, findTomlPlaces, placeKey, type TomlPath } from "./toml-places.ts";

/** Changes one server in TOML: its tables are taken out, and written anew at the end. */
export async function editToml(text: string, edit: RootedEdit, path: string): Promise<string> {
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
