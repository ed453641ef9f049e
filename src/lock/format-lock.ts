import { canonicalText } from "../json/canonical.ts";
import { asJson, isObject, type Json, type JsonObject } from "../json/json.ts";
import { visibleJson } from "./format-lock-diff.ts";
import type { Lock } from "./lock.ts";

/** From the root to the members of a definition. */
const LEVELS = 6;

/**
 * The text of a lock file: members sorted, each part of a definition on one line, hidden characters as escapes. Equal
 * locks give equal texts, and unchanged parts stay on the same lines.
 */
export function formatLock(lock: Lock): string {
  return visibleJson(`${layOut(asJson(lock), 0, sorted)}\n`);
}

/** The same for a value that was read, with its members in the order they were read in. */
export function formatAsRead(value: Json): string {
  return visibleJson(`${layOut(value, 0, asRead)}\n`);
}

interface Style {
  readonly print: (value: Json) => string;
  readonly namesOf: (value: JsonObject) => readonly string[];
}

const sorted: Style = {
  print: canonicalText,
  namesOf: (value) =>
    Object.keys(value)
      .filter((name) => value[name] !== undefined)
      .sort(),
};

const asRead: Style = { print: JSON.stringify, namesOf: Object.keys };

function layOut(value: Json, level: number, style: Style): string {
  if (level >= LEVELS) return style.print(value);
  if (Array.isArray(value)) return lines("[", value.map(style.print), "]", level);
  if (!isObject(value)) return style.print(value);
  const texts = style
    .namesOf(value)
    .map((name) => `${JSON.stringify(name)}: ${layOut(value[name] ?? null, level + 1, style)}`);
  return lines("{", texts, "}", level);
}

function lines(open: string, items: readonly string[], close: string, level: number): string {
  if (items.length === 0) return `${open}${close}`;
  const indent = "  ".repeat(level);
  return `${open}\n${items.map((item) => `${indent}  ${item}`).join(",\n")}\n${indent}${close}`;
}
