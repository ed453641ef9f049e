import { type Draft, refuse, type Setting } from "./draft.ts";
import { limits } from "./limits.ts";
import { shownName } from "./problem.ts";
import { maskText } from "./secrets.ts";
import { parseTemplate } from "./template.ts";
import { type ConfigNode, kindOf } from "./tree.ts";

/** A text that may have variables in it. Numbers and flags count as they are written. */
export function readSetting(draft: Draft, node: ConfigNode, field: string): Setting | undefined {
  const text = textOf(node);
  if (text === undefined) return wrongKind(draft, node, field, "text");
  if (text.length > limits.maxValueLength || text.includes("\0")) {
    const message = text.includes("\0") ? "has a NUL character in it" : `is longer than ${limits.maxValueLength}`;
    return wrong(draft, node, field, message);
  }
  return { field, at: node.at, parts: parseTemplate(text, draft.dialect.variables) };
}

/** A list of texts that may have variables in them. */
export function readSettings(draft: Draft, node: ConfigNode, field: string): Setting[] {
  if (node.kind !== "array") {
    wrongKind(draft, node, field, "a list");
    return [];
  }
  if (tooMany(draft, node, field, node.items.length)) return [];
  return node.items.flatMap((item, index) => readSetting(draft, item, `${field}[${index}]`) ?? []);
}

/** Texts by name, such as variables. A member that is null is left out. */
export function readRecord(draft: Draft, node: ConfigNode, field: string): Map<string, Setting> {
  const record = new Map<string, Setting>();
  if (node.kind !== "object") {
    wrongKind(draft, node, field, "an object");
    return record;
  }
  if (tooMany(draft, node, field, node.members.size)) return record;
  for (const [name, { at, value }] of node.members) {
    const inner = `${field}.${shownName(name)}`;
    if (value.kind === "nothing") {
      draft.ignored.push({ field: inner, place: at });
      continue;
    }
    const setting = readSetting(draft, value, inner);
    if (setting !== undefined) record.set(name, setting);
  }
  return record;
}

/** A list of names, in which nothing is expanded. */
export function readNames(draft: Draft, node: ConfigNode, field: string): readonly string[] | undefined {
  if (node.kind !== "array") return wrongKind(draft, node, field, "a list of names");
  if (tooMany(draft, node, field, node.items.length)) return undefined;
  const names = node.items.flatMap((item, index) => {
    if (item.kind === "text") return item.text;
    wrongKind(draft, item, `${field}[${index}]`, "a name");
    return [];
  });
  fact(draft, node, field, names.length === 0 ? "none" : names.join(", "));
  return names;
}

export function readFlag(draft: Draft, node: ConfigNode, field: string): boolean | undefined {
  if (node.kind !== "flag") return wrongKind(draft, node, field, "true or false");
  fact(draft, node, field, String(node.value));
  return node.value;
}

/** A positive number of something that takes `unitMs`, in milliseconds. */
export function readDuration(draft: Draft, node: ConfigNode, field: string, unitMs: number): number | undefined {
  if (node.kind !== "number") return wrongKind(draft, node, field, "a number");
  const ms = Math.round(node.value * unitMs);
  if (!(ms >= 1 && ms <= maxMs))
    return wrong(draft, node, field, "has to be a positive number, and no more than 24 days");
  fact(draft, node, field, `${ms} ms`);
  return ms;
}

const maxMs = 2 ** 31 - 1;

/** Notes the value of a field that has no variables in it. */
export function fact(draft: Draft, node: ConfigNode, field: string, value: string): void {
  const shown = maskText(value);
  draft.facts.push({ field, shown, secret: shown !== value, place: node.at, variables: [] });
}

/** Notes that a field holds something else than it should. */
export function wrongKind(draft: Draft, node: ConfigNode, field: string, expected: string): undefined {
  return wrong(draft, node, field, `must be ${expected}, not ${kindOf(node)}`);
}

function wrong(draft: Draft, node: ConfigNode, field: string, message: string): undefined {
  refuse(draft, { at: node.at, field, message: `${field} ${message}` });
  return undefined;
}

function tooMany(draft: Draft, node: ConfigNode, field: string, count: number): boolean {
  if (count > limits.maxItems) wrong(draft, node, field, `has more than ${limits.maxItems} members`);
  return count > limits.maxItems;
}

function textOf(node: ConfigNode): string | undefined {
  switch (node.kind) {
    case "text":
    case "number":
      return node.text;
    case "flag":
      return String(node.value);
    default:
      return undefined;
  }
}
