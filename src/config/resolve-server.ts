import { defined } from "../std/defined.ts";
import { hidden, maskArgs, maskText, withoutSecrets } from "../std/secrets.ts";
import type { ConfigProblem, SourceLocation } from "./problem.ts";
import { isCommand } from "./read-server.ts";
import { resolveDocument, resolveModule } from "./resolve-document.ts";
import { expandOptional, expandRecord, type ResolvedTarget, resolveUrl } from "./resolve-url.ts";
import type { Draft, Setting } from "./server-draft.ts";
import type { FieldOrigin, OAuthSettings, ServerEntry, ServerOrigin } from "./server-entry.ts";
import { limits } from "./tree.ts";
import { createExpander, type Expanded, type Expander, type Variables } from "./variables.ts";

export interface ResolvedServer {
  /** Absent when there is an error among the problems. */
  readonly entry?: ServerEntry;
  readonly origin: ServerOrigin;
  readonly problems: readonly ConfigProblem[];
}

interface ResolveServerOptions {
  readonly variables: Variables;
  readonly lenient: boolean;
  /** Entries of the same name that this one replaces. */
  readonly replaces: readonly SourceLocation[];
}

/** Puts variables into what was read of a server. */
export async function resolveServer(draft: Draft, options: ResolveServerOptions): Promise<ResolvedServer> {
  const expander = createExpander(draft, options.variables, options.lenient);
  const readable = draft.problems.length === 0;
  const { target, fields, envFile } = readable ? await resolveTarget(draft, expander, options) : nothing;
  const oauth = readable ? await resolveOAuth(draft, expander) : { fields: [] };
  const origin: ServerOrigin = {
    name: draft.name,
    dialect: draft.dialect.name,
    place: draft.at,
    fields: withoutTheirSecrets([...fields, ...oauth.fields, ...draft.facts], expander.secrets),
    ignored: draft.ignored,
    replaces: options.replaces,
  };
  const problems = [...draft.problems, ...expander.problems];
  if (target === undefined || problems.some(({ level }) => level === "error")) return { origin, problems };
  return { entry: toEntry(draft, { target, envFile, oauth: oauth.settings, origin }), origin, problems };
}

const nothing: ResolvedTarget = { target: undefined, fields: [] };

function resolveTarget(draft: Draft, expander: Expander, { variables }: ResolveServerOptions): Promise<ResolvedTarget> {
  if (draft.type?.is === "openapi") return resolveDocument(draft, expander, variables);
  if (draft.type?.is === "module") return resolveModule(draft, expander, variables);
  return isCommand(draft) ? resolveCommand(draft, expander, variables) : resolveUrl(draft, expander);
}

/** Hides what is secret in one field wherever else it is. */
function withoutTheirSecrets(fields: readonly FieldOrigin[], secrets: Iterable<string>): readonly FieldOrigin[] {
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  return fields.map((field) => {
    const shown = withoutSecrets(field.shown, longestFirst);
    return shown === field.shown ? field : { ...field, shown, secret: true };
  });
}

interface ResolvedOAuth {
  readonly settings?: OAuthSettings | false;
  readonly fields: readonly FieldOrigin[];
}

async function resolveOAuth({ oauth }: Draft, expander: Expander): Promise<ResolvedOAuth> {
  if (oauth === undefined) return { fields: [] };
  if (oauth === false) return { settings: false, fields: [] };
  const texts: [string, Expanded | undefined][] = [];
  for (const [name, setting] of oauth.texts) {
    texts.push([name, await expander.expand(setting, { sensitive: name === "clientSecret" })]);
  }
  const scopes = oauth.scopes === undefined ? undefined : await expandAll(oauth.scopes, expander);
  const { callbackPort } = oauth;
  const settings: OAuthSettings = {
    ...Object.fromEntries(texts.map(([name, expanded]) => [name, expanded?.text])),
    ...defined({
      callbackPort,
      scopes: scopes?.flatMap(({ text }) => text.split(/\s+/).filter((word) => word !== "")),
    }),
  };
  const fields = [...texts.map(([, expanded]) => expanded), ...(scopes ?? [])];
  return { settings, fields: fields.flatMap((expanded) => expanded?.origin ?? []) };
}

