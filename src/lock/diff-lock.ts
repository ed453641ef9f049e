import { canonicalText } from "../json/canonical.ts";
import { asJson, isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Tool } from "../protocol/tool.ts";
import { defined } from "../std/defined.ts";
import { keyOf, type ListName, type Lists, listNames } from "./approve.ts";
import { programChanges } from "./launch.ts";
import {
  fingerprintOf,
  type Lock,
  type LockedPackage,
  type LockedProgram,
  type LockedServer,
  type LockedTarget,
  memberOf,
} from "./lock.ts";

/** What is not as it was approved. Plain data; servers and tools sorted by name. */
export interface LockDiff {
  readonly servers: readonly LockedServerDiff[];
}

export type LockedServerDiff =
  /** Tools that are not approved. */
  | NewServer
  /** It was approved, and is not there. */
  | { readonly kind: "missing"; readonly server: string }
  | ChangedServer;

export interface NewServer {
  readonly kind: "new";
  readonly server: string;
  readonly target?: LockedTarget;
  readonly instructions?: string;
  readonly tools: readonly Tool[];
  /** All that it lists besides tools. */
  readonly items: readonly ItemChange[];
}

export interface ChangedServer {
  readonly kind: "changed";
  readonly server: string;
  readonly details: readonly DetailChange[];
  readonly added: readonly Tool[];
  readonly removed: readonly string[];
  readonly changed: readonly ToolChange[];
  /** What is different of its prompts, resources and templates. */
  readonly items: readonly ItemChange[];
}

/** Something of a server besides its tools. Of scopes only those count that were not approved. */
export interface DetailChange {
  readonly detail: "target" | "revision" | "scopes" | "instructions";
  readonly before?: string;
  readonly after?: string;
  /** What is different of a program: "has other arguments". */
  readonly changes?: readonly string[];
  /** What a program fetches and runs in versions that may change without a change here. */
  readonly unpinned?: readonly string[];
}

export interface ToolChange {
  readonly name: string;
  /** Where the definitions differ. The path begins with the part: `/inputSchema/properties/qty/type`. */
  readonly changes: readonly JsonChange[];
}

/** A prompt, a resource or a template that was added, removed or changed. */
export interface ItemChange {
  readonly list: "prompts" | "resources" | "resourceTemplates";
  /** The name of the prompt, the URI or the template. */
  readonly name: string;
  readonly kind: "added" | "removed" | "changed";
  readonly changes: readonly JsonChange[];
}

/**
 * Compares what was approved with what there is: `createLock` of the servers as
 * they are now. The version a server states may change without a difference.
 */
export function diffLock(approved: Lock, now: Lock): LockDiff {
  const names = [...new Set([...Object.keys(approved.servers), ...Object.keys(now.servers)])].sort();
  return {
    servers: names.flatMap((server): readonly LockedServerDiff[] => {
      const before = memberOf(approved.servers, server);
      const after = memberOf(now.servers, server);
      if (after === undefined) return [{ kind: "missing", server }];
      if (before === undefined) return [newServer(server, after)];
      return compareServer(server, before, after);
    }),
  };
}

/** Whether everything is as it was approved. */
export function isLockClean({ servers }: LockDiff): boolean {
  return servers.length === 0;
}

const nothing: LockedServer = { scopes: [], tools: {} };

function newServer(server: string, { target, instructions, ...rest }: LockedServer): NewServer {
  const [tools, items] = [definitionsOf(rest), itemChanges(nothing, rest)];
  return { kind: "new", server, ...defined({ target, instructions }), tools, items };
}

function compareServer(server: string, before: LockedServer, after: LockedServer): readonly LockedServerDiff[] {
  const details = detailChanges(before, after);
  const added = definitionsOf(after).filter(({ name }) => !Object.hasOwn(before.tools, name));
  const removed = Object.keys(before.tools)
    .filter((name) => !Object.hasOwn(after.tools, name))
    .sort();
  const changed = toolChanges(before, after);
  const items = itemChanges(before, after);
  if (details.length + added.length + removed.length + changed.length + items.length === 0) return [];
  return [{ kind: "changed", server, details, added, removed, changed, items }];
}

