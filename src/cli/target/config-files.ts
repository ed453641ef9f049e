import { resolve } from "node:path";
import type { WellKnownConfig } from "../../config/environment.ts";
import { findConfigFiles, type ReadConfigFiles, readConfigFiles } from "../../config/node/load-config.ts";
import type { ParsedConfig } from "../../config/parse-config.ts";
import type { CommandContext } from "../command.ts";

/** The configuration files of a command line. */
export interface ConfigFiles extends ReadConfigFiles {
  /** Files that programs keep here, from the general to the particular. Empty where files were named. */
  readonly known: readonly WellKnownConfig[];
}

/** Where configuration files are looked for. */
export interface ConfigPlace extends Pick<CommandContext, "env" | "cwd"> {
  /** Files to read instead of those that programs keep here. */
  readonly files: readonly string[];
}

/** Reads the files that were named, else those of all programs that exist here. */
export async function readAllConfigs({ env, cwd, files }: ConfigPlace): Promise<ConfigFiles> {
  const known = files.length > 0 ? [] : await findConfigFiles({ cwd, env });
  const sources = files.length > 0 ? files.map((file) => resolve(cwd, file)) : known;
  return { ...(await readConfigFiles(sources, { env })), known };
}

/** Names of all servers, each once. */
export function serverNames({ parsed }: Pick<ConfigFiles, "parsed">): readonly string[] {
  return [...new Set(parsed.flatMap(({ servers }) => servers.map(({ name }) => name)))];
}

/** What the files say of one server, so that nothing is asked for and nothing fails for the others. */
export function onlyServer(parsed: readonly ParsedConfig[], name: string): readonly ParsedConfig[] {
  return parsed.map((config) => ({ ...config, servers: config.servers.filter((server) => server.name === name) }));
}
