import { claim, type Draft, refuse, type Setting } from "./draft.ts";
import { shownName } from "./problem.ts";
import { fact, readRecord, readSetting, readSettings, wrongKind } from "./read-values.ts";
import { maskText } from "./secrets.ts";
import type { ArrayNode, ConfigNode, ObjectNode } from "./tree.ts";

/** Reads a program: as text, as a list that goes on with its arguments, or as `{ path, args, env }`. */
export function readCommand(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "command", field, node.at)) return;
  if (node.kind === "array") readCommandList(draft, node, field);
  else if (node.kind === "object") readCommandObject(draft, node, field);
  else if (node.kind === "text") setCommand(draft, readSetting(draft, node, field));
  else wrongKind(draft, node, field, "text");
}

function setCommand(draft: Draft, setting: Setting | undefined): void {
  if (setting !== undefined) draft.command = setting;
}

function readCommandList(draft: Draft, node: ArrayNode, field: string): void {
  const [command, ...args] = readSettings(draft, node, field);
  if (command === undefined) refuse(draft, { at: node.at, field, message: `${field} names no program` });
  setCommand(draft, command);
  if (args.length > 0 && claim(draft, "args", field, node.at)) draft.args = args;
}

/** As older files of Zed have it. */
function readCommandObject(draft: Draft, node: ObjectNode, field: string): void {
  for (const [name, { at, value }] of node.members) {
    const inner = `${field}.${shownName(name)}`;
    if (value.kind === "nothing") continue;
    if (name === "path") setCommand(draft, readSetting(draft, value, inner));
    else if (name === "args") readArgs(draft, value, inner);
    else if (name === "env") readEnv(draft, value, inner);
    else draft.ignored.push({ field: inner, place: at });
  }
}

export function readArgs(draft: Draft, node: ConfigNode, field: string): void {
  if (claim(draft, "args", field, node.at)) draft.args = readSettings(draft, node, field);
}

export function readEnv(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "env", field, node.at)) return;
  for (const [name, setting] of readRecord(draft, node, field)) setVariable(draft, name, setting);
}

/** Names of variables to pass on: texts, or `{ name, source }`. */
export function readEnvNames(draft: Draft, node: ConfigNode, field: string): void {
  draft.inheritEnv.push(...variableNames(draft, node, field).map(({ name }) => name));
  fact(draft, node, field, draft.inheritEnv.join(", "));
}

/** Names of variables that Goose keeps in a keyring. Here they come from the environment, and have to be there. */
export function readKeyringNames(draft: Draft, node: ConfigNode, field: string): void {
  for (const { name, at } of variableNames(draft, node, field)) {
    if (!draft.env.has(name)) draft.env.set(name, fromVariable(name, `env.${shownName(maskText(name))}`, at));
  }
}

/** A setting that is the value of a variable, after a text. */
export function fromVariable(name: string, field: string, at: ConfigNode["at"], before = ""): Setting {
  const reference = { kind: "reference", source: "env", name, written: `$${name}` } as const;
  return { field, at, parts: before === "" ? [reference] : [{ kind: "text", text: before }, reference] };
}

interface VariableName {
  readonly name: string;
  readonly at: ConfigNode["at"];
}

function variableNames(draft: Draft, node: ConfigNode, field: string): readonly VariableName[] {
  if (node.kind !== "array") {
    wrongKind(draft, node, field, "a list of names");
    return [];
  }
  return node.items.flatMap((item, index) => {
    const name = item.kind === "object" ? item.members.get("name")?.value : item;
    if (name?.kind === "text" && isVariableName(name.text)) return { name: name.text, at: item.at };
    refuse(draft, { at: item.at, field, message: `${field}[${index}] is no name of a variable` });
    return [];
  });
}

function setVariable(draft: Draft, name: string, setting: Setting): void {
  if (isVariableName(name)) draft.env.set(name, setting);
  else refuse(draft, { at: setting.at, field: setting.field, message: `${shownName(name)} is no name of a variable` });
}

/** Systems allow nearly everything; only what cannot be passed on is refused. */
function isVariableName(name: string): boolean {
  return name !== "" && !/[=\0]/.test(name);
}