function toolChanges(before: LockedServer, after: LockedServer): readonly ToolChange[] {
  return definitionsOf(before).flatMap(({ name }) => {
    const [old, now] = [memberOf(before.tools, name), memberOf(after.tools, name)];
    if (old === undefined || now === undefined || old.fingerprint === now.fingerprint) return [];
    return [{ name, changes: changesOf(asJson(old.definition), asJson(now.definition)) }];
  });
}

function itemChanges(before: LockedServer, after: LockedServer): readonly ItemChange[] {
  return listNames.flatMap((list) => {
    const [old, now] = [byName(list, before[list]), byName(list, after[list])];
    const names = [...new Set([...old.keys(), ...now.keys()])].sort();
    return names.flatMap((name): readonly ItemChange[] => {
      const changes = changesOf(old.get(name), now.get(name));
      if (changes.length === 0) return [];
      const kind = kindOf(old.has(name), now.has(name));
      return [{ list, name, kind, changes }];
    });
  });
}

/** Of several with one name, all are one. */
function byName<K extends ListName>(list: K, items: readonly Lists[K][] = []): ReadonlyMap<string, Json> {
  const found = new Map<string, Json>();
  for (const item of items) {
    const [name, before] = [keyOf(list, item), found.get(keyOf(list, item))];
    found.set(name, before === undefined ? asJson(item) : [before, asJson(item)]);
  }
  return found;
}

function kindOf(wasThere: boolean, isThere: boolean): ItemChange["kind"] {
  if (!wasThere) return "added";
  return isThere ? "changed" : "removed";
}

function detailChanges(before: LockedServer, after: LockedServer): readonly DetailChange[] {
  const newScopes = after.scopes.filter((scope) => !before.scopes.includes(scope));
  const pairs: readonly (readonly [DetailChange["detail"], string | undefined, string | undefined])[] = [
    ["revision", before.revision, after.revision],
    ["scopes", undefined, newScopes.length === 0 ? undefined : newScopes.join(" ")],
    ["instructions", before.instructions, after.instructions],
  ];
  const rest = pairs.flatMap(([detail, old, now]) =>
    old === now ? [] : [{ detail, ...defined({ before: old, after: now }) }],
  );
  return [...targetChange(before.target, after.target), ...rest];
}

function targetChange(before: LockedTarget | undefined, after: LockedTarget | undefined): readonly DetailChange[] {
  const [old, now] = [targetText(before), targetText(after)];
  const changes = isProgram(before) && isProgram(after) ? programChanges(before, after) : [];
  if (old === now && changes.length === 0) return [];
  const unpinned = unpinnedOf(after);
  const more = defined({ before: old, after: now, unpinned: unpinned.length === 0 ? undefined : unpinned });
  return [{ detail: "target", ...more, ...(changes.length > 0 && { changes }) }];
}

/** The packages of a target that are not bound to a version. */
export function unpinnedOf(target: LockedTarget | undefined): readonly string[] {
  const packages: readonly LockedPackage[] = (isProgram(target) && target.packages) || [];
  return packages.filter(({ isPinned }) => !isPinned).map(({ spec }) => spec);
}

function isProgram(target: LockedTarget | undefined): target is LockedProgram {
  return target !== undefined && "command" in target;
}

/** A short description of a target. */
export function targetText(target: LockedTarget | undefined): string | undefined {
  return target && ("command" in target ? target.command : target.url);
}

function definitionsOf({ tools }: Pick<LockedServer, "tools">): readonly Tool[] {
  return Object.keys(tools)
    .sort()
    .flatMap((name) => memberOf(tools, name)?.definition ?? []);
}

/** `unknown`: no tool of that name is approved. `changed`: the approved definition differs. */
export type LockVerdict = "approved" | "changed" | "unknown";

/**
 * Whether a tool is as it was approved. A tool that is not `approved` must not be run.
 *
 * The fingerprint of a tool is cached by identity, so a tool must not be mutated.
 */
export async function lockVerdict(lock: Lock, server: string, tool: Tool): Promise<LockVerdict> {
  const locked = memberOf(memberOf(lock.servers, server)?.tools ?? {}, tool.name);
  if (locked === undefined) return "unknown";
  return locked.fingerprint === (await fingerprintOf(tool)) ? "approved" : "changed";
}

