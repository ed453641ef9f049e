import type { Tool } from "../model/tool.ts";
import { lockServer, lockTools } from "./create-lock.ts";
import type { Lock, LockedServer, ServerSurface } from "./lock.ts";
import { memberOf, toRecord } from "./record.ts";

/** A lock in which these tools of a server are approved as they are now. All else stays. */
export async function approve(lock: Lock, server: string, ...tools: readonly Tool[]): Promise<Lock> {
  const before: LockedServer = memberOf(lock.servers, server) ?? { scopes: [], tools: {} };
  const locked = toRecord([...Object.entries(before.tools), ...(await lockTools(tools))]);
  return withServer(lock, server, { ...before, tools: locked });
}

/** A lock in which a server is approved as it is now, with everything it shows. */
export async function approveServer(lock: Lock, server: ServerSurface): Promise<Lock> {
  return withServer(lock, server.name, await lockServer(server));
}

/** A lock without these tools of a server; without names, without the server. */
export function forget(lock: Lock, server: string, ...tools: readonly string[]): Lock {
  const before = memberOf(lock.servers, server);
  if (before === undefined) return lock;
  if (tools.length === 0) {
    return { ...lock, servers: toRecord(Object.entries(lock.servers).filter(([name]) => name !== server)) };
  }
  const kept = Object.entries(before.tools).filter(([name]) => !tools.includes(name));
  return withServer(lock, server, { ...before, tools: toRecord(kept) });
}

function withServer(lock: Lock, name: string, server: LockedServer): Lock {
  return { ...lock, servers: toRecord([...Object.entries(lock.servers), [name, server]]) };
}
