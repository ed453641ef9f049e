import { toAlias } from "../bridge/alias.ts";
import type { Lock, LockedServer, LockedTarget, ServerSurface } from "../lock/lock.ts";
import { lockedTarget } from "../lock/target.ts";
import { McpError } from "../model/errors.ts";
import { type Era, eraOf } from "../model/revision.ts";
import { type HostTool, originalOf, toHostTool } from "./host-tool.ts";
import { qualify } from "./names.ts";
import type { Seat } from "./seat.ts";
import type { ServerSpec } from "./spec.ts";

const listed = new WeakMap<LockedServer, readonly HostTool[]>();

/** The tools of a server as they were approved. Undefined when nobody has approved the server. */
export function toolsIn(lock: Lock | undefined, server: string): readonly HostTool[] | undefined {
  const locked = serverIn(lock, server);
  if (locked === undefined) return undefined;
  const known = listed.get(locked) ?? Object.values(locked.tools).map(({ definition }) => place(server, definition));
  listed.set(locked, known);
  return known;
}

/** What a server spoke when it was approved. */
export function eraIn(lock: Lock | undefined, server: string): Era | undefined {
  const revision = serverIn(lock, server)?.revision;
  return revision && eraOf(revision);
}

/**
 * Why a server must not even be connected to: it is not where it was approved, or
 * would be given more than was. Undefined when nothing speaks against it.
 */
export function objectionOf(lock: Lock | undefined, server: string, spec: ServerSpec): McpError | undefined {
  const locked = serverIn(lock, server);
  if (locked === undefined) return undefined;
  const now = lockedTarget(targetOf(spec.target).target);
  if (locked.target !== undefined && placeOf(locked.target) !== placeOf(now)) {
    return objection(
      server,
      `it was approved at ${placeOf(locked.target)}, and is at ${placeOf(now) ?? "another place"} now`,
    );
  }
  const more = (spec.scopes ?? []).filter((scope) => !locked.scopes.includes(scope));
  return more.length === 0 ? undefined : objection(server, `the scopes ${more.join(", ")} were not approved`);
}

function placeOf(target: LockedTarget | undefined): string | undefined {
  if (target === undefined) return undefined;
  return "url" in target ? target.url : target.command;
}

function objection(server: string, why: string): McpError {
  return new McpError("forbidden", `the lockfile does not allow server ${server}: ${why}`);
}

function serverIn(lock: Lock | undefined, server: string): LockedServer | undefined {
  return lock !== undefined && Object.hasOwn(lock.servers, server) ? lock.servers[server] : undefined;
}

function place(server: string, tool: Parameters<typeof toHostTool>[1]): HostTool {
  return toHostTool(server, tool, (by, name) => toAlias(qualify(by, name)));
}

/** Everything a server shows, to be approved or compared. Connects if need be. */
export async function surfaceOf(seat: Seat, signal?: AbortSignal): Promise<ServerSurface> {
  const line = await seat.member.open(signal);
  const { client } = line;
  const options = { signal, fresh: true };
  const [tools, prompts, resources, resourceTemplates] = await Promise.all([
    seat.tools.get(line, options),
    seat.prompts.get(line, options),
    seat.resources.get(line, options),
    seat.resourceTemplates.get(line, options),
  ]);
  const { instructions, serverInfo } = client.server;
  return {
    name: seat.name,
    ...targetOf(seat.spec.target),
    ...(seat.spec.scopes && { scopes: seat.spec.scopes }),
    revision: client.revision,
    info: serverInfo,
    ...(instructions !== undefined && { instructions }),
    tools: tools.map(originalOf),
    prompts: prompts.map(withoutServer),
    resources: resources.map(withoutServer),
    resourceTemplates: resourceTemplates.map(withoutServer),
  };
}

function targetOf(target: Seat["spec"]["target"]): Pick<ServerSurface, "target"> {
  if (target instanceof URL) return { target: { url: target.href } };
  if (typeof target === "string") {
    return {
      target: /^https?:\/\//i.test(target) ? { url: target } : { command: target.trim().split(/\s+/)[0] ?? "" },
    };
  }
  if (typeof target !== "object") return {};
  if ("url" in target) return { target: { url: target.url } };
  return "command" in target ? { target: { command: target.command } } : {};
}

function withoutServer<T extends { readonly server: string }>({ server: _, ...item }: T): Omit<T, "server"> {
  return item;
}
