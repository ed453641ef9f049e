import { toAlias } from "../bridge/alias.ts";
import { qualify } from "./host-tool.ts";
import type { HostView } from "./host-view.ts";

/** Something of a server that callers name. */
export interface Place {
  readonly server: string;
  /** What the server itself calls it. */
  readonly localName: string;
}

/** Several things of one name. None of them has it. */
export interface NameCollision {
  readonly name: string;
  /** Their full names, `server:name`. */
  readonly of: readonly string[];
}

/** What callers of a view call the things in a list. */
export interface NameTable<T extends Place> {
  nameOf(item: T): string;
  /** By its name here, or by what its server calls it where only one server has that. */
  find(name: string): T | undefined;
  /** The names here of all things that their servers call so. */
  meant(name: string): readonly string[];
  readonly collisions: readonly NameCollision[];
}

/**
 * Names the things in a list. Each has a name of its own, which no other server can take from it:
 *
 * - with prefixes, `server__name`, whatever else is in the list;
 * - without, the name that its server gave it. Where several want the same, each of them has its prefix;
 * - what was renamed has its new name.
 */
export function createNameTable<T extends Place>(items: readonly T[], rules: NameRules): NameTable<T> {
  const names = new Map<T, string>();
  const byName = new Map<string, T>();
  const collisions: NameCollision[] = [];
  const give = (item: T, name: string): void => {
    const owner = byName.get(name);
    const isFree = owner === undefined || fullName(owner) === fullName(item);
    const own = isFree ? name : otherName(item);
    names.set(item, own);
    if (owner === undefined || !isFree) byName.set(own, item);
  };
  const losers: T[] = [];
  for (const [name, group] of groupBy(items, (item) => wantedName(item, rules))) {
    const of = new Set(group.map(fullName));
    const holder = of.size === 1 ? group[0] : onlyRenamed(group, rules);
    if (of.size > 1) collisions.push({ name, of: [...of] });
    for (const item of group) {
      if (holder !== undefined && fullName(holder) === fullName(item)) give(item, name);
      else losers.push(item);
    }
  }
  for (const item of losers) give(item, prefixedName(item));
  const byLocalName = groupBy(items, ({ localName }) => localName);
  const nameOf = (item: T): string => names.get(item) ?? prefixedName(item);

  return {
    nameOf,
    collisions,
    find(name) {
      const found = byName.get(name);
      if (found !== undefined || looksPrefixed(name, rules)) return found;
      const [first, ...others] = byLocalName.get(name) ?? [];
      return first && others.every((other) => fullName(other) === fullName(first)) ? first : undefined;
    },
    meant: (name) => [...new Set((byLocalName.get(name) ?? []).map(nameOf))],
  };
}

/** What decides about names in a view. */
export interface NameRules extends Pick<HostView, "isPrefixed" | "renamed"> {
  readonly servers: readonly string[];
}

function wantedName({ server, localName }: Place, rules: NameRules): string {
  const renamed = rules.renamed(server, localName);
  if (renamed !== undefined) return renamed;
  return rules.isPrefixed || looksPrefixed(localName, rules) ? prefixedName({ server, localName }) : localName;
}

/** Whether a name begins as those of a server do that carry its prefix: nobody else has such names. */
function looksPrefixed(name: string, { servers }: NameRules): boolean {
  return name.includes("__") && servers.some((server) => name.startsWith(`${server}__`));
}

/** What was renamed has its name also where others want the same. */
function onlyRenamed<T extends Place>(group: readonly T[], { renamed }: NameRules): T | undefined {
  const chosen = group.filter(({ server, localName }) => renamed(server, localName) !== undefined);
  return new Set(chosen.map(fullName)).size === 1 ? chosen[0] : undefined;
}

function fullName({ server, localName }: Place): string {
  return qualify(server, localName);
}

function prefixedName(place: Place): string {
  return toAlias(fullName(place));
}

/** A name with a hash, for something whose prefixed name another thing has. */
function otherName({ server, localName }: Place): string {
  return toAlias(qualify(server, `:${localName}`));
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
