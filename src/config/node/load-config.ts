import { access, open } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve, sep } from "node:path";
import { McpError } from "../../protocol/errors.ts";
import { defined, type OrUndefined } from "../../std/defined.ts";
import type { DialectName } from "../dialects.ts";
import { type ConfigEnvironment, type Machine, type WellKnownConfig, wellKnownConfigs } from "../environment.ts";
import { type ParsedConfig, parseConfig } from "../parse-config.ts";
import { invalidConfig } from "../problem.ts";
import { type Config, resolveConfig } from "../resolve-config.ts";
import { limits } from "../tree.ts";

/** A file to read: its path, or its path and whose it is. */
export type ConfigSource = string | { readonly path: string; readonly dialect?: DialectName | undefined };

/** What is not given is taken from this process. */
export type LoadConfigOptions = ConfigEnvironment;

/**
 * Reads configuration files of any application, resolves their variables, and merges the files: pass them from the
 * general to the particular; later files take precedence.
 *
 * Rejects with `invalid-config` when a file is missing or invalid as a whole. Problems of single servers are in
 * `problems`.
 */
export async function loadConfig(
  sources: ConfigSource | readonly ConfigSource[],
  options: LoadConfigOptions = {},
): Promise<Config> {
  const environment = environmentOf(options);
  return resolveConfig(await Promise.all(parseFiles(sources, environment)), environment);
}

/** Configuration files, each read or refused for itself. */
export interface ReadConfigFiles {
  readonly parsed: readonly ParsedConfig[];
  /** Files that are invalid as a whole: `invalid-config`, with the location. */
  readonly broken: readonly McpError[];
  /** What variables are put in from. */
  readonly environment: ConfigEnvironment;
}

/** Reads configuration files, for callers that continue with the valid ones. Rejects with nothing else. */
export async function readConfigFiles(
  sources: readonly ConfigSource[],
  options: LoadConfigOptions = {},
): Promise<ReadConfigFiles> {
  const environment = environmentOf(options);
  const read = await Promise.allSettled(parseFiles(sources, environment));
  return {
    parsed: read.flatMap((one) => (one.status === "fulfilled" ? one.value : [])),
    broken: read.flatMap((one) => (one.status === "rejected" ? toInvalidConfig(one.reason) : [])),
    environment,
  };
}

function toInvalidConfig(reason: unknown): McpError {
  if (reason instanceof McpError && reason.code === "invalid-config") return reason;
  throw reason;
}

function parseFiles(
  sources: ConfigSource | readonly ConfigSource[],
  environment: ConfigEnvironment,
): readonly Promise<ParsedConfig>[] {
  const ofUser = userFiles(environment);
  return placesOf(sources, environment).map(async (source) => {
    const config = await readSource(source);
    return ofUser.has(source.path) ? { ...config, folder: process.cwd() } : config;
  });
}

/** Sources with absolute paths. `~` is the home of the user. */
export function placesOf(
  sources: ConfigSource | readonly ConfigSource[],
  { userHome = homedir() }: ConfigEnvironment,
): readonly Exclude<ConfigSource, string>[] {
  const list = isList(sources) ? sources : [sources];
  return list.map((source) => {
    const { path, ...more } = typeof source === "string" ? { path: source } : source;
    return { ...more, path: /^~[\\/]/.test(path) ? join(userHome, path.slice(2)) : resolve(path) };
  });
}

async function readSource({ path, dialect }: Exclude<ConfigSource, string>): Promise<ParsedConfig> {
  const text = await readOrExplain(path);
  return parseConfig(text, { path, ...(dialect !== undefined && { dialect }) });
}

async function readOrExplain(path: string): Promise<string> {
  let text: string | undefined;
  try {
    text = await readTextFile(path);
  } catch (error) {
    if (error instanceof TypeError) throw invalidConfig({ path }, "the file is not UTF-8");
    const why = error instanceof Error ? error.message : "";
    throw new McpError("invalid-config", `${path}: the file cannot be read: ${why}`, { cause: error, data: { path } });
  }
  if (text === undefined) throw invalidConfig({ path }, "there is no such file");
  return text;
}

function environmentOf(options: LoadConfigOptions): ConfigEnvironment {
  return { readText: readTextFile, pathSeparator: sep, env: process.env, userHome: homedir(), ...defined(options) };
}

/** Files that are for every project: the folder of work is then the one that this process runs in. */
function userFiles({ env = {}, userHome: home = homedir() }: ConfigEnvironment): ReadonlySet<string> {
  const known = wellKnownConfigs({ cwd: process.cwd(), home, platform: process.platform, env });
  return new Set(known.flatMap(({ scope, path }) => (scope === "user" ? resolve(path) : [])));
}

function isList(sources: ConfigSource | readonly ConfigSource[]): sources is readonly ConfigSource[] {
  return Array.isArray(sources);
}

/**
 * The text of a file, or undefined when it does not exist. Rejects when it is too long, not UTF-8, or cannot be read.
 */
async function readTextFile(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, "r");
    const info = await file.stat();
    if (!info.isFile()) throw new Error("this is not a file");
    if (info.size > limits.maxTextLength * maxBytesPerCharacter) throw new Error("the file is too long");
    return decoder.decode(await file.readFile());
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) {
      return undefined;
    }
    throw error;
  }
}

const maxBytesPerCharacter = 3;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The existing configuration files of all known applications, from the general to the particular, in the order that
 * `loadConfig` expects. Options default to this process.
 *
 * Files of a project may have another author. Ask before their servers are started.
 */
export async function findConfigFiles(
  machine: OrUndefined<Partial<Machine>> = {},
): Promise<readonly WellKnownConfig[]> {
  const { cwd = process.cwd(), home = homedir(), platform = process.platform, env = process.env } = machine;
  const known = wellKnownConfigs({ cwd, home, platform, env });
  const paths = new Set<string>();
  const found: WellKnownConfig[] = [];
  for (const config of known) {
    const path = resolve(config.path);
    if (paths.has(path) || !(await exists(path))) continue;
    paths.add(path);
    found.push({ ...config, path });
  }
  return found;
}

export async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
