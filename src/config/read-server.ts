import { maskText } from "../std/secrets.ts";
import { dialectOf } from "./dialects.ts";
import type { ParsedConfig, RawServer } from "./parse-config.ts";
import { shownName } from "./problem.ts";
import {
  fact,
  readArgs,
  readAuthProvider,
  readBearerVariable,
  readCommand,
  readDuration,
  readEnv,
  readEnvNames,
  readFlag,
  readHeaders,
  readHeaderVariables,
  readKeyringNames,
  readNames,
  readOAuth,
  readResource,
  readScopes,
  readSetting,
  readUrl,
  refuseField,
  wrongKind,
} from "./read-fields.ts";
import {
  claim,
  createDraft,
  type Draft,
  type FieldReader,
  refuse,
  type ServerType,
  type Setting,
  type Wrong,
} from "./server-draft.ts";
import { type ConfigNode, kindOf, limits, type ObjectNode } from "./tree.ts";

/** What an entry says, in one shape for all dialects. What is wrong with it is in its problems. */
export function readServer({ name, at, value, off }: RawServer, { dialect }: ParsedConfig): Draft {
  const draft = createDraft(name, at, dialectOf(dialect));
  const misnamed = wrongName(name);
  if (misnamed !== undefined) refuse(draft, { at, message: misnamed, hint: "rename it" });
  if (value.kind !== "object") {
    refuse(draft, { at: value.at, message: `a server must be an object, not ${kindOf(value)}` });
    return draft;
  }
  readFields(draft, value);
  if (off !== undefined) {
    draft.enabled = false;
    draft.facts.push({ field: "enabled", shown: "false", secret: false, place: off, variables: [] });
  }
  const wrong = draft.problems.length === 0 ? wrongTarget(draft, value) : undefined;
  if (wrong !== undefined) refuse(draft, wrong);
  else for (const { field, at: place } of unusedIn(draft)) draft.ignored.push({ field, place });
  return draft;
}

/** Names of servers are joined with those of tools by a colon. */
function wrongName(name: string): string | undefined {
  const shown = shownName(name);
  if (name === "") return "a server needs a name";
  if (name.includes(":")) return `the name ${shown} has a colon in it`;
  if (unprintable.test(name)) return `the name ${shown} has control characters in it`;
  if (name.trim() !== name) return `the name ${shown} begins or ends with white space`;
  if (name.length > limits.maxNameLength) return `the name ${shown} is longer than ${limits.maxNameLength} characters`;
  return undefined;
}

const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

function readFields(draft: Draft, node: ObjectNode): void {
  const type = node.members.get("type")?.value;
  const ofType = type?.kind === "text" ? readersOfType.get(type.text) : undefined;
  for (const [field, { at, value }] of node.members) {
    const read = ofType?.get(field) ?? fieldReaders.get(field);
    if (read === undefined) draft.ignored.push({ field: shownName(field), place: at });
    else if (value.kind !== "nothing") read(draft, value, field);
  }
}

/** A server is a command or a URL, and says so only once; or it is what its type says. */
function wrongTarget(draft: Draft, node: ObjectNode): Wrong | undefined {
  const { command, url, type, at } = draft;
  if (type?.is === "openapi" || type?.is === "module") {
    const field = type.is === "openapi" ? "document" : "module";
    if (draft[field] !== undefined) return undefined;
    return { at: type.at, field: "type", message: `the type wants a ${field}, and there is none` };
  }
  if (command === undefined && url === undefined) return { at, ...missingTarget(node) };
  if (type === undefined) {
    if (command === undefined || url === undefined) return undefined;
    return { at, message: "there is both a command and a URL", hint: "remove one of them, or say which by type" };
  }
  const [wanted, found] = type.is === "stdio" ? ["command", command] : ["URL", url];
  if (found !== undefined) return undefined;
  return { at: type.at, field: "type", message: `the type needs a ${wanted}, which is missing` };
}

/** Whether a draft that has no problems is a program to start. */
export function isCommand({ command, type }: Draft): boolean {
  return command !== undefined && (type === undefined || type.is === "stdio");
}

/** What only the other kind of server has a use for. */
function unusedIn(draft: Draft): readonly Setting[] {
  const { command, args, cwd, envFile, url, headers, type } = draft;
  const ofProgram = [command, ...args, cwd, envFile];
  if (type?.is === "openapi") return [...ofProgram, url].filter((setting) => setting !== undefined);
  if (type?.is === "module") return [...ofProgram, url, ...headers.values()].filter((setting) => setting !== undefined);
  const unused = isCommand(draft) ? [url, ...headers.values()] : ofProgram;
  return unused.filter((setting) => setting !== undefined);
}

