import { defined } from "../std/defined.ts";
import type { Draft, Setting } from "./draft.ts";
import { parseEnvFile } from "./env-file.ts";
import type { Expanded, Expander } from "./expander.ts";
import type { Place } from "./place.ts";
import { hidden, maskArgs, maskText } from "./secrets.ts";
import type { CommandTarget, FieldOrigin, UrlTarget } from "./server-entry.ts";
import type { Variables } from "./variables.ts";

/** What became of where a server is. */
export interface ResolvedTarget {
  readonly target: CommandTarget | UrlTarget | undefined;
  readonly fields: readonly FieldOrigin[];
  readonly envFile?: string;
}

/** The program of a server, ready to be started. */
export async function resolveCommand(draft: Draft, expander: Expander, variables: Variables): Promise<ResolvedTarget> {
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

async function expandOptional(setting: Setting | undefined, expander: Expander): Promise<Expanded | undefined> {
  return setting === undefined ? undefined : expander.expand(setting);
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

/** Variables and headers: all of them may be secret. */
export async function expandRecord(
  settings: ReadonlyMap<string, Setting>,
  expander: Expander,
  own?: ReadonlyMap<string, string>,
): Promise<readonly (readonly [string, Expanded])[]> {
  const record: (readonly [string, Expanded])[] = [];
  for (const [name, setting] of settings) {
    const value = await expander.expand(setting, { sensitive: true, ...(own !== undefined && { own }) });
    if (value !== undefined) record.push([name, value]);
  }
  return record;
}

function checkCommand(command: string, setting: Setting, expander: Expander): void {
  const hint = "write the program as command, and each word after it in args";
  if (command.trim() === "") expander.refuse(setting, "names no program");
  else if (isShellLine(command)) expander.refuse(setting, "is a whole command line", hint);
}

/**
 * Whether a command goes on behind the program. Spaces alone do not tell: paths
 * of programs have them too.
 */
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
    const place: Place = { path: maskText(path), line: line.line, column: 1 };
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
