import { asJson } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { fromBase64Url, toBase64Url } from "../std/base64.ts";
import { shortHash } from "../std/short-hash.ts";

/** A list in pages, which are built once. */
export interface ListPages<P> {
  /** The page that a cursor leads to. Throws `invalid-params` for one that is none of such a list. */
  page(cursor: string | undefined): P;
}

interface ListPagesOptions<T> {
  /** The member of a page that has its items. Cursors of one list lead nowhere in another. */
  readonly member: string;
  readonly pageSize: number;
  /** What tells items apart. */
  keyOf(item: T): string;
}

/**
 * Cuts a list into pages. A cursor names the last item of its page, so that what comes or goes before it makes nobody miss
 * or see anything twice; where that item is gone, the list goes on where it stood.
 */
export function createListPages<T extends object, P>(items: readonly T[], options: ListPagesOptions<T>): ListPages<P> {
  const { member, pageSize, keyOf } = options;
  const pages = new Map<number, P>();

  const build = (start: number): P => {
    const end = start + pageSize;
    const last = items[end - 1];
    const more = end < items.length && last !== undefined;
    const next = more ? { nextCursor: encodeCursor({ member, at: end, hash: shortHash(keyOf(last)) }) } : {};
    return Object.freeze({ [member]: items.slice(start, end), ...next }) as P;
  };

  const startAfter = ({ at, hash }: Cursor): number => {
    const isThere = (item: T | undefined): boolean => item !== undefined && shortHash(keyOf(item)) === hash;
    if (isThere(items[at - 1])) return at;
    const found = items.findIndex(isThere);
    return found < 0 ? Math.min(at - 1, items.length) : found + 1;
  };

  return {
    page(cursor) {
      const start = cursor === undefined ? 0 : startAfter(decodeCursor(member, cursor));
      const known = pages.get(start);
      if (known !== undefined) return known;
      const page = build(start);
      if (pages.size < maxKeptPages) pages.set(start, page);
      return page;
    },
  };
}

/** A caller may ask for pages that begin anywhere. */
const maxKeptPages = 64;

interface Cursor {
  readonly member: string;
  /** How many items come before. */
  readonly at: number;
  /** Of the last of them. */
  readonly hash: string;
}

function encodeCursor({ member, at, hash }: Cursor): string {
  return toBase64Url(new TextEncoder().encode(`${member}:${at}:${hash}`));
}

function decodeCursor(member: string, cursor: string): Cursor {
  const bytes = cursor.length > maxCursorChars ? undefined : fromBase64Url(cursor);
  const [, of, at, hash = ""] =
    (bytes && /^(.+):(\d{1,9}):([a-z2-7]{12})$/.exec(new TextDecoder().decode(bytes))) ?? [];
  if (of === member && Number(at) > 0) return { member, at: Number(at), hash };
  const shown = cursor.slice(0, maxCursorChars);
  throw new McpError("invalid-params", `unknown cursor of ${member}: list again from the beginning`, {
    data: asJson({ cursor: shown }),
  });
}

const maxCursorChars = 128;

/** Remembers what was made of the last few lists, and gives the same for a list of the same items. */
export function createListMemo<T, R>(make: (items: readonly T[]) => R): (items: readonly T[]) => R {
  const kept: { readonly items: readonly T[]; readonly made: R }[] = [];
  return (items) => {
    const known = kept.find((one) => isSameList(one.items, items));
    if (known !== undefined) return known.made;
    const made = make(items);
    kept.unshift({ items, made });
    if (kept.length > maxKeptLists) kept.pop();
    return made;
  };
}

/** Callers with connections of their own have lists of their own. */
const maxKeptLists = 4;

function isSameList<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}
