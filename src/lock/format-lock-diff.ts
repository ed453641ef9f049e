import { canonicalText } from "../json/canonical.ts";
import { isObject, type Json } from "../json/json.ts";
import type { Tool } from "../protocol/tool.ts";
import { hidden } from "../std/hidden-text.ts";
import { unreachable } from "../std/unreachable.ts";
import {
  type ChangedServer,
  changesOf,
  type DetailChange,
  type ItemChange,
  type JsonChange,
  type LockDiff,
  type LockedServerDiff,
  type ToolChange,
  targetText,
  unpinnedOf,
} from "./diff-lock.ts";
import type { LockedProgram, LockedTarget } from "./lock.ts";

const MAX_LINES = 60;
const MAX_LINE_CHARS = 1000;
/** What is shown in front of the first difference of two long lines. */
const LEAD = 60;

/**
 * Formats a difference for people, line by line. Hidden characters are shown as `\u{200b}`, and omissions with their
 * size.
 */
export function formatLockDiff(diff: LockDiff): string {
  if (diff.servers.length === 0) return "everything is as it was approved\n";
  return `${diff.servers.map((server) => formatServer(server).join("\n")).join("\n\n")}\n`;
}

function formatServer(diff: LockedServerDiff): readonly string[] {
  const name = visible(diff.server);
  switch (diff.kind) {
    case "missing":
      return [`${name}: is not there`];
    case "new":
      return [
        `${name}: is new, with ${diff.tools.length} ${diff.tools.length === 1 ? "tool" : "tools"}`,
        ...targetLines(diff.target),
        ...(diff.instructions === undefined ? [] : detailLines({ detail: "instructions", after: diff.instructions })),
        ...diff.tools.flatMap(newTool),
        ...diff.items.flatMap(itemLines),
      ];
    case "changed":
      return [`${name}: has changed`, ...changedLines(diff)];
    default:
      return unreachable(diff);
  }
}

/** What would be started, for a decision before its approval. */
function targetLines(target: LockedTarget | undefined): readonly string[] {
  const text = targetText(target);
  if (text === undefined) return [];
  const { cwd, env = [] }: Partial<LockedProgram> = target !== undefined && "command" in target ? target : {};
  const more = [cwd === undefined ? "" : ` in ${cwd}`, env.length === 0 ? "" : ` with the variables ${env.join(", ")}`];
  return [`  target ${visible(text + more.join(""))}`, ...pinningLines(unpinnedOf(target))];
}

function pinningLines(unpinned: readonly string[] = []): readonly string[] {
  return unpinned.map((spec) => `    ${visible(spec)} is not pinned: another version may run without a change here`);
}

function changedLines({ details, added, removed, changed, items }: ChangedServer): readonly string[] {
  return [
    ...details.flatMap(detailLines),
    ...changed.flatMap(changedTool),
    ...added.flatMap(newTool),
    ...removed.map((name) => `  tool ${visible(name)} is gone`),
    ...items.flatMap(itemLines),
  ];
}

const listed = { prompts: "prompt", resources: "resource", resourceTemplates: "resource template" };

function itemLines({ list, name, kind, changes }: ItemChange): readonly string[] {
  const title = `  ${listed[list]} ${visible(name)}`;
  if (kind === "removed") return [`${title} is gone`];
  // A new one is a difference as a whole, which is shown member by member.
  const parts =
    kind === "added" ? changes.flatMap(({ after }) => (isObject(after) ? changesOf({}, after) : changes)) : changes;
  return [`${title} ${kind === "added" ? "is new" : "has changed"}`, ...bounded(parts.flatMap(changeLines))];
}

function detailLines({ detail, before, after, changes, unpinned }: DetailChange): readonly string[] {
  if (detail === "scopes") return [`  scopes that were not approved: ${visible(after ?? "")}`];
  if (changes !== undefined) {
    return ["  target has changed", ...changes.map((change) => `    it ${visible(change)}`), ...pinningLines(unpinned)];
  }
  if (detail === "target") {
    return [`  ${detail} ${verbOf(before, after)}`, ...sides(before, after, "    "), ...pinningLines(unpinned)];
  }
  const verb = detail === "instructions" ? verbsOf(before, after) : verbOf(before, after);
  return [`  ${detail} ${verb}`, ...bounded(sides(before, after, "    "))];
}

function verbsOf(before: unknown, after: unknown): string {
  if (before === undefined) return "are new";
  return after === undefined ? "are gone" : "have changed";
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

/** Invisible characters, characters that change the order of text, and blanks that are not spaces. */
const unseen = new RegExp(`${hidden.source}|(?! )\\p{Zs}`, "gu");

/** A text on which nothing is hidden: `a\u{200b}b`. */
export function visible(text: string): string {
  return text.replaceAll(unseen, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

const hiddenInJson = new RegExp(`(?!\\n)(?:${unseen.source})`, "gu");

/** The same JSON text, in which nothing is hidden but its line ends: `"a\u200bb"`. */
export function visibleJson(text: string): string {
  return text.replaceAll(hiddenInJson, escapesOf);
}

function escapesOf(char: string): string {
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
