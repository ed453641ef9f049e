import type { ConfigEnvironment } from "../../config/environment.ts";
import { loadConfig } from "../../config/node/load-config.ts";
import { type ConfigEvent, watchConfig } from "../../config/node/watch-config.ts";
import { formatConfigProblem } from "../../config/problem.ts";
import { type Config, configFromObject } from "../../config/resolve-config.ts";
import { locate } from "../../connect/connect.ts";
import { dialEntry } from "../../connect/connect-entries.ts";
import type { Lock } from "../../lock/lock.ts";
import { readLock } from "../../lock/node/lock-file.ts";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../../protocol/option-names.ts";
import type { ToolTypes } from "../../protocol/tool.ts";
import { createHost, type Host, type HostOptions, type HostParts, hostOptionNames } from "../host.ts";
import { type Servers, toSpecs } from "../server-registry.ts";
import { type AuthFor, createSpecs, type ServerSpec } from "../spec.ts";

export interface OpenHostOptions extends Omit<HostOptions, "lock"> {
  /** For variables and inputs of files. Default: the environment of this process, and nobody to ask. */
  readonly environment?: ConfigEnvironment | undefined;
  /** Shows servers of files who the host is. */
  readonly auth?: AuthFor | undefined;
  /**
   * True lets files say which tools need no approval, as some dialects do. A file
   * that comes with a project would approve its own servers. Default false.
   */
  readonly trustFileApprovals?: boolean | undefined;
  /** True reads files again whenever they change, and touches only the servers that did. */
  readonly watch?: boolean | undefined;
  /** Hears of what is wrong with files, beside the servers that are `off` for it. */
  readonly onConfigProblem?: ((message: string) => void) | undefined;
  /** What was approved: the path of a `plugbay.lock`, or what one says. */
  readonly lock?: Lock | string | undefined;
}

export const openHostOptionNames: OptionNames<OpenHostOptions> = {
  ...hostOptionNames,
  environment: true,
  auth: true,
  trustFileApprovals: true,
  watch: true,
  onConfigProblem: true,
};

/** Which servers a host has: the path of a file or several, what such a file would say, or servers given in code. */
export type HostSource = string | readonly string[] | ConfigObject | Servers;

/** What a config file has at its top. */
export type ConfigObject =
  | { readonly mcpServers: object }
  | { readonly context_servers: object }
  | { readonly mcp_servers: object };

/**
 * Opens a host: over the servers of a file, of several files from the general to
 * the particular, of what such a file would say, or over servers given in code.
 *
 * Resolves as soon as it is known which servers there are; they are connected to
 * in the background. Rejects with `invalid-config` when a file cannot be
 * understood. A problem of one server makes that one `off`, with the reason.
 *
 * Give the `HostTools` of `plugbay/typegen` to have the tools typed: `openHost<HostTools>("mcp.json")`.
 */
export async function openHost<T extends ToolTypes = ToolTypes>(
  source: HostSource,
  options: OpenHostOptions = {},
): Promise<Host<T>> {
  checkOptionNames("openHost", options, openHostOptionNames);
  return openHostWith<T>(source, options);
}

/** Opens a host like {@link openHost}, with parts that nobody else gives it. */
export async function openHostWith<T extends ToolTypes = ToolTypes>(
  source: HostSource,
  options: OpenHostOptions,
  more: Pick<HostParts, "own" | "views" | "pageSize" | "listsAbsent" | "shape" | "guard"> = {},
): Promise<Host<T>> {
  const parts: HostParts = { dial: dialEntry, locate, ...more };
  const {
    lock: given,
    environment,
    auth,
    trustFileApprovals = false,
    watch = false,
    onConfigProblem,
    ...rest
  } = options;
  const lock = typeof given === "string" ? await lockAt(given) : given;
  const hostOptions = { ...rest, ...(lock && { lock }) };
  if (!isConfig(source)) return createHost<T>(toSpecs(source), hostOptions, parts);

  const specsOf = createSpecs({ auth, trustFileApprovals });
  const take = (config: Config): Readonly<Record<string, ServerSpec>> => {
    for (const problem of config.problems) {
      if (problem.level === "warning" || problem.server === undefined) onConfigProblem?.(formatConfigProblem(problem));
    }
    return specsOf(config);
  };
  const files = filesOf(source);
  if (files === undefined) {
    const config = await configFromObject(source as ConfigObject, {
      ...environment,
      env: environment?.env ?? process.env,
    });
    return createHost<T>(take(config), hostOptions, parts);
  }
  const over = new AbortController();
  const host = createHost<T>(take(await loadConfig(files, environment)), hostOptions, {
    ...parts,
    onClose: () => over.abort(),
  });
  if (watch)
    void followFiles(watchConfig(files, { ...environment, signal: over.signal }), { host, take, onConfigProblem });
  return host;
}

interface Following {
  readonly host: Pick<Host, "update">;
  take(config: Config): Readonly<Record<string, ServerSpec>>;
  readonly onConfigProblem: ((message: string) => void) | undefined;
}

/** Takes over what files say, until the host is closed. What cannot be read changes nothing. */
async function followFiles(
  events: AsyncIterable<ConfigEvent>,
  { host, take, onConfigProblem }: Following,
): Promise<void> {
  try {
    for await (const event of events) {
      if (event.type === "failed") onConfigProblem?.(event.error.message);
      // What is replaced may go on for a while: the next change does not wait for it.
      else host.update(take(event.config)).catch((error: unknown) => onConfigProblem?.(messageOf(error)));
    }
  } catch (error) {
    onConfigProblem?.(`the files are not watched any more: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function lockAt(path: string): Promise<Lock> {
  const lock = await readLock(path);
  if (lock !== undefined) return lock;
  throw new McpError("invalid-config", `${path}: there is no such file; without it nothing is approved`);
}

function isConfig(source: HostSource): source is string | readonly string[] | ConfigObject {
  if (typeof source === "string" || Array.isArray(source)) return true;
  return ["mcpServers", "context_servers", "mcp_servers"].some((key) => key in source);
}

function filesOf(source: string | readonly string[] | ConfigObject): readonly string[] | undefined {
  if (typeof source === "string") return [source];
  return isList(source) ? source : undefined;
}

function isList(source: readonly string[] | ConfigObject): source is readonly string[] {
  return Array.isArray(source);
}
