import type { Dialect, VariableSyntax } from "./dialects.ts";
import type { ConfigProblem, SourceLocation } from "./problem.ts";
import type { FieldOrigin, IgnoredField } from "./server-entry.ts";
import type { ConfigNode } from "./tree.ts";

/** A text of an entry, before variables are put in. */
export interface Setting {
  /** Such as `args[0]` or `env.API_KEY`. */
  readonly field: string;
  readonly at: SourceLocation;
  readonly parts: readonly Part[];
}

/** The kinds of servers. `remote` is at a URL, and how it speaks is found out. */
export type ServerType = "stdio" | "http" | "sse" | "remote" | "openapi" | "module";

/** What is read of one entry, field by field, whichever way the dialect spells them. */
export interface Draft {
  readonly name: string;
  readonly at: SourceLocation;
  readonly dialect: Dialect;
  enabled: boolean;
  /** What `type` or `transport` says, if anything. */
  type?: { readonly is: ServerType; readonly at: SourceLocation };
  description?: string;
  command?: Setting;
  args: Setting[];
  readonly env: Map<string, Setting>;
  inheritEnv: string[];
  cwd?: Setting;
  envFile?: Setting;
  url?: Setting;
  readonly headers: Map<string, Setting>;
  document?: Setting;
  baseUrl?: Setting;
  include?: readonly string[];
  exclude?: readonly string[];
  module?: Setting;
  connectTimeoutMs?: number;
  callTimeoutMs?: number;
  allow?: readonly string[];
  deny?: readonly string[];
  trust?: "all" | readonly string[];
  oauth?: OAuthDraft | false;
  /** Fields that cannot have variables, as they are shown. */
  readonly facts: FieldOrigin[];
  readonly ignored: IgnoredField[];
  readonly problems: ConfigProblem[];
  /** What was said already, by the field that said it. */
  readonly fieldNames: Map<string, string>;
}

/** Reads one field of an entry into a draft. */
export type FieldReader = (draft: Draft, node: ConfigNode, field: string) => void;

export interface OAuthDraft {
  /** By the name of the setting. */
  readonly texts: Map<OAuthText, Setting>;
  scopes?: readonly Setting[];
  callbackPort?: number;
}

export type OAuthText =
  | "clientId"
  | "clientSecret"
  | "redirectUri"
  | "authorizationUrl"
  | "tokenUrl"
  | "metadataUrl"
  | "resource";

export function createDraft(name: string, at: SourceLocation, dialect: Dialect): Draft {
  return {
    name,
    at,
    dialect,
    enabled: true,
    args: [],
    env: new Map(),
    inheritEnv: [],
    headers: new Map(),
    facts: [],
    ignored: [],
    problems: [],
    fieldNames: new Map(),
  };
}

/** What is wrong with a part of an entry. */
export interface Wrong {
  readonly at: SourceLocation;
  readonly field?: string;
  readonly message: string;
  readonly hint?: string;
}

/** Notes an error of this server. */
export function refuse(draft: Draft, { at, ...wrong }: Wrong): void {
  draft.problems.push({ level: "error", place: at, server: draft.name, ...wrong });
}

/** Whether this is the first field that says such a thing. It is an error when two of them do. */
export function claim(draft: Draft, what: string, field: string, at: SourceLocation): boolean {
  const other = draft.fieldNames.get(what);
  draft.fieldNames.set(what, field);
  if (other === undefined) return true;
  refuse(draft, { at, field, message: `${field} says the same as ${other}`, hint: "keep one of them" });
  return false;
}

/** A piece of a text that may have variables in it. */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  | Reference
  /** Text that looks like a variable but is not one in this dialect; it is not changed. */
  | { readonly kind: "foreign"; readonly name: string; readonly written: string }
  /** A variable within a variable, which no dialect agrees on. */
  | { readonly kind: "nested"; readonly written: string };

export interface Reference {
  readonly kind: "reference";
  /** `place` is a folder or text that the host provides, such as `workspaceFolder`. */
  readonly source: "env" | "input" | "file" | "place";
  readonly name: string;
  /** Used when the variable is not set, or empty. */
  readonly fallback?: string;
  readonly written: string;
}

/**
 * Takes a text apart. Nothing is expanded twice: what a variable brings in is
 * never looked at again, and nothing is ever run.
 */
export function parseTemplate(text: string, syntaxes: readonly VariableSyntax[]): readonly Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const part = readReference(match, syntaxes);
    if (part === undefined) continue;
    if (match.index > end) parts.push({ kind: "text", text: text.slice(end, match.index) });
    parts.push(part);
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ kind: "text", text: text.slice(end) });
  return parts;
}

const pattern =
  /\$\{(?<inner>[^}]{0,512})\}|\{\{\s{0,8}(?<user>\w{1,128})\s{0,8}\}\}|\{(?<curly>env|file):(?<path>[^}]{1,512})\}|\$(?<bare>[A-Za-z_]\w{0,127})/g;

function readReference(match: RegExpMatchArray, syntaxes: readonly VariableSyntax[]): Part | undefined {
  const [written] = match;
  const { inner, user, curly, path, bare } = match.groups ?? {};
  if (inner !== undefined) return readBraces(inner, written, syntaxes);
  if (user !== undefined && syntaxes.includes("mustache")) return reference("input", user, written);
  if (curly !== undefined && syntaxes.includes("curly")) {
    return reference(curly === "env" ? "env" : "file", (path ?? "").trim(), written);
  }
  if (bare !== undefined && syntaxes.includes("dollar")) return reference("env", bare, written);
  return undefined;
}

/** What is between `${` and `}`. */
function readBraces(inner: string, written: string, syntaxes: readonly VariableSyntax[]): Part | undefined {
  if (inner.includes("${")) return syntaxes.length === 0 ? undefined : { kind: "nested", written };
  const known = readPrefixed(inner, written, syntaxes);
  if (known !== undefined) return known;
  const part = named(inner, written);
  if (part !== undefined) return syntaxes.includes("braces") ? part : { kind: "foreign", name: part.name, written };
  // Editors know more, such as commands to run and settings of their own.
  return syntaxes.includes("editor") && /^\w+:/.test(inner) ? { kind: "foreign", name: inner, written } : undefined;
}

/** `env:NAME`, `input:id`, `file:path`, and the names of places. */
function readPrefixed(inner: string, written: string, syntaxes: readonly VariableSyntax[]): Reference | undefined {
  const [, prefix, rest = ""] = /^(env|input|file):(.+)$/s.exec(inner) ?? [];
  if (prefix === "file") return syntaxes.includes("file") ? reference("file", rest, written) : undefined;
  if (!syntaxes.includes("editor")) return undefined;
  if (prefix === "env") return named(rest, written);
  if (prefix === "input") return reference("input", rest, written);
  return places.has(inner) ? reference("place", inner, written) : undefined;
}

/** `NAME` or `NAME:-default`. */
function named(text: string, written: string): Reference | undefined {
  const [, name, fallback] = /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(text) ?? [];
  if (name === undefined) return undefined;
  const part = reference("env", name, written);
  return fallback === undefined ? part : { ...part, fallback };
}

function reference(source: Reference["source"], name: string, written: string): Reference {
  return { kind: "reference", source, name, written };
}

const places: ReadonlySet<string> = new Set([
  "workspaceFolder",
  "workspaceFolderBasename",
  "userHome",
  "cwd",
  "pathSeparator",
  "/",
]);
