import { shortHash } from "../std/short-hash.ts";

/** The names that a provider accepts. */
export interface NameRule {
  /** Matches a whole name that can stay as it is. */
  readonly safe: RegExp;
  /** Matches every character that cannot; global. */
  readonly unsafe: RegExp;
  readonly maxLength: number;
}

/** What every provider accepts as the name of a tool. */
export const toolNames: NameRule = { safe: /^[A-Za-z0-9_-]{1,64}$/, unsafe: /[^A-Za-z0-9_-]/g, maxLength: 64 };

/** Two ways to call the same things: by their names, and by names that a provider accepts. */
export interface Aliases {
  /** The alias of a name. A name that is not in the set has one as well, but it may be that of another. */
  aliasOf(name: string): string;
  /** The name behind an alias; undefined when it is not in the set. */
  nameOf(alias: string): string | undefined;
}

/**
 * A name that a provider accepts, which depends on nothing but the given name.
 *
 * A name that is fine stays as it is, and `server:tool` becomes `server__tool` if
 * only one name can have led there. Anything else keeps its good characters, and
 * ends in a hash of the whole name.
 */
export function toAlias(name: string, rule: NameRule = toolNames): string {
  if (rule.safe.test(name)) return name;
  return joined(name, rule) ?? hashed(name, rule, 0);
}

/**
 * Aliases for a set of names, of which no two are the same.
 *
 * Names that are fine keep themselves whatever else is in the set. Of several
 * others with one alias the first gets it.
 */
export function createAliases(names: Iterable<string>, rule: NameRule = toolNames): Aliases {
  const aliases = new Map<string, string>();
  const owners = new Map<string, string>();
  const distinct = [...new Set(names)];
  const isFine = (name: string): boolean => toAlias(name, rule) === name;
  for (const name of [...distinct.filter(isFine), ...distinct.filter((other) => !isFine(other))]) {
    const alias = freeAlias(name, rule, owners);
    aliases.set(name, alias);
    owners.set(alias, name);
  }
  return {
    aliasOf: (name) => aliases.get(name) ?? toAlias(name, rule),
    nameOf: (alias) => owners.get(alias),
  };
}

function freeAlias(name: string, rule: NameRule, taken: ReadonlyMap<string, string>): string {
  let alias = toAlias(name, rule);
  for (let attempt = 1; taken.has(alias); attempt++) alias = hashed(name, rule, attempt);
  return alias;
}

/** The two parts of a qualified name, joined by what neither of them can have where they meet. */
function joined(name: string, { safe }: NameRule): string | undefined {
  const [server = "", tool = "", ...more] = name.split(":");
  if (server === "" || tool === "" || more.length > 0) return undefined;
  if (server.includes("__") || server.endsWith("_") || tool.startsWith("_")) return undefined;
  const alias = `${server}__${tool}`;
  return safe.test(alias) ? alias : undefined;
}

function hashed(name: string, { safe, unsafe, maxLength }: NameRule, attempt: number): string {
  const tail = `_${shortHash(attempt === 0 ? name : `${attempt} ${name}`).slice(0, 8)}`;
  const head = name.replace(unsafe, "_");
  const alias = head.slice(0, maxLength - tail.length) + tail;
  return safe.test(alias) ? alias : `_${head}`.slice(0, maxLength - tail.length) + tail;
}
