/** Where things are in a JSON text. Offsets count from 0. */
export interface JsonPlaces {
  /** Where each member begins, by {@link placeKey}. */
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

/** Members further inside are not told apart, and a text nested more deeply is at fault. */
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
