import { claim, type Draft, type FieldReader } from "./draft.ts";
import { shownName } from "./problem.ts";
import { readArgs, readCommand, readEnv, readEnvNames, readKeyringNames } from "./read-command.ts";
import { readAuthProvider, readOAuth, readResource, readScopes } from "./read-oauth.ts";
import { readType } from "./read-type.ts";
import { readBearerVariable, readHeaders, readHeaderVariables, readUrl, refuseField } from "./read-url.ts";
import { fact, readDuration, readFlag, readNames, readSetting } from "./read-values.ts";
import type { ConfigNode } from "./tree.ts";

/** Every field that means something here, in all the ways it is spelled. What is not in the table is ignored, and told so. */
export const fieldReaders: ReadonlyMap<string, FieldReader> = new Map<string, FieldReader>([
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

function text(what: "cwd" | "envFile"): FieldReader {
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

/** Files that say both `enabled` and `disabled` mean the more careful of the two. */
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

function names(what: "allow" | "deny"): FieldReader {
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
