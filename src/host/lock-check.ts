import { toAlias } from "../bridge/alias.ts";
import type { ClientConnection } from "../connect/create-connect.ts";
import { readTarget, type Target } from "../connect/target.ts";
import { isApproved, keyOf, type ListName, type Lists } from "../lock/approve.ts";
import { lockedTarget, programChanges } from "../lock/launch.ts";
import type { Lock, LockedServer, LockedTarget, ServerProgram, ServerSurface } from "../lock/lock.ts";
import { McpError } from "../protocol/errors.ts";
import type { CompletionRef } from "../protocol/prompt.ts";
import type { Revision } from "../protocol/revision.ts";
import { defined } from "../std/defined.ts";
import { parseUriTemplate } from "../std/uri-template.ts";
import { type HostTool, originalOf, qualify, toHostTool, withoutPlace } from "./host-tool.ts";
import type { ServerSlot } from "./server-slot.ts";
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
export function revisionIn(lock: Lock | undefined, server: string): Revision | undefined {
  return serverIn(lock, server)?.revision;
}

/** What was approved of a server. */
function serverIn(lock: Lock | undefined, server: string): LockedServer | undefined {
  return lock !== undefined && Object.hasOwn(lock.servers, server) ? lock.servers[server] : undefined;
}

function place(server: string, tool: Parameters<typeof toHostTool>[1]): HostTool {
  return toHostTool(server, tool, (by, name) => toAlias(qualify(by, name)));
}

/** Finds the file that a command starts. */
export type Locate = (command: ServerProgram) => Promise<Pick<ServerProgram, "path" | "file" | "cwd">>;

/** Everything a server shows, to be approved or compared. Connects if need be. */
export async function surfaceOf(slot: ServerSlot, locate: Locate, signal?: AbortSignal): Promise<ServerSurface> {
  const line = await slot.member.open(signal);
  const { client } = line;
  const options = { signal, fresh: true };
  const [tools, prompts, resources, resourceTemplates] = await Promise.all([
    slot.tools.get(line, options),
    slot.prompts.get(line, options),
    slot.resources.get(line, options),
    slot.resourceTemplates.get(line, options),
  ]);
  const { instructions, serverInfo } = client.server;
  return {
    name: slot.name,
    ...(await targetOf(slot.spec.target, locate)),
    ...(slot.spec.scopes && { scopes: slot.spec.scopes }),
    revision: client.revision,
    info: serverInfo,
    ...(instructions !== undefined && { instructions }),
    tools: tools.map(originalOf),
    prompts: prompts.map(withoutPlace),
    resources: resources.map(withoutPlace),
    resourceTemplates: resourceTemplates.map(withoutPlace),
  };
}

/** Where a server is, with what the system would start. Empty for one in this process. */
async function targetOf(target: Target, locate: Locate): Promise<Pick<ServerSurface, "target">> {
  const place = readTarget(target);
  if (place.kind === "url") return { target: { url: place.url.href } };
  if (place.kind === "openapi") return { target: { url: place.entry.baseUrl ?? toUrl(place.entry.document) } };
  if (place.kind === "module") return { target: { url: toUrl(place.entry.module) } };
  if (place.kind !== "command") return {};
  const { command, args, env, inheritEnv } = place.command;
  return { target: defined({ command, args, env, inheritEnv, ...(await locate(place.command)) }) };
}

/** A path as a URL, which names it in a lock. */
function toUrl(place: string): string {
  return URL.canParse(place) ? place : new URL(place, "file:///").href;
}

/** Something of a server that is named by a call. */
export type Reference =
  | CompletionRef
  /** A resource that is read. */
  | { readonly type: "read"; readonly uri: string };

/** What the lock of a host lets pass besides tools. Without a lock, everything. */
export interface LockGate {
  /** True while there is a lock. */
  readonly isLocked: boolean;
  /** Why a server must not even be started or connected to. Undefined when nothing speaks against it. */
  objection(server: string, spec: ServerSpec): Promise<McpError | undefined>;
  /** Those items of a list that are as they were approved. */
  approved<K extends ListName, T extends Lists[K]>(server: string, list: K, items: readonly T[]): readonly T[];
  /** The instructions of a server, if they are those that were approved. */
  instructions(server: string, text: string | undefined): string | undefined;
  /** Throws `denied` for what nobody has approved as it is now. */
  check(slot: ServerSlot, line: ClientConnection, reference: Reference, signal: AbortSignal | undefined): Promise<void>;
  /** Ends a server that a new lock does not allow, and connects to one again that the one before did not. */
  judgeAgain(slot: ServerSlot): Promise<void>;
}

