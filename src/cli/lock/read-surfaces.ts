import { resolveConfig } from "../../config/resolve-config.ts";
import type { ServerEntry } from "../../config/server-entry.ts";
import { openHost } from "../../host/node/open-host.ts";
import { createSpecs, type ServerSpec } from "../../host/spec.ts";
import type { Lock, ServerSurface } from "../../lock/lock.ts";
import type { Authorizer } from "../../protocol/authorizer.ts";
import { McpError } from "../../protocol/errors.ts";
import type { CommandContext } from "../command.ts";
import { storedAuth } from "../sign-in/stored-auth.ts";
import { readAllConfigs, serverNames } from "../target/config-files.ts";
import { refuseTakenOver } from "../target/named-target.ts";
import { UsageError } from "../usage-error.ts";

/** What servers show now, and those that a lock kept from being started. */
export interface Surfaces {
  readonly surfaces: readonly ServerSurface[];
  readonly refused: readonly { readonly server: string; readonly message: string }[];
}

interface ReadSurfacesOptions {
  /** Servers by name. Empty: all that are on. */
  readonly names: readonly string[];
  readonly files: readonly string[];
  /** Nothing outside of it is started. */
  readonly lock?: Lock | undefined;
}

/** Connects to servers of the configuration files, and reads all that they show. Rejects when one cannot be reached. */
export async function readSurfaces(
  { names, files, lock }: ReadSurfacesOptions,
  context: CommandContext,
): Promise<Surfaces> {
  const specs = await readSpecs(names, files, context);
  const read = await Promise.all(Object.entries(specs).map(([name, spec]) => readOne(name, spec, { lock, context })));
  return {
    surfaces: read.flatMap((one) => ("message" in one ? [] : one)),
    refused: read.flatMap((one) => ("message" in one ? one : [])),
  };
}

/** The servers that were named, or all that are on. */
async function readSpecs(
  names: readonly string[],
  named: readonly string[],
  context: CommandContext,
): Promise<Readonly<Record<string, ServerSpec>>> {
  const { env, cwd } = context;
  const files = await readAllConfigs({ env, cwd, files: named });
  const [broken] = files.broken;
  if (broken !== undefined) throw broken;
  const known = serverNames(files);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const hint = "see them with: plugbay list";
    throw new UsageError(`there is no server ${JSON.stringify(unknown)}`, hint, { name: unknown, known });
  }
  const config = await resolveConfig(files.parsed, files.environment);
  const wanted = config.origins.filter(({ name }) => names.length === 0 || names.includes(name));
  for (const { name } of wanted) refuseTakenOver(name, files);
  const auths = await readAuths(config.servers, context);
  const specs = createSpecs({ auth: ({ url }) => auths.get(url), trustFileApprovals: false })({
    ...config,
    origins: wanted,
  });
  const isOn = ([name, { disabled }]: readonly [string, ServerSpec]): boolean =>
    names.includes(name) || disabled?.code !== "unsupported";
  const on = Object.entries(specs).filter(isOn);
  if (on.length === 0) throw new UsageError("there are no servers", "see where they are looked for: plugbay config");
  return Object.fromEntries(on);
}

async function readAuths(
  servers: readonly ServerEntry[],
  context: CommandContext,
): Promise<ReadonlyMap<string, Authorizer | undefined>> {
  const urls = servers.flatMap((server) => ("url" in server.target ? [[server.target.url, server] as const] : []));
  const usable = urls.filter(([url, { oauth }]) => URL.canParse(url) && oauth !== false);
  return new Map(
    await Promise.all(
      usable.map(async ([url, server]) => [url, await storedAuth(new URL(url), context, server)] as const),
    ),
  );
}

interface ReadOneOptions {
  readonly lock: Lock | undefined;
  readonly context: CommandContext;
}

async function readOne(
  name: string,
  spec: ServerSpec,
  { lock, context: { signal } }: ReadOneOptions,
): Promise<ServerSurface | { readonly server: string; readonly message: string }> {
  if (spec.disabled !== undefined) throw new McpError(spec.disabled.code, spec.disabled.message);
  const host = await openHost({ [name]: spec }, { lock, connect: "lazy" });
  try {
    const [surface] = await host.readSurfaces(signal);
    if (surface === undefined) throw new McpError("connection-closed", `the server ${name} showed nothing`);
    return surface;
  } catch (error) {
    if (error instanceof McpError && error.code === "denied") return { server: name, message: error.message };
    throw error;
  } finally {
    // The process ends what does not end by itself.
    void host.close();
  }
}
