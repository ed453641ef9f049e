import { maskText } from "../std/secrets.ts";
import { shownName } from "./problem.ts";
import {
  claim,
  type Draft,
  type FieldReader,
  type OAuthDraft,
  type OAuthText,
  parseTemplate,
  refuse,
  type Setting,
} from "./server-draft.ts";
import { type ArrayNode, type ConfigNode, kindOf, limits, type ObjectNode } from "./tree.ts";

/** Reads a command: a text, a list with its arguments, or `{ path, args, env }`. */
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

/** Names of variables that Goose stores in a keyring. Here they must be set in the environment. */
export function readKeyringNames(draft: Draft, node: ConfigNode, field: string): void {
  for (const { name, at } of variableNames(draft, node, field)) {
    if (!draft.env.has(name)) draft.env.set(name, fromVariable(name, `env.${shownName(maskText(name))}`, at));
  }
}

/** A setting that is the value of a variable, after a text. */
function fromVariable(name: string, field: string, at: ConfigNode["at"], before = ""): Setting {
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
    refuse(draft, { at: item.at, field, message: `${field}[${index}] is not a variable name` });
    return [];
  });
}

function setVariable(draft: Draft, name: string, setting: Setting): void {
  if (isVariableName(name)) draft.env.set(name, setting);
  else refuse(draft, { at: setting.at, field: setting.field, message: `${shownName(name)} is not a variable name` });
}

/** Systems allow nearly everything; only what cannot be passed on is refused. */
function isVariableName(name: string): boolean {
  return name !== "" && !/[=\0]/.test(name);
}

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
  else if (!headerName.test(name)) refuse(draft, { at, field, message: `${shownName(name)} is not a header name` });
  else draft.headers.set(name, setting);
}

const headerName = /^[\w!#$%&'*+.^`|~-]+$/;

/** Reads how to sign in: an object, or `false` when it must not happen. */
export function readOAuth(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "oauth", field, node.at)) return;
  if (node.kind === "flag") {
    if (readFlag(draft, node, field) === false) draft.oauth = false;
    else oauthOf(draft);
    return;
  }
  if (node.kind !== "object") return void wrongKind(draft, node, field, "an object, or false");
  readMembers(draft, node, field);
}

function readMembers(draft: Draft, node: ObjectNode, field: string): void {
  for (const [name, { at, value }] of node.members) {
    const inner = `${field}.${shownName(name)}`;
    const spelled = name.toLowerCase().replaceAll(/[^a-z]/g, "");
    const text = texts.get(spelled);
    if (value.kind === "nothing") continue;
    if (text !== undefined) readText(draft, value, inner, text);
    else if (spelled === "scope" || spelled === "scopes") readScopes(draft, value, inner);
    else if (spelled === "callbackport") readPort(draft, value, inner);
    else if (spelled === "enabled") readEnabled(draft, value, inner);
    else draft.ignored.push({ field: inner, place: at });
  }
}

/** Spelled in small letters and nothing else: dialects have `clientId`, `client_id` and `CLIENT_ID`. */
const texts: ReadonlyMap<string, OAuthText> = new Map<string, OAuthText>([
  ["clientid", "clientId"],
  ["clientsecret", "clientSecret"],
  ["redirecturi", "redirectUri"],
  ["authorizationurl", "authorizationUrl"],
  ["tokenurl", "tokenUrl"],
  ["authservermetadataurl", "metadataUrl"],
  ["metadataurl", "metadataUrl"],
  ["resource", "resource"],
]);

function readText(draft: Draft, node: ConfigNode, field: string, text: OAuthText): void {
  if (!claim(draft, `oauth.${text}`, field, node.at)) return;
  const setting = readSetting(draft, node, field);
  if (setting !== undefined) oauthOf(draft)?.texts.set(text, setting);
}

/** A list, or one text with spaces between scopes. */
export function readScopes(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "oauth.scopes", field, node.at)) return;
  const oauth = oauthOf(draft);
  if (oauth === undefined) return;
  const one = node.kind === "text" ? readSetting(draft, node, field) : undefined;
  oauth.scopes = one === undefined ? readSettings(draft, node, field) : [one];
}

export function readResource(draft: Draft, node: ConfigNode, field: string): void {
  readText(draft, node, field, "resource");
}

/** Gemini CLI can sign in with what Google's own tools have on a machine. */
export function readAuthProvider(draft: Draft, node: ConfigNode, field: string): void {
  if (node.kind !== "text") return void wrongKind(draft, node, field, "text");
  fact(draft, node, field, node.text);
  if (node.text === "dynamic_discovery") return;
  const message = `${field} is ${shownName(maskText(node.text))}, which is not there`;
  refuse(draft, { at: node.at, field, message, hint: "sign in by OAuth, or write headers" });
}

function readPort(draft: Draft, node: ConfigNode, field: string): void {
  const port = node.kind === "number" ? node.value : Number.NaN;
  if (!(Number.isInteger(port) && port > 0 && port < 65_536)) {
    return void wrongKind(draft, node, field, "a port from 1 to 65535");
  }
  fact(draft, node, field, String(port));
  const oauth = oauthOf(draft);
  if (oauth !== undefined) oauth.callbackPort = port;
}

function readEnabled(draft: Draft, node: ConfigNode, field: string): void {
  if (readFlag(draft, node, field) === false) draft.oauth = false;
}

/** What is said of OAuth by now. Undefined when it is forbidden. */
function oauthOf(draft: Draft): OAuthDraft | undefined {
  draft.oauth ??= { texts: new Map() };
  return draft.oauth === false ? undefined : draft.oauth;
}

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
function readSettings(draft: Draft, node: ConfigNode, field: string): Setting[] {
  if (node.kind !== "array") {
    wrongKind(draft, node, field, "a list");
    return [];
  }
  if (tooMany(draft, node, field, node.items.length)) return [];
  return node.items.flatMap((item, index) => readSetting(draft, item, `${field}[${index}]`) ?? []);
}

/** Texts by name, such as variables. A member that is null is left out. */
function readRecord(draft: Draft, node: ConfigNode, field: string): Map<string, Setting> {
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

/** Reports a field with a value of the wrong kind. */
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