interface LockGateOptions {
  lock(): Lock | undefined;
  readonly locate: Locate;
  /** Hears of what is there but was not approved. */
  onWithheld?(server: string, list: ListName | "instructions", name: string): void;
}

export function createLockGate({ lock, locate, onWithheld }: LockGateOptions): LockGate {
  const lockedOf = (server: string): LockedServer | undefined => serverIn(lock(), server);

  const approved: LockGate["approved"] = (server, list, items) => {
    if (lock() === undefined) return items;
    const locked = lockedOf(server);
    return items.filter((item) => {
      const isFine = locked !== undefined && isApproved(locked, list, asListed(item));
      if (!isFine) onWithheld?.(server, list, keyOf(list, item));
      return isFine;
    });
  };

  const isKnown = async (
    slot: ServerSlot,
    line: ClientConnection,
    reference: Reference,
    signal: AbortSignal | undefined,
  ) => {
    const options = { signal };
    if (reference.type === "ref/prompt") {
      const named = (await slot.prompts.get(line, options)).filter(({ name }) => name === reference.name);
      return named.length > 0 && approved(slot.name, "prompts", named).length === named.length;
    }
    const templates = approved(slot.name, "resourceTemplates", await slot.resourceTemplates.get(line, options));
    if (reference.type === "ref/resource") return templates.some(({ uriTemplate }) => uriTemplate === reference.uri);
    const resources = approved(slot.name, "resources", await slot.resources.get(line, options));
    return (
      resources.some(({ uri }) => uri === reference.uri) ||
      templates.some(({ uriTemplate }) => fits(reference.uri, uriTemplate))
    );
  };

  const objectionTo: LockGate["objection"] = async (server, spec) => {
    if (lock() === undefined) return undefined;
    const locked = lockedOf(server);
    if (locked === undefined) return objection(server, "it was not approved: look at it, then approve the server");
    const why = await targetObjection(locked.target, spec, locate);
    if (why !== undefined) return objection(server, why);
    const more = (spec.scopes ?? []).filter((scope) => !locked.scopes.includes(scope));
    return more.length === 0 ? undefined : objection(server, `the scopes ${more.join(", ")} were not approved`);
  };

  return {
    get isLocked() {
      return lock() !== undefined;
    },
    objection: objectionTo,
    approved,
    async judgeAgain({ name, spec, member }) {
      const by = lock();
      const isAllowed = (await objectionTo(name, spec)) === undefined;
      const { state } = member;
      const wasRefused = state.kind === "down" && state.reason.code === "denied";
      if (lock() === by && (isAllowed ? wasRefused : state.kind === "ready" || state.kind === "connecting"))
        member.restart();
    },
    instructions(server, text) {
      if (lock() === undefined || text === undefined || lockedOf(server)?.instructions === text) return text;
      onWithheld?.(server, "instructions", server);
      return undefined;
    },
    async check(slot, line, reference, signal) {
      if (lock() === undefined || (await isKnown(slot, line, reference, signal))) return;
      const what = reference.type === "ref/prompt" ? `prompt ${reference.name}` : `resource ${reference.uri}`;
      throw new McpError(
        "denied",
        `the lockfile does not allow ${what} of server ${slot.name}: it was not approved as it is now`,
        { data: { by: "lock" } },
      );
    },
  };
}

/** Why the lock does not allow what would be started or connected to. */
async function targetObjection(
  approved: LockedTarget | undefined,
  spec: ServerSpec,
  locate: Locate,
): Promise<string | undefined> {
  const { target } = await targetOf(spec.target, locate);
  if (target !== undefined && "command" in target && target.path === undefined) {
    return `the program ${target.command} was not found`;
  }
  const now = await lockedTarget(target);
  if (approved !== undefined && now !== undefined && "command" in approved && "command" in now) {
    const changes = programChanges(approved, now);
    return changes.length === 0 ? undefined : `it ${changes.join(", and ")}`;
  }
  const [before, after] = [placeOf(approved), placeOf(now)];
  return before === after ? undefined : `it was approved at ${before}, and is at ${after} now`;
}

function placeOf(target: LockedTarget | undefined): string {
  if (target === undefined) return "no program and no URL";
  return "url" in target ? target.url : target.command;
}

function objection(server: string, why: string): McpError {
  return new McpError("denied", `the lockfile does not allow server ${server}: ${why}`, { data: { by: "lock" } });
}

/** A template that cannot be read fits nothing. */
function fits(uri: string, template: string): boolean {
  const parsed = parseUriTemplate(template);
  return parsed.ok && parsed.value.match(uri) !== undefined;
}

/** An item as its server lists it, of the type that a lock knows it by. */
function asListed<T extends object>(item: T): T {
  return withoutPlace(item) as unknown as T;
}