function missingTarget({ members }: ObjectNode): { readonly message: string; readonly hint: string } {
  const source = members.get("source")?.value;
  if (source?.kind === "text" && source.text === "extension") {
    return { message: "an extension of Zed starts it", hint: "write the command that the extension runs" };
  }
  if (members.has("image")) {
    return {
      message: "there is an image, but no command",
      hint: 'write "docker", with run -i --rm and the image as args',
    };
  }
  return { message: "there is neither a command nor a URL", hint: "write command and args, or url" };
}

/** Every known field, in all its spellings. Fields that are not in the table are ignored, with a problem. */
const fieldReaders: ReadonlyMap<string, FieldReader> = new Map<string, FieldReader>([
  ["type", readType],
  ["transport", readType],
  ["transportType", readType],

  ["command", readCommand],
  ["cmd", readCommand],
  ["args", readArgs],
  ["env", readEnv],
  ["envs", readEnv],
  ["environment", readEnv],
  ["env_vars", readEnvNames],
  ["inheritEnv", readEnvNames],
  ["env_keys", readKeyringNames],
  ["cwd", text("cwd")],
  ["working_dir", text("cwd")],
  ["envFile", text("envFile")],
  ["env_file", text("envFile")],

  ["url", readUrl],
  ["httpUrl", readUrl],
  ["serverUrl", readUrl],
  ["uri", readUrl],
  ["headers", readHeaders],
  ["http_headers", readHeaders],
  ["env_http_headers", readHeaderVariables],
  ["bearer_token_env_var", readBearerVariable],
  ["bearer_token", refuseField("would have a token in the file", "write bearer_token_env_var")],
  ["headersHelper", refuseField("is a command that gives headers; commands are not run", "write headers")],

  ["oauth", readOAuth],
  ["auth", readOAuth],
  ["scopes", readScopes],
  ["oauth_resource", readResource],
  ["authProviderType", readAuthProvider],

  ["enabled", flag((draft, value) => switchTo(draft, value))],
  ["disabled", flag((draft, value) => switchTo(draft, !value))],

  ["timeout", readTimeout],
  ["connectTimeoutMs", duration("connectTimeoutMs", 1)],
  ["callTimeoutMs", duration("callTimeoutMs", 1)],
  ["startup_timeout_ms", duration("connectTimeoutMs", 1)],
  ["startup_timeout_sec", duration("connectTimeoutMs", 1_000)],
  ["tool_timeout_sec", duration("callTimeoutMs", 1_000)],
  ["initTimeout", duration("connectTimeoutMs", 1)],

  ["includeTools", names("allow")],
  ["allowedTools", names("allow")],
  ["enabled_tools", names("allow")],
  ["available_tools", names("allow")],
  ["excludeTools", names("deny")],
  ["disabledTools", names("deny")],
  ["disabled_tools", names("deny")],
  ["tools", readTools],

  ["trust", flag((draft, value) => value && trustAll(draft))],
  ["autoApprove", readTrusted],
  ["alwaysAllow", readTrusted],

  ["description", readDescription],
  // What they define was read with the inputs of the file.
  ["customUserVars", () => {}],
]);

/** Fields that are valid for one type of server only. */
const readersOfType: ReadonlyMap<string, ReadonlyMap<string, FieldReader>> = new Map([
  [
    "openapi",
    new Map<string, FieldReader>([
      ["document", text("document")],
      ["baseUrl", text("baseUrl")],
      ["include", names("include")],
      ["exclude", names("exclude")],
    ]),
  ],
  ["module", new Map<string, FieldReader>([["module", text("module")]])],
]);

function text(what: "cwd" | "envFile" | "document" | "baseUrl" | "module"): FieldReader {
  return (draft, node, field) => {
    if (!claim(draft, what, field, node.at)) return;
    const setting = readSetting(draft, node, field);
    if (setting !== undefined) draft[what] = setting;
  };
}

function flag(use: (draft: Draft, value: boolean) => unknown): FieldReader {
  return (draft, node, field) => {
    const value = readFlag(draft, node, field);
    if (value !== undefined) use(draft, value);
  };
}

/** A server with both `enabled` and `disabled` is disabled if either says so. */
function switchTo(draft: Draft, on: boolean): void {
  draft.enabled &&= on;
}

function duration(what: "connectTimeoutMs" | "callTimeoutMs", unitMs: number): FieldReader {
  return (draft, node, field) => {
    if (!claim(draft, what, field, node.at)) return;
    const ms = readDuration(draft, node, field, unitMs);
    if (ms !== undefined) draft[what] = ms;
  };
}