/** Those of the settings that have a value. */
async function expandAll(settings: readonly Setting[], expander: Expander): Promise<readonly Expanded[]> {
  const all: Expanded[] = [];
  for (const setting of settings) {
    const expanded = await expander.expand(setting);
    if (expanded !== undefined) all.push(expanded);
  }
  return all;
}

interface EntryParts {
  readonly target: ServerEntry["target"];
  readonly envFile: string | undefined;
  readonly oauth: OAuthSettings | false | undefined;
  readonly origin: ServerOrigin;
}

function toEntry(draft: Draft, { target, envFile, oauth, origin }: EntryParts): ServerEntry {
  const { name, enabled, description, connectTimeoutMs, callTimeoutMs, allow, deny, trust } = draft;
  const tools = allow === undefined && deny === undefined ? undefined : defined({ allow, deny });
  const more = defined({ description, connectTimeoutMs, callTimeoutMs, tools, oauth, trust, envFile });
  return { name, target, enabled, ...more, origin };
}

/** The program of a server, ready to be started. */
async function resolveCommand(draft: Draft, expander: Expander, variables: Variables): Promise<ResolvedTarget> {
  const command = await expandOptional(draft.command, expander);
  const args = await expandArgs(draft.args, expander);
  const env = await expandRecord(draft.env, expander);
  const cwd = await expandOptional(draft.cwd, expander);
  const file = await readEnvFile(draft, expander, variables);
  const given = [command, ...args, ...env.map(([, value]) => value), cwd, file.setting];
  const fields = [...given.flatMap((expanded) => expanded?.origin ?? []), ...file.fields];
  if (command === undefined || draft.command === undefined) return { target: undefined, fields };
  checkCommand(command.text, draft.command, expander);
  const inherit = draft.inheritEnv.length === 0 ? undefined : draft.inheritEnv;
  const values = new Map([...file.values, ...env.map(([name, value]) => [name, value.text] as const)]);
  const target = {
    command: command.text,
    args: args.map(({ text }) => text),
    ...(values.size > 0 && { env: Object.fromEntries(values) }),
    ...defined({ cwd: cwd === undefined ? undefined : variables.resolvePath(cwd.text), inheritEnv: inherit }),
  };
  return { target, fields, ...(file.path !== undefined && { envFile: file.path }) };
}

/** What an argument shows depends on the one before it. */
async function expandArgs(settings: readonly Setting[], expander: Expander): Promise<readonly Expanded[]> {
  const args: Expanded[] = [];
  for (const setting of settings) {
    const arg = await expander.expand(setting, { own: "left" });
    if (arg !== undefined) args.push(arg);
  }
  const masked = maskArgs(args.map(({ shown }) => shown));
  return args.map((arg, index) => {
    const shown = masked[index] ?? hidden;
    if (shown === arg.shown) return arg;
    for (const secret of secretsIn(arg.text)) expander.secrets.add(secret);
    return { ...arg, shown, origin: { ...arg.origin, shown, secret: true } };
  });
}

/** What may be secret in `abc`, `--token=abc` and `Authorization: Bearer abc`. */
function secretsIn(arg: string): readonly string[] {
  const [, value = arg] = /^[^=\s]+=(.*)$/s.exec(arg) ?? /^[\w-]+:\s*(.*)$/s.exec(arg) ?? [];
  return [value, ...value.split(/\s+/)];
}

function checkCommand(command: string, setting: Setting, expander: Expander): void {
  const hint = "write the program as command, and each word after it in args";
  if (command.trim() === "") expander.refuse(setting, "names no program");
  else if (isShellLine(command)) expander.refuse(setting, "is a whole command line", hint);
}

