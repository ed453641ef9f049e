import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findConfigFiles } from "../../config/node/load-config.ts";
import type { HostSource } from "../../host/node/open-host.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Service } from "../../protocol/service.ts";
import type { CommandContext } from "../command.ts";
import { UsageError } from "../usage-error.ts";

/** Which servers a gateway has, and where that is said. */
export interface GatewaySources {
  readonly source: HostSource;
  /** For people. */
  readonly from: string;
  /** True for the server that comes with the package. */
  readonly isDemo: boolean;
}

interface SourcesOptions extends Pick<CommandContext, "cwd" | "env"> {
  /** Files that were named. */
  readonly files: readonly string[];
  /** Whether the user's own files count, too. */
  readonly withUser: boolean;
}

/** The servers of the files that were named, else of those of this folder, else the demo. */
export async function findGatewaySources({ files, withUser, cwd, env }: SourcesOptions): Promise<GatewaySources> {
  const named = files.map((file) => existing(resolve(cwd, file)));
  if (named.length > 0) return { source: named, from: named.join(", "), isDemo: false };
  const found = await findConfigFiles({ cwd, env });
  const paths = found.filter(({ scope }) => withUser || scope === "project").map(({ path }) => path);
  if (paths.length > 0) return { source: paths, from: paths.join(", "), isDemo: false };
  return { source: { bistro: { target: await loadDemo() } }, from: "the demo", isDemo: true };
}

function existing(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return path;
  throw new UsageError(
    `there is no file ${path}`,
    'such a file has { "mcpServers": { … } }; without one, the demo is served',
  );
}

/** The demo is an example of the package, beside what was built. */
async function loadDemo(): Promise<Service> {
  const path = join(packageFolder(), "examples", "bistro-server.mjs");
  const { bistro }: { bistro?: Service } = await import(pathToFileURL(path).href);
  if (bistro === undefined) throw new McpError("internal", `${path} has no demo in it`);
  return bistro;
}

function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!isFile(join(folder, "package.json")) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