/** A number whose unit depends on the dialect, or `{ startup, request }` in milliseconds. */
function readTimeout(draft: Draft, node: ConfigNode, field: string): void {
  const { limits = "call", unitMs = 1 } = draft.dialect.timeout ?? {};
  if (node.kind !== "object") {
    duration(limits === "call" ? "callTimeoutMs" : "connectTimeoutMs", unitMs)(draft, node, field);
    return;
  }
  for (const [name, { at, value }] of node.members) {
    const inner = `${field}.${shownName(name)}`;
    if (name === "startup") duration("connectTimeoutMs", 1)(draft, value, inner);
    else if (name === "request") duration("callTimeoutMs", 1)(draft, value, inner);
    else draft.ignored.push({ field: inner, place: at });
  }
}

function names(what: "allow" | "deny" | "include" | "exclude"): FieldReader {
  return (draft, node, field) => {
    if (!claim(draft, what, field, node.at)) return;
    const found = readNames(draft, node, field);
    const all = what === "allow" && found?.length === 0 && draft.dialect.emptyAllowsAll;
    if (found !== undefined && !all) draft[what] = found;
  };
}

/** A list of what is allowed, or `{ allow, deny }`. Other objects say something else of tools in some dialects. */
function readTools(draft: Draft, node: ConfigNode, field: string): void {
  const members = node.kind === "object" ? node.members : [];
  for (const [name, { at, value }] of members) {
    const inner = `${field}.${shownName(name)}`;
    if ((name === "allow" || name === "deny") && value.kind === "array") names(name)(draft, value, inner);
    else draft.ignored.push({ field: inner, place: at });
  }
  if (node.kind !== "object") names("allow")(draft, node, field);
}

/** Names of tools, among which `*` is all of them; or a flag. */
function readTrusted(draft: Draft, node: ConfigNode, field: string): void {
  const found = node.kind === "flag" ? [] : readNames(draft, node, field);
  const all = node.kind === "flag" ? readFlag(draft, node, field) : found?.includes("*");
  if (all) trustAll(draft);
  else if (draft.trust !== "all" && found !== undefined && found.length > 0) {
    draft.trust = [...(draft.trust ?? []), ...found];
  }
}

function trustAll(draft: Draft): void {
  draft.trust = "all";
}

function readDescription(draft: Draft, node: ConfigNode, field: string): void {
  if (node.kind !== "text") return void draft.ignored.push({ field, place: node.at });
  fact(draft, node, field, node.text);
  draft.description = node.text;
}

/** Reads `type` or `transport`, in any way it is spelled. */
function readType(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "type", field, node.at)) return;
  if (node.kind !== "text") return void wrongKind(draft, node, field, "text");
  const letters = node.text.toLowerCase().replaceAll(/[^a-z]/g, "");
  const is = types.get(letters);
  fact(draft, node, field, node.text);
  if (is !== undefined) {
    draft.type = { is, at: node.at };
    return;
  }
  const reason = unserved.get(letters);
  const said = `${field} is ${shownName(maskText(node.text))}`;
  const message = reason === undefined ? `${said}, which is not known` : `${said}: ${reason}`;
  refuse(draft, { at: node.at, field, message, hint: "known are stdio, http, sse, openapi and module" });
}

const types: ReadonlyMap<string, ServerType> = new Map<string, ServerType>([
  ["stdio", "stdio"],
  ["local", "stdio"],
  ["command", "stdio"],
  ["process", "stdio"],
  ["http", "http"],
  ["https", "http"],
  ["streamable", "http"],
  ["streamablehttp", "http"],
  ["httpstream", "http"],
  ["sse", "sse"],
  ["httpsse", "sse"],
  ["remote", "remote"],
  ["url", "remote"],
  ["openapi", "openapi"],
  ["module", "module"],
]);

/** What exists, but not outside of the program the file is for. */
const unserved: ReadonlyMap<string, string> = new Map([
  ["ws", "there is no WebSocket transport"],
  ["websocket", "there is no WebSocket transport"],
  ["builtin", "that is a part of Goose itself"],
  ["platform", "that is a part of Goose itself"],
  ["frontend", "its tools are in the window of Goose"],
  ["inlinepython", "its code would have to be run by Goose"],
  ["sdk", "that lives in the program that the file is for"],
  ["inmemory", "that lives in the program that the file is for"],
  ["docker", "an image is not a command; write docker as the command, with run -i --rm and the image as args"],
]);