/** Whether a command contains arguments. Spaces alone do not decide: paths of programs contain them, too. */
function isShellLine(command: string): boolean {
  const [first = "", ...others] = command.trim().split(/\s+/);
  if (others.length === 0) return false;
  return !/[\\/]/.test(first) || others.some((word) => /^(?:[-/|&;<>"'$]|[a-z]+:\/\/)/i.test(word));
}

interface EnvFileValues {
  readonly setting?: Expanded | undefined;
  readonly path?: string;
  readonly values: ReadonlyMap<string, string>;
  readonly fields: readonly FieldOrigin[];
}

/** More variables from a file. Those of the entry itself count more. */
async function readEnvFile(draft: Draft, expander: Expander, variables: Variables): Promise<EnvFileValues> {
  const none = { values: new Map<string, string>(), fields: [] };
  const { envFile, enabled } = draft;
  const setting = await expandOptional(envFile, expander);
  if (envFile === undefined || setting === undefined || !enabled) return { ...none, setting };
  const { path, text } = await variables.readFile(setting.text, "project");
  if (text === undefined) {
    expander.refuse(envFile, "names a file that cannot be read", "create it, or correct the path");
    return { ...none, setting };
  }
  const values = new Map<string, string>();
  const fields: FieldOrigin[] = [];
  for (const line of parseEnvFile(text)) {
    const place: SourceLocation = { path: maskText(path), line: line.line, column: 1 };
    if (!line.ok) {
      expander.refuse({ field: envFile.field, at: place }, `names a file in which ${line.problem}`);
    } else if (!draft.env.has(line.name)) {
      values.set(line.name, line.value);
      expander.secrets.add(line.value);
      fields.push({ field: `env.${line.name}`, shown: hidden, secret: true, place, variables: [] });
    }
  }
  return { setting, path, values, fields };
}

/** One variable of an env file, or an invalid line. */
export type EnvLine =
  | { readonly ok: true; readonly line: number; readonly name: string; readonly value: string }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/**
 * Parses lines of `NAME=value`, with optional `export` and comments.
 *
 * Quotes preserve white space and `#`; double quotes also support `
 * `, `\r`, `\t`, `\"` and `\\`. Quoted values may span several lines. Nothing is expanded or run. Of duplicate names,
 * the last one counts.
 */
export function parseEnvFile(text: string): readonly EnvLine[] {
  const lines: EnvLine[] = [];
  let [at, line] = [0, 1];
  while (at < text.length && lines.length < limits.maxItems) {
    const match = matchAt(pair, text, at) ?? matchAt(anything, text, at);
    const whole = match?.[0] ?? "";
    const read = readLine(match?.groups ?? {}, whole, line);
    if (read !== undefined) lines.push(read);
    const end = at + whole.length + (matchAt(lineBreak, text, at + whole.length)?.[0].length ?? 0);
    line += text.slice(at, end).match(lineBreaks)?.length ?? 0;
    at = Math.max(end, at + 1);
  }
  return lines;
}

const pair =
  /[ \t]*(?:export[ \t]+)?(?<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*(?:"(?<double>[^"\\]*(?:\\[\s\S][^"\\]*)*)"|'(?<single>[^']*)'|(?<plain>(?!["'])(?:[^\r\n#]|(?<=\S)#)*))[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\r|$)/y;
const anything = /[^\r\n]*/y;
const lineBreak = /\r\n|\r|\n/y;
const lineBreaks = /\r\n|\r|\n/g;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function readLine(
  groups: Readonly<Record<string, string | undefined>>,
  whole: string,
  line: number,
): EnvLine | undefined {
  const { name, double, single, plain = "" } = groups;
  if (name === undefined) {
    const isEmpty = /^[ \t]*(?:#|$)/.test(whole);
    return isEmpty ? undefined : { ok: false, line, problem: "this line is not NAME=value" };
  }
  const value = double === undefined ? (single ?? plain.trim()) : withoutEscapes(double);
  return { ok: true, line, name, value };
}

function withoutEscapes(text: string): string {
  return text.replaceAll(/\\([nrt"\\])/g, (_, letter: string) => escapes[letter] ?? letter);
}

const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
