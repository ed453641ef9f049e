import { asJson } from "../json/json.ts";
import type { Tool } from "../model/tool.ts";
import { changesOf, type JsonChange } from "./json-changes.ts";
import type { Lock, LockedServer } from "./lock.ts";
import { memberOf } from "./record.ts";

/** What is not as it was approved. Plain data; servers and tools sorted by name. */
export interface LockDiff {
  readonly servers: readonly ServerDiff[];
}

export type ServerDiff =
  /** Nobody approved it. */
  | { readonly kind: "new"; readonly server: string; readonly tools: readonly Tool[] }
  /** It was approved, and is not there. */
  | { readonly kind: "missing"; readonly server: string }
  | ChangedServer;

export interface ChangedServer {
  readonly kind: "changed";
  readonly server: string;
  readonly details: readonly DetailChange[];
  readonly added: readonly Tool[];
  readonly removed: readonly string[];
  readonly changed: readonly ToolChange[];
}

/** Something of a server besides its tools. Of scopes only those count that were not approved. */
export interface DetailChange {
  readonly detail: "target" | "revision" | "scopes" | "instructions";
  readonly before?: string;
  readonly after?: string;
}

export interface ToolChange {
  readonly name: string;
  /** Where the definitions differ. The path begins with the part: `/inputSchema/properties/qty/type`. */
  readonly changes: readonly JsonChange[];
}

/**
 * Compares what was approved with what there is: `createLock` of the servers as
 * they are now. The version a server states, and lists that are only kept to
 * start with, may change without a difference.
 */
export function compareLock(approved: Lock, now: Lock): LockDiff {
  const names = [...new Set([...Object.keys(approved.servers), ...Object.keys(now.servers)])].sort();
  return {
    servers: names.flatMap((server): readonly ServerDiff[] => {
      const before = memberOf(approved.servers, server);
      const after = memberOf(now.servers, server);
      if (after === undefined) return [{ kind: "missing", server }];
      if (before === undefined) return [{ kind: "new", server, tools: definitionsOf(after) }];
      return compareServer(server, before, after);
    }),
  };
}

/** Whether everything is as it was approved. */
export function isClean({ servers }: LockDiff): boolean {
  return servers.length === 0;
}

function compareServer(server: string, before: LockedServer, after: LockedServer): readonly ServerDiff[] {
  const details = detailChanges(before, after);
  const added = definitionsOf(after).filter(({ name }) => !Object.hasOwn(before.tools, name));
  const removed = Object.keys(before.tools)
    .filter((name) => !Object.hasOwn(after.tools, name))
    .sort();
  const changed = toolChanges(before, after);
  if (details.length + added.length + removed.length + changed.length === 0) return [];
  return [{ kind: "changed", server, details, added, removed, changed }];
}

function toolChanges(before: LockedServer, after: LockedServer): readonly ToolChange[] {
  return definitionsOf(before).flatMap(({ name }) => {
    const [old, now] = [memberOf(before.tools, name), memberOf(after.tools, name)];
    if (old === undefined || now === undefined || old.fingerprint === now.fingerprint) return [];
    return [{ name, changes: changesOf(asJson(old.definition), asJson(now.definition)) }];
  });
}

function detailChanges(before: LockedServer, after: LockedServer): readonly DetailChange[] {
  const newScopes = after.scopes.filter((scope) => !before.scopes.includes(scope));
  const pairs: readonly (readonly [DetailChange["detail"], string | undefined, string | undefined])[] = [
    ["target", targetText(before), targetText(after)],
    ["revision", before.revision, after.revision],
    ["scopes", undefined, newScopes.length === 0 ? undefined : newScopes.join(" ")],
    ["instructions", before.instructions, after.instructions],
  ];
  return pairs.flatMap(([detail, old, now]) =>
    old === now
      ? []
      : [{ detail, ...(old !== undefined && { before: old }), ...(now !== undefined && { after: now }) }],
  );
}

function targetText({ target }: LockedServer): string | undefined {
  return target && ("command" in target ? target.command : target.url);
}

function definitionsOf({ tools }: LockedServer): readonly Tool[] {
  return Object.keys(tools)
    .sort()
    .flatMap((name) => memberOf(tools, name)?.definition ?? []);
}