/** One difference of two values. What is absent on a side was not there. */
export interface JsonChange {
  /** JSON Pointer to where they differ. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** Where two values differ, as far inside as they are alike. Lists of another length differ as a whole. */
export function changesOf(before: Json | undefined, after: Json | undefined, path = ""): readonly JsonChange[] {
  if (canonicalText(before) === canonicalText(after) && (before === undefined) === (after === undefined)) return [];
  if (isObject(before) && isObject(after)) return memberChanges(before, after, path);
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length && before.some(isContainer)) {
    return before.flatMap((item: Json, index) => changesOf(item, after[index], `${path}/${index}`));
  }
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function memberChanges(before: JsonObject, after: JsonObject, path: string): readonly JsonChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const [old, now] = [own(before, name), own(after, name)];
    return changesOf(old, now, `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  });
}

function own(value: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function isContainer(value: Json): boolean {
  return typeof value === "object" && value !== null;
}

/** Where things are in a JSON text. Offsets count from 0. */
interface JsonPlaces {
  /** The location of each member, by {@link placeKey}. */
  readonly members: ReadonlyMap<string, number>;
  /** The second of two members with one name, if there is one. */
  readonly duplicate?: { readonly name: string; readonly at: number };
  /** Where the text stops being JSON, if it does. */
  readonly fault?: number;
}

/** The key of a member: the names that lead to it. Elements of an array are named by their index. */
export function placeKey(path: readonly string[]): string {
  return path.reduce(within, "");
}

/** The key of a member of something that has a key. No two paths have the same. */
function within(key: string, name: string): string {
  return `${key}${name.length}:${name}`;
}

/** The line and column of an offset, both from 1. */
export function lineAndColumn(text: string, at: number): string {
  const before = text.slice(0, at);
  return `${before.split("\n").length}:${at - before.lastIndexOf("\n")}`;
}

/** Deeper members have the location of their ancestor. */
const MAX_NAMED = 7;
const MAX_DEPTH = 200;

const blank = /[ \t\r\n]*/y;
const string = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\uffff]*)*"/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Finds where things are, for texts that have something wrong with them. Never throws. */
export function findPlaces(text: string): JsonPlaces {
  const members = new Map<string, number>();
  let duplicate: JsonPlaces["duplicate"];
  let at = 0;

  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? [];
    at += found?.length ?? 0;
    return found;
  };
  const skip = (char: string): boolean => {
    take(blank);
    const isThere = text[at] === char;
    if (isThere) at++;
    return isThere;
  };
  const readItems = (close: string, readItem: (index: number) => boolean): boolean => {
    if (skip(close)) return true;
    let index = 0;
    do if (!readItem(index++)) return false;
    while (skip(","));
    return skip(close);
  };
  const readNamed = (key: string, name: string, start: number, depth: number): boolean => {
    const inner = depth < MAX_NAMED ? within(key, name) : "";
    if (depth < MAX_NAMED) members.set(inner, start);
    return readValue(inner, depth + 1);
  };
  const readMember = (key: string, names: Set<string>, depth: number): boolean => {
    take(blank);
    const start = at;
    const quoted = take(string);
    if (quoted === undefined || !skip(":")) return false;
    const name: string = JSON.parse(quoted);
    if (names.has(name)) duplicate ??= { name, at: start };
    names.add(name);
    return readNamed(key, name, start, depth);
  };
  const readElement = (key: string, index: number, depth: number): boolean => {
    take(blank);
    return readNamed(key, String(index), at, depth);
  };
  const readValue = (key: string, depth: number): boolean => {
    if (depth > MAX_DEPTH) return false;
    if (skip("{")) {
      const names = new Set<string>();
      return readItems("}", () => readMember(key, names, depth));
    }
    if (skip("[")) return readItems("]", (index) => readElement(key, index, depth));
    return (take(string) ?? take(scalar)) !== undefined;
  };

  const isWhole = readValue("", 0) && take(blank) !== undefined && at === text.length;
  return { members, ...(duplicate !== undefined && { duplicate }), ...(!isWhole && { fault: at }) };
}
