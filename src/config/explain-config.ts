import { dialectOf } from "./dialect.ts";
import type { ConfigProblem } from "./problem.ts";
import type { Config, ConfigFile } from "./resolve-config.ts";
import { maskText } from "./secrets.ts";
import type { FieldOrigin, IgnoredField, ServerOrigin } from "./server-entry.ts";

/** What became of a configuration, and why. Plain data without secrets. */
export interface ConfigExplanation {
  readonly servers: readonly ServerExplanation[];
  /** Problems that are of no server. */
  readonly problems: readonly ConfigProblem[];
  readonly files: readonly ConfigFile[];
}

export interface ServerExplanation extends Omit<ServerOrigin, "dialect"> {
  /** What people call the program that the file is for. */
  readonly app: string;
  /** `unusable` says that there is an error among the problems. */
  readonly status: "on" | "off" | "unusable";
  readonly fields: readonly FieldOrigin[];
  readonly ignored: readonly IgnoredField[];
  readonly problems: readonly ConfigProblem[];
}

/**
 * Says for every server and field which value it has, in which file and line it
 * was found, which variables were used, what it replaces and what was ignored.
 * Values that are secret, or may be, are hidden.
 */
export function explainConfig({ servers, problems, files, origins }: Config): ConfigExplanation {
  const usable = new Map(servers.map((server) => [server.name, server]));
  const explained = origins.map((origin): ServerExplanation => {
    const { dialect, ...said } = origin;
    const entry = usable.get(origin.name);
    return {
      ...said,
      app: dialectOf(dialect).app,
      status: entry === undefined ? "unusable" : entry.enabled ? "on" : "off",
      problems: problems.filter(({ server }) => server === origin.name),
    };
  });
  return {
    servers: explained,
    problems: problems.filter(({ server }) => server === undefined),
    files: files.map((file) => ({ ...file, path: maskText(file.path) })),
  };
}
