import { createLock } from "../../lock/approve.ts";
import { diffLock, type LockDiff } from "../../lock/diff-lock.ts";
import { formatLockDiff } from "../../lock/format-lock-diff.ts";
import type { Lock, LockedServer, ServerSurface } from "../../lock/lock.ts";
import { UsageError } from "../usage-error.ts";

/** One server of a lock file or a snapshot. Throws a {@link UsageError} where it is not clear which. */
export function serverIn({ servers }: Lock, path: string, wanted: string | undefined): LockedServer {
  const names = Object.keys(servers);
  const [only, ...others] = names;
  const name = wanted ?? (others.length === 0 ? only : undefined);
  if (name !== undefined && Object.hasOwn(servers, name) && servers[name] !== undefined) return servers[name];
  if (only === undefined) throw new UsageError(`there is no server in ${path}`);
  if (wanted === undefined) throw new UsageError(`${path} has several servers`, `say which: --server ${only}`);
  throw new UsageError(`there is no server ${JSON.stringify(wanted)} in ${path}`, undefined, {
    name: wanted,
    known: names,
  });
}

/** A surface as a lock file has it. */
export async function toLocked(surface: ServerSurface): Promise<LockedServer> {
  const { servers } = await createLock([surface]);
  return servers[surface.name] ?? { scopes: [], tools: {} };
}

/** What is different of two surfaces, wherever their servers are. A revision counts when both sides have one. */
export function compareSurfaces(name: string, before: LockedServer, after: LockedServer): LockDiff {
  const sameRevision = before.revision === undefined || after.revision === undefined;
  const one = (server: LockedServer): Lock => {
    const { target: _, revision, ...rest } = server;
    const kept = { ...rest, scopes: [], ...(revision !== undefined && !sameRevision && { revision }) };
    return { lockVersion: 2, servers: { [name]: kept } };
  };
  return diffLock(one(before), one(after));
}

/** A difference for people, or that there is none. */
export function formatSurfaceDiff(diff: LockDiff): string {
  return diff.servers.length === 0 ? "no differences" : formatLockDiff(diff).trimEnd();
}
