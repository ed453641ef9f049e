import { claim, type Draft, type FieldReader, refuse, type Setting } from "./draft.ts";
import { shownName } from "./problem.ts";
import { fromVariable } from "./read-command.ts";
import { readRecord, readSetting, wrongKind } from "./read-values.ts";
import type { ConfigNode } from "./tree.ts";

/** Reads where a server is. `httpUrl` also says how it speaks. */
export function readUrl(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "url", field, node.at)) return;
  if (node.kind !== "text") return void wrongKind(draft, node, field, "text");
  const setting = readSetting(draft, node, field);
  if (setting === undefined) return;
  draft.url = setting;
  if (field === "httpUrl") draft.type ??= { is: "http", at: node.at };
}

export function readHeaders(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "headers", field, node.at)) return;
  for (const [name, setting] of readRecord(draft, node, field)) setHeader(draft, name, setting);
}

/** Headers by the variable that has their value. */
export function readHeaderVariables(draft: Draft, node: ConfigNode, field: string): void {
  if (node.kind !== "object") return void wrongKind(draft, node, field, "an object");
  for (const [name, { value }] of node.members) {
    const inner = `${field}.${shownName(name)}`;
    if (value.kind !== "text") wrongKind(draft, value, inner, "the name of a variable");
    else setHeader(draft, name, fromVariable(value.text, inner, value.at));
  }
}

/** The variable that has a token. */
export function readBearerVariable(draft: Draft, node: ConfigNode, field: string): void {
  if (node.kind !== "text") return void wrongKind(draft, node, field, "the name of a variable");
  setHeader(draft, "authorization", fromVariable(node.text, field, node.at, "Bearer "));
}

/** A field with which a server cannot be used here. */
export function refuseField(message: string, hint: string): FieldReader {
  return (draft, node, field) => refuse(draft, { at: node.at, field, message: `${field} ${message}`, hint });
}

function setHeader(draft: Draft, name: string, setting: Setting): void {
  const { at, field } = setting;
  const taken = [...draft.headers.keys()].find((other) => other.toLowerCase() === name.toLowerCase());
  if (taken !== undefined) refuse(draft, { at, field, message: `the header ${shownName(name)} is there twice` });
  else if (!headerName.test(name)) refuse(draft, { at, field, message: `${shownName(name)} is no name of a header` });
  else draft.headers.set(name, setting);
}

const headerName = /^[\w!#$%&'*+.^`|~-]+$/;
