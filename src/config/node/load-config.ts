import { homedir } from "node:os";
import { join, resolve, sep } from "node:path";
import { McpError } from "../../model/errors.ts";
import type { DialectName } from "../dialect.ts";
import { type ParsedConfig, parseConfig } from "../parse-config.ts";
import { invalidConfig } from "../problem.ts";
import { type Config, resolveConfig } from "../resolve-config.ts";
import type { Surroundings } from "../surroundings.ts";
import { wellKnownConfigs } from "../well-known.ts";
import { readTextFile } from "./read-text.ts";

/** A file to read: its path, or its path and whose it is. */
export type ConfigSource = string | { readonly path: string; readonly dialect?: DialectName };

/** What is not given is taken from this process. */
export type LoadConfigOptions = Surroundings;

/**
 * Reads configuration files of any host, puts their variables in, and the files
 * together: give them from the general to the particular, a later one counts more.
 *
 * Rejects with `invalid-config` when a file is missing or cannot be understood as
 * a whole. What is wrong with one server is among the `problems`.
 */
export async function loadConfig(
  sources: ConfigSource | readonly ConfigSource[],
  options: LoadConfigOptions = {},
): Promise<Config> {
  const surroundings = surroundingsOf(options);
  const ofUser = userFiles(surroundings);
  const parsed = placesOf(sources, surroundings).map(async (source) => {
    const config = await readSource(source);
    return ofUser.has(source.path) ? { ...config, folder: process.cwd() } : config;
  });
  return resolveConfig(await Promise.all(parsed), surroundings);
}

/** Sources with absolute paths. `~` is the home of the user. */
export function placesOf(
  sources: ConfigSource | readonly ConfigSource[],
  { userHome = homedir() }: Surroundings,
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
    if (error instanceof TypeError) throw invalidConfig({ path }, "the file is no UTF-8");
    const why = error instanceof Error ? error.message : "";
    throw new McpError("invalid-config", `${path}: the file cannot be read: ${why}`, { cause: error, data: { path } });
  }
  if (text === undefined) throw invalidConfig({ path }, "there is no such file");
  return text;
}

function surroundingsOf(options: LoadConfigOptions): Surroundings {
  return { readText: readTextFile, pathSeparator: sep, env: process.env, userHome: homedir(), ...options };
}

/** Files that are for every project: the folder of work is then the one that this process runs in. */
function userFiles({ env = {}, userHome: home = homedir() }: Surroundings): ReadonlySet<string> {
  const known = wellKnownConfigs({ cwd: process.cwd(), home, platform: process.platform, env });
  return new Set(known.flatMap(({ scope, path }) => (scope === "user" ? resolve(path) : [])));
}

function isList(sources: ConfigSource | readonly ConfigSource[]): sources is readonly ConfigSource[] {
  return Array.isArray(sources);
}
