import { canonicalText } from "../json/canonical.ts";
import { asJson } from "../json/json.ts";
import type { Tool } from "../model/tool.ts";
import { defined } from "../std/defined.ts";
import { approvedPartOf, digestOf, fingerprintOf } from "./fingerprint.ts";
import type { Lock, LockedServer, LockedTool, ServerSurface } from "./lock.ts";
import { toRecord } from "./record.ts";
import { lockedTarget } from "./target.ts";

/** Lists with more entries are not kept. */
const MAX_LISTED = 1000;

/** Approves servers as they are now. Of two with the same name the last counts. */
export async function createLock(servers: readonly ServerSurface[]): Promise<Lock> {
  const entries = servers.map(async (server) => [server.name, await lockServer(server)] as const);
  return { lockVersion: 1, servers: toRecord(await Promise.all(entries)) };
}

/** Approves everything of one server. */
export async function lockServer(server: ServerSurface): Promise<LockedServer> {
  const { revision, info, scopes = [], instructions, prompts, resources, resourceTemplates } = server;
  return defined({
    target: lockedTarget(server.target),
    revision,
    info: info && defined({ name: info.name, title: info.title, version: info.version }),
    scopes: [...new Set(scopes)].sort(),
    instructions: instructions === undefined ? undefined : await digestOf(instructions),
    tools: toRecord(await lockTools(server.tools)),
    prompts: listed(prompts, ({ name }) => name),
    resources: listed(resources, ({ uri }) => uri),
    resourceTemplates: listed(resourceTemplates, ({ uriTemplate }) => uriTemplate),
  });
}

/** Of two tools with the same name the first counts: it is the one that is called. */
export async function lockTools(tools: readonly Tool[]): Promise<readonly (readonly [string, LockedTool])[]> {
  const first = new Map<string, Tool>();
  for (const tool of tools) if (!first.has(tool.name)) first.set(tool.name, tool);
  return Promise.all([...first.values()].map(async (tool) => [tool.name, await lockTool(tool)] as const));
}

async function lockTool(tool: Tool): Promise<LockedTool> {
  return { fingerprint: await fingerprintOf(tool), definition: sorted(approvedPartOf(tool)) };
}

/** Without what changes when nothing else does, and in an order of its own. */
function listed<T extends { readonly name: string }>(
  list: readonly T[] | undefined,
  keyOf: (item: T) => string,
): readonly T[] | undefined {
  if (list === undefined || list.length === 0 || list.length > MAX_LISTED) return undefined;
  const items = list.map((item) => sorted({ ...item, _meta: undefined, icons: undefined }));
  const order = new Map(items.map((item) => [item, `${keyOf(item)}\n${canonicalText(asJson(item))}`]));
  return items.sort((a, b) => ((order.get(a) ?? "") < (order.get(b) ?? "") ? -1 : 1));
}

/** A copy whose members are sorted, whoever made it: the same as the file gives back. */
function sorted<T extends object>(value: T): T {
  return JSON.parse(canonicalText(asJson(value))) as T;
}
