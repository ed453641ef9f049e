import type { Json, JsonObject } from "../json/json.ts";
import { defined } from "../std/defined.ts";
import type { Dialect, DialectName, VariableSyntax } from "./dialects.ts";
import { invalidConfig, shownName } from "./problem.ts";
import { isCommand } from "./read-server.ts";
import type { Draft, Part, Reference, Setting } from "./server-draft.ts";

/** An entry in the format of a dialect. */
export interface WrittenServer {
  readonly entry: JsonObject;
  /** Fields that say more than the dialect can: they are left out. No value is in them. */
  readonly lost: readonly string[];
}

/**
 * Converts a server to another dialect. Variables are kept as variables, and none is resolved. Throws `invalid-config`
 * when a part that the dialect cannot express would change the server.
 */
export function writeServer(draft: Draft, dialect: Dialect): WrittenServer {
  const [problem] = draft.problems;
  if (problem !== undefined) throw invalidConfig(problem.place, `${shownName(draft.name)}: ${problem.message}`);
  if (draft.type?.is === "openapi" || draft.type?.is === "module") {
    const what = `${shownName(draft.name)} is of the type ${draft.type.is}`;
    throw invalidConfig(
      draft.at,
      `${what}, which no other program knows: serve it, and write the URL or command of that`,
    );
  }
  const lost: string[] = [];
  const { program, remote, off } = shapes[dialect.name];
  const write = isCommand(draft) ? program : remote;
  if (write === undefined) {
    throw invalidConfig(
      draft.at,
      `${shownName(draft.name)} is at a URL, and ${dialect.app} reads programs only from this file`,
    );
  }
  const entry = write({ draft, dialect, lost });
  if (!draft.enabled && off === undefined) lost.push("enabled");
  for (const field of neverWritten) if (draft[field] !== undefined) lost.push(field);
  return { entry: { ...entry, ...(!draft.enabled && off && { [off]: off === "disabled" }) }, lost };
}

/** Members that most dialects cannot express, or that the user has to set again. */
const neverWritten = ["trust", "oauth", "connectTimeoutMs", "callTimeoutMs", "allow", "deny", "envFile"] as const;

interface Writing {
  readonly draft: Draft;
  readonly dialect: Dialect;
  readonly lost: string[];
}

type Writer = (writing: Writing) => JsonObject;

interface Shape {
  readonly program: Writer;
  /** Undefined: the file is for programs only. */
  readonly remote: Writer | undefined;
  /** The field that switches a server off. */
  readonly off?: "disabled" | "enabled";
}

const plain: Shape = { program: (writing) => command(writing), remote: (writing) => url(writing) };

const shapes: { readonly [N in DialectName]: Shape } = {
  generic: { ...plain, off: "disabled" },
  "claude-code": { program: (writing) => command(writing), remote: (writing) => typed(writing, "http") },
  "claude-desktop": { program: (writing) => command(writing), remote: undefined },
  cline: {
    program: (writing) => command(writing),
    remote: (writing) => typed(writing, "streamableHttp"),
    off: "disabled",
  },
  codex: { program: codexProgram, remote: codexRemote, off: "enabled" },
  copilot: {
    program: (writing) => ({ type: "local", ...command(writing), tools: ["*"] }),
    remote: (writing) => ({ ...typed(writing, "http"), tools: ["*"] }),
  },
  cursor: plain,
  gemini: {
    program: (writing) => command(writing, { cwd: "cwd" }),
    remote: (writing) => url(writing, { url: writing.draft.type?.is === "sse" ? "url" : "httpUrl" }),
  },
  goose: {
    program: (writing) => ({
      name: writing.draft.name,
      type: "stdio",
      enabled: true,
      ...command(writing, { command: "cmd", env: "envs" }),
    }),
    remote: (writing) => ({ name: writing.draft.name, enabled: true, ...typed(writing, "streamable_http", "uri") }),
    off: "enabled",
  },
  inspector: {
    program: (writing) => ({ type: "stdio", ...command(writing) }),
    remote: (writing) => typed(writing, "streamable-http"),
  },
  jetbrains: plain,
  kiro: { ...plain, off: "disabled" },
  librechat: {
    program: (writing) => ({ type: "stdio", ...command(writing) }),
    remote: (writing) => typed(writing, "streamable-http"),
  },
  "mcp-cli": plain,
  opencode: { program: opencodeProgram, remote: (writing) => ({ type: "remote", ...url(writing) }), off: "enabled" },
  roo: {
    program: (writing) => command(writing, { cwd: "cwd" }),
    remote: (writing) => typed(writing, "streamable-http"),
    off: "disabled",
  },
  vscode: {
    program: (writing) => ({ type: "stdio", ...command(writing, { cwd: "cwd" }) }),
    remote: (writing) => typed(writing, "http"),
  },
  windsurf: {
    program: (writing) => command(writing),
    remote: (writing) => url(writing, { url: "serverUrl" }),
    off: "disabled",
  },
  zed: plain,
};

/** How a dialect calls the parts of a program. */
interface ProgramNames {
  readonly command?: string;
  readonly env?: string;
  /** Absent: the dialect cannot express it. */
  readonly cwd?: string;
}

function command({ draft, dialect, lost }: Writing, names: ProgramNames = {}): JsonObject {
  const cwd = folderOf({ draft, dialect, lost }, names.cwd);
  const env = record(draft.env, dialect, lost);
  const inherited = draft.inheritEnv.filter((name) => !(name in env));
  for (const name of inherited) {
    const text = variable({ kind: "reference", source: "env", name, written: name }, dialect.variables);
    if (text === undefined) lost.push(`env.${shownName(name)}`);
    else env[name] = text;
  }
  return {
    [names.command ?? "command"]: needed(draft.command, dialect),
    args: draft.args.map((arg) => needed(arg, dialect)),
    ...(Object.keys(env).length > 0 && { [names.env ?? "env"]: env }),
    ...cwd,
  };
}

