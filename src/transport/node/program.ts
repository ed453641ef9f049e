import { constants, existsSync } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { dirname, join, posix, win32 } from "node:path";
import { isSecretName } from "../../std/secret-names.ts";
import { createMask, type Mask, maskArgs, maskText, secretsInArgs } from "../../std/secrets.ts";
import type { ChildEnv, Command } from "../command.ts";

/** The command as a person would type it, shortened, without secrets. */
export function commandText(command: Command): string {
  const text = commandMask(command)([maskText(command.command), ...maskArgs(command.args ?? [])].join(" "));
  return text.length > maxTextChars ? `${text.slice(0, maxTextChars)}...` : text;
}

/**
 * Hides what a program was given from what is told of it: secrets among its arguments, and every variable but those that
 * only say where and as whom it runs. Paths stay readable in messages.
 */
export function commandMask(command: Command): Mask {
  return createMask(secretsOf(command));
}

function secretsOf({ args = [], env = {}, inheritEnv = [] }: Command): readonly string[] {
  const inherited = inheritEnv.flatMap((name) => (isAmbient(name) ? [] : (process.env[name] ?? [])));
  return [...secretsInArgs(args), ...Object.values(env), ...inherited];
}

/** Whether a variable of ours says where and as whom a program runs. What shells and npm set beside it is no secret, either. */
function isAmbient(name: string): boolean {
  const known = [...safeOnPosix, ...safeOnWindows, ...ofShells];
  if (known.includes(process.platform === "win32" ? name.toUpperCase() : name)) return true;
  return /^npm_/i.test(name) && !isSecretName(name);
}

const ofShells = ["PWD", "OLDPWD", "INIT_CWD", "HOSTNAME", "SHLVL", "NODE", "NODE_PATH", "_"];

const maxTextChars = 200;

interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

interface System {
  readonly platform: string;
  readonly execPath: string;
}

/**
 * What the system can start without a shell.
 *
 * On Windows `npm` and `npx` are batch files, and those run only in a shell,
 * which would interpret the arguments; so Node runs their scripts itself.
 */
export function toProgram({ command, args = [] }: Command, system: System = process): Program {
  const name = system.platform === "win32" ? /^(npm|npx)(\.cmd)?$/i.exec(command)?.[1] : undefined;
  if (name === undefined) return { file: command, args };
  const script = join(dirname(system.execPath), "node_modules", "npm", "bin", `${name.toLowerCase()}-cli.js`);
  return existsSync(script) ? { file: system.execPath, args: [script, ...args] } : { file: command, args };
}

/** What a command would start. */
interface FoundProgram {
  /** The file that is started. Absent when there is none. */
  readonly path?: string;
  /** The same file, all symbolic links followed. */
  readonly file?: string;
  /** The folder that it is started in, all symbolic links followed. */
  readonly cwd: string;
}

export interface ProgramSource extends EnvSource {
  readonly execPath: string;
  cwd(): string;
}

/**
 * Finds what a command would start, as the system does: a path as it is, from
 * the folder that the program is started in, and a name in the `PATH` that the
 * program would see.
 */
export async function findProgram(command: Command, source: ProgramSource = process): Promise<FoundProgram> {
  const cwd = folderOf(command, source);
  const realCwd = (await unlessFailing(realpath(cwd))) ?? cwd;
  for (const path of candidates(command, source)) {
    const file = await executableAt(path);
    if (file !== undefined) return { path, file, cwd: realCwd };
  }
  return { cwd: realCwd };
}

function folderOf(command: Command, source: ProgramSource): string {
  const { resolve } = source.platform === "win32" ? win32 : posix;
  return resolve(source.cwd(), command.cwd ?? "");
}

/** Where the system looks for a program, in this order. */
export function candidates(command: Command, source: ProgramSource): readonly string[] {
  const cwd = folderOf(command, source);
  const { file } = toProgram(command, source);
  return source.platform === "win32"
    ? onWindows(file, cwd, pathOf(command, source))
    : onPosix(file, cwd, pathOf(command, source));
}

/** Names of variables have no case on Windows. */
function pathOf(command: Command, source: ProgramSource): string | undefined {
  const env = childEnv(command, source);
  if (source.platform !== "win32") return env.PATH;
  return Object.entries(env).find(([name]) => name.toUpperCase() === "PATH")?.[1];
}

function onPosix(file: string, cwd: string, path = "/usr/bin:/bin"): readonly string[] {
  if (file.includes("/")) return [posix.resolve(cwd, file)];
  return path.split(":").map((folder) => posix.resolve(cwd, folder, file));
}

function onWindows(file: string, cwd: string, path = ""): readonly string[] {
  const folders = /[\\/]/.test(file) ? [cwd] : [cwd, ...path.split(";").filter((folder) => folder !== "")];
  const endings = /\.[^\\/.]+$/.test(file) ? ["", ".com", ".exe"] : [".com", ".exe"];
  return folders.flatMap((folder) => endings.map((ending) => win32.resolve(cwd, folder, file + ending)));
}

/** Where a file really is that can be started. Undefined when there is none. */
async function executableAt(path: string): Promise<string | undefined> {
  const file = await unlessFailing(realpath(path));
  if (file === undefined || !(await unlessFailing(stat(file)))?.isFile()) return undefined;
  return unlessFailing(access(file, constants.X_OK).then(() => file));
}

async function unlessFailing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch {
    return undefined;
  }
}

interface EnvSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
}

/**
 * The environment of a child: the safe part of ours, then what was configured.
 *
 * Our tokens and keys are not for every server we start, so anything that is
 * not on the list has to be named. Exported shell functions are never passed on.
 */
export function childEnv({ env = {}, inheritEnv = [] }: ChildEnv, source: EnvSource = process): Record<string, string> {
  const foldsCase = source.platform === "win32";
  const sameName = (name: string): string => (foldsCase ? name.toUpperCase() : name);
  const configured = new Set(Object.keys(env).map(sameName));
  const names = [...(foldsCase ? safeOnWindows : safeOnPosix), ...inheritEnv];

  const inherited = names.flatMap((name): [string, string][] => {
    const value = source.env[name];
    if (value === undefined || value.startsWith("()") || configured.has(sameName(name))) return [];
    return [[name, value]];
  });
  return { ...Object.fromEntries(inherited), ...env };
}

const safeOnPosix = ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

const safeOnWindows = [
  "APPDATA",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PATHEXT",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMFILES",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "TMP",
  "USERNAME",
  "USERPROFILE",
];
