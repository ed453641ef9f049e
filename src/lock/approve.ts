import { canonicalText } from "../json/canonical.ts";
import { asJson, type JsonObject } from "../json/json.ts";
import type { Resource, ResourceTemplate } from "../protocol/content.ts";
import type { Prompt } from "../protocol/prompt.ts";
import type { Tool } from "../protocol/tool.ts";
import { defined } from "../std/defined.ts";
import { lockedTarget } from "./launch.ts";
import {
  approvedPartOf,
  fingerprintOf,
  type Lock,
  type LockedServer,
  type LockedTool,
  memberOf,
  type ServerSurface,
  toRecord,
} from "./lock.ts";

/** A lock in which these tools of a server are approved as they are now. Everything else is unchanged. */
export async function approveTools(lock: Lock, server: string, ...tools: readonly Tool[]): Promise<Lock> {
  const before: LockedServer = memberOf(lock.servers, server) ?? { scopes: [], tools: {} };
  const locked = toRecord([...Object.entries(before.tools), ...(await lockTools(tools))]);
  return withServer(lock, server, { ...before, tools: locked });
}

/** A lock in which a server is approved as it is now, with everything it shows. */
export async function approveServer(lock: Lock, server: ServerSurface): Promise<Lock> {
  return withServer(lock, server.name, await lockServer(server));
}

/** A lock without a server. */
export function forgetServer(lock: Lock, server: string): Lock {
  return { ...lock, servers: toRecord(Object.entries(lock.servers).filter(([name]) => name !== server)) };
}

/** A lock without these tools of a server. */
export function forgetTools(lock: Lock, server: string, ...tools: readonly string[]): Lock {
  const before = memberOf(lock.servers, server);
  if (before === undefined) return lock;
  const saved = Object.entries(before.tools).filter(([name]) => !tools.includes(name));
  return withServer(lock, server, { ...before, tools: toRecord(saved) });
}

function withServer(lock: Lock, name: string, server: LockedServer): Lock {
  return { ...lock, servers: toRecord([...Object.entries(lock.servers), [name, server]]) };
}

/** Approves servers as they are now. Of two with the same name, the last counts. */
export async function createLock(servers: readonly ServerSurface[]): Promise<Lock> {
  const entries = servers.map(async (server) => [server.name, await lockServer(server)] as const);
  return { lockVersion: 2, servers: toRecord(await Promise.all(entries)) };
}

/** Approves everything of one server. */
async function lockServer(server: ServerSurface): Promise<LockedServer> {
  const { revision, info, scopes = [], instructions, prompts, resources, resourceTemplates } = server;
  return defined({
    target: await lockedTarget(server.target),
    revision,
    info: info && defined({ name: info.name, title: info.title, version: info.version }),
    scopes: [...new Set(scopes)].sort(),
    instructions,
    tools: toRecord(await lockTools(server.tools)),
    prompts: approvedList("prompts", prompts),
    resources: approvedList("resources", resources),
    resourceTemplates: approvedList("resourceTemplates", resourceTemplates),
  });
}

/** Of two tools with the same name the first counts: it is the one that is called. */
async function lockTools(tools: readonly Tool[]): Promise<readonly (readonly [string, LockedTool])[]> {
  const first = new Map<string, Tool>();
  for (const tool of tools) if (!first.has(tool.name)) first.set(tool.name, tool);
  return Promise.all([...first.values()].map(async (tool) => [tool.name, await lockTool(tool)] as const));
}

async function lockTool(tool: Tool): Promise<LockedTool> {
  return { fingerprint: await fingerprintOf(tool), definition: sorted(approvedPartOf(tool)) };
}

/** A copy with sorted members, as parsing the file returns it. */
function sorted<T extends object>(value: T): T {
  return JSON.parse(canonicalText(asJson(value))) as T;
}

/** The lists of a server besides its tools. */
export interface Lists {
  readonly prompts: Prompt;
  readonly resources: Resource;
  readonly resourceTemplates: ResourceTemplate;
}

export type ListName = keyof Lists;

export const listNames: readonly ListName[] = ["prompts", "resources", "resourceTemplates"];

/** What a list calls its items. */
export function keyOf<K extends ListName>(list: K, item: Lists[K]): string {
  return keys[list](item as never);
}

const keys: { readonly [K in ListName]: (item: Lists[K]) => string } = {
  prompts: ({ name }) => name,
  resources: ({ uri }) => uri,
  resourceTemplates: ({ uriTemplate }) => uriTemplate,
};

/**
 * The approved part of a list: everything but members that change without a change of behavior. Sorted; undefined for
 * an empty list.
 */
function approvedList<K extends ListName>(
  list: K,
  items: readonly Lists[K][] | undefined,
): readonly Lists[K][] | undefined {
  if (items === undefined || items.length === 0) return undefined;
  const sorted = new Map(items.map((item) => [`${keyOf(list, item)}\n${approvedText(item)}`, approvedText(item)]));
  return [...sorted].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => JSON.parse(text) as Lists[K]);
}

/** Whether an item of a list is as it was approved. */
export function isApproved<K extends ListName>(server: LockedServer, list: K, item: Lists[K]): boolean {
  const known = texts.get(server) ?? textsOf(server);
  texts.set(server, known);
  return known[list].has(approvedText(item));
}

const texts = new WeakMap<LockedServer, Readonly<Record<ListName, ReadonlySet<string>>>>();

function textsOf({
  prompts,
  resources,
  resourceTemplates,
}: LockedServer): Readonly<Record<ListName, ReadonlySet<string>>> {
  const all = (items: readonly Lists[ListName][] = []): ReadonlySet<string> => new Set(items.map(approvedText));
  return { prompts: all(prompts), resources: all(resources), resourceTemplates: all(resourceTemplates) };
}

/** Without pictures, metadata, the size and the time of a change. */
function approvedText(item: Lists[ListName]): string {
  const { _meta, icons, size, annotations, ...rest } = item as Lists[ListName] & Pick<Resource, "size" | "annotations">;
  const { lastModified, ...hints } = annotations ?? {};
  const approved = defined({ ...rest, annotations: Object.keys(hints).length === 0 ? undefined : hints });
  return canonicalText(asJson(approved) satisfies JsonObject);
}