function folderOf({ draft, dialect, lost }: Writing, name: string | undefined): JsonObject {
  if (draft.cwd === undefined) return {};
  const text = name === undefined ? undefined : textOf(draft.cwd, dialect.variables);
  if (name !== undefined && text !== undefined) return { [name]: text };
  lost.push("cwd");
  return {};
}

function url({ draft, dialect, lost }: Writing, names: { readonly url?: string } = {}): JsonObject {
  const headers = record(draft.headers, dialect, lost);
  return {
    [names.url ?? "url"]: needed(draft.url, dialect),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

/** A URL with what the dialect calls streamable HTTP. */
function typed(writing: Writing, http: string, name = "url"): JsonObject {
  return { type: writing.draft.type?.is === "sse" ? "sse" : http, ...url(writing, { url: name }) };
}

function opencodeProgram(writing: Writing): JsonObject {
  const { command: program = "", args, environment } = command(writing, { env: "environment" });
  const words = [program, ...(Array.isArray(args) ? (args as readonly Json[]) : [])];
  return { type: "local", command: words, ...defined({ environment }) };
}

/** Codex knows variables by their names only: one is passed on, or none. */
function codexProgram({ draft, dialect, lost }: Writing): JsonObject {
  const isPassedOn = ([name, setting]: readonly [string, Setting]): boolean => variableOf(setting) === name;
  const passed = [...draft.inheritEnv, ...[...draft.env].filter(isPassedOn).map(([name]) => name)];
  const env = new Map([...draft.env].filter((pair) => !isPassedOn(pair)));
  const entry = command({ draft: { ...draft, env, inheritEnv: [] }, dialect, lost }, { cwd: "cwd" });
  return { ...entry, ...(passed.length > 0 && { env_vars: passed }) };
}

function codexRemote({ draft, dialect, lost }: Writing): JsonObject {
  const byName = new Map<string, string>();
  const headers = new Map<string, Setting>();
  let bearer: string | undefined;
  for (const [name, setting] of draft.headers) {
    const whole = variableOf(setting);
    const token = name.toLowerCase() === "authorization" ? variableOf(setting, "Bearer ") : undefined;
    if (token !== undefined) bearer = token;
    else if (whole !== undefined) byName.set(name, whole);
    else headers.set(name, setting);
  }
  const http_headers = record(headers, dialect, lost);
  return {
    url: needed(draft.url, dialect),
    ...(bearer !== undefined && { bearer_token_env_var: bearer }),
    ...(byName.size > 0 && { env_http_headers: Object.fromEntries(byName) }),
    ...(Object.keys(http_headers).length > 0 && { http_headers }),
  };
}

/** The variable that a setting is nothing but, after a text. */
function variableOf({ parts }: Setting, before = ""): string | undefined {
  const [first, ...others] = parts;
  if (before === "") return others.length === 0 ? plainVariable(first) : undefined;
  const isLed = first?.kind === "text" && first.text === before && others.length === 1;
  return isLed ? plainVariable(others[0]) : undefined;
}

function plainVariable(part: Part | undefined): string | undefined {
  if (part?.kind !== "reference" || part.source !== "env" || part.fallback !== undefined) return undefined;
  return part.name;
}

function record(settings: ReadonlyMap<string, Setting>, dialect: Dialect, lost: string[]): Record<string, Json> {
  const written: Record<string, Json> = {};
  for (const [name, setting] of settings) {
    const text = textOf(setting, dialect.variables);
    if (text === undefined) lost.push(setting.field);
    else written[name] = text;
  }
  return written;
}

/** A text that the server requires. */
function needed(setting: Setting | undefined, dialect: Dialect): string {
  if (setting === undefined) return "";
  const text = textOf(setting, dialect.variables);
  if (text !== undefined) return text;
  throw invalidConfig(
    setting.at,
    `${setting.field} has a variable that files of ${dialect.app} cannot have: write its value`,
  );
}

/** A text with its variables as a dialect writes them, or undefined when it cannot. */
function textOf({ parts }: Setting, syntaxes: readonly VariableSyntax[]): string | undefined {
  let text = "";
  for (const part of parts) {
    const piece = pieceOf(part, syntaxes);
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
}

function pieceOf(part: Part, syntaxes: readonly VariableSyntax[]): string | undefined {
  if (part.kind === "text") return part.text;
  return part.kind === "reference" ? variable(part, syntaxes) : part.written;
}

function variable({ source, name, fallback }: Reference, syntaxes: readonly VariableSyntax[]): string | undefined {
  const syntax = syntaxes.find((one) => spellings[one][source] !== undefined);
  // A default is known between braces only.
  if (fallback !== undefined) return syntaxes.includes("braces") ? `\${${name}:-${fallback}}` : undefined;
  return syntax && spellings[syntax][source]?.(name);
}

type Spelling = (name: string) => string;

/** The spelling of variables in each syntax. The definition of an input is elsewhere in a file and is not converted. */
const spellings: { readonly [S in VariableSyntax]: { readonly [K in Reference["source"]]?: Spelling } } = {
  braces: { env: (name) => `\${${name}}` },
  editor: { env: (name) => `\${env:${name}}`, place: (name) => `\${${name}}` },
  file: { file: (name) => `\${file:${name}}` },
  dollar: { env: (name) => `$${name}` },
  curly: { env: (name) => `{env:${name}}`, file: (name) => `{file:${name}}` },
  mustache: {},
};
