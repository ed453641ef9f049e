import { canonicalText } from "../json/canonical.ts";
import { isObject, type Json } from "../json/json.ts";
import type { Tool } from "../model/tool.ts";
import { unreachable } from "../std/unreachable.ts";
import type { ChangedServer, DetailChange, LockDiff, ServerDiff, ToolChange } from "./compare-lock.ts";
import type { JsonChange } from "./json-changes.ts";
import { visible } from "./visible.ts";

const MAX_LINES = 60;
const MAX_LINE_CHARS = 1000;
/** What is shown in front of the first difference of two long lines. */
const LEAD = 60;

/**
 * A difference for people to read, line by line. Hidden characters are shown as
 * `\u{200b}`, and where something is left out it says how much.
 */
export function formatDiff(diff: LockDiff): string {
  if (diff.servers.length === 0) return "everything is as it was approved\n";
  return `${diff.servers.map((server) => formatServer(server).join("\n")).join("\n\n")}\n`;
}

function formatServer(diff: ServerDiff): readonly string[] {
  const name = visible(diff.server);
  switch (diff.kind) {
    case "missing":
      return [`${name}: is not there`];
    case "new":
      return [
        `${name}: is new, with ${diff.tools.length} ${diff.tools.length === 1 ? "tool" : "tools"}`,
        ...diff.tools.flatMap(newTool),
      ];
    case "changed":
      return [`${name}: has changed`, ...changedLines(diff)];
    default:
      return unreachable(diff);
  }
}

function changedLines({ details, added, removed, changed }: ChangedServer): readonly string[] {
  return [
    ...details.flatMap(detailLines),
    ...changed.flatMap(changedTool),
    ...added.flatMap(newTool),
    ...removed.map((name) => `  tool ${visible(name)} is gone`),
  ];
}

function detailLines({ detail, before, after }: DetailChange): readonly string[] {
  if (detail === "instructions") return [`  the text of its instructions ${verbOf(before, after)}`];
  if (detail === "scopes") return [`  scopes that were not approved: ${visible(after ?? "")}`];
  return [`  ${detail} ${verbOf(before, after)}`, ...sides(before, after, "    ")];
}

function verbOf(before: unknown, after: unknown): string {
  if (before === undefined) return "is new";
  return after === undefined ? "is gone" : "has changed";
}

/** Everything a model would read. */
function newTool({ name, ...definition }: Tool): readonly string[] {
  const parts = Object.entries(definition).flatMap(([part, value]) =>
    changeLines({ path: `/${part}`, after: value as Json }),
  );
  return [`  tool ${visible(name)} is new`, ...bounded(parts)];
}

function changedTool({ name, changes }: ToolChange): readonly string[] {
  return [`  tool ${visible(name)} has changed`, ...bounded(changes.flatMap(changeLines))];
}

function changeLines({ path, before, after }: JsonChange): readonly string[] {
  return [`    ${visible(path.slice(1))}`, ...sides(textOf(before), textOf(after), "      ")];
}

/** Texts are shown as they are, other values as JSON. */
function textOf(value: Json | undefined): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  return isObject(value) || Array.isArray(value) ? canonicalText(value) : String(value);
}

/** The lines that are only in one of two texts, without those both begin or end with. */
function sides(before: string | undefined, after: string | undefined, indent: string): readonly string[] {
  const old = before?.split("\n") ?? [];
  const now = after?.split("\n") ?? [];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const [gone, come] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const from = Math.max(0, sharedStart(gone[0] ?? "", come[0] ?? "") - LEAD);
  return [
    ...gone.map((line, index) => `${indent}- ${shown(line, index === 0 ? from : 0)}`),
    ...come.map((line, index) => `${indent}+ ${shown(line, index === 0 ? from : 0)}`),
  ];
}

function sharedStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

function shown(line: string, from: number): string {
  const left = line.length - from - MAX_LINE_CHARS;
  const text = visible(line.slice(from, from + MAX_LINE_CHARS));
  return `${from > 0 ? "… " : ""}${text}${left > 0 ? ` … and ${left} characters more` : ""}`;
}

function bounded(lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), `    … and ${lines.length - MAX_LINES} lines more`];
}
