import { asJson } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { PageParams } from "../protocol/methods.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import { fromBase64Url, toBase64Url } from "../std/base64.ts";
import { visibility } from "./access.ts";
import type { Accessible } from "./accessible.ts";
import type { Environment } from "./environment.ts";

/** Named things in the order they were added, listed in pages that are built once. */
export interface Registry<T, P> {
  /** True once there was an entry, also when it was removed. */
  wasUsed(): boolean;
  get(name: string): T | undefined;
  /** All of them, the same array until something changes. */
  values(): readonly T[];
  names(): readonly string[];
  /** Throws `invalid-definition` when the name is taken. */
  add(name: string, item: T): void;
  /** False when there is no such entry. */
  remove(name: string): boolean;
  /**
   * Answers a request for one page: the same object until something changes, unless some things are for some callers
   * only. A foreign cursor is `invalid-params`.
   */
  list(call: ListCall): Listed<P> | Promise<Listed<P>>;
}

/** A request for a page of a list. */
export type ListCall = Call & { readonly params: PageParams };

/** One page of a list. */
export type Listed<P> = { readonly kind: "complete"; readonly result: P } | Extract<Outcome, { kind: "failed" }>;

export interface RegistryOptions {
  /** For messages and cursors: `tool`, `resource`. */
  readonly noun: string;
  /** The member of a page that has its items. */
  readonly member: string;
  readonly env: Environment;
  onChange(): void;
}

export interface Listable {
  /** What lists show. */
  readonly listed: object;
  readonly definition: Accessible;
}

export interface Entry<T> {
  /** Grows with every addition: where a page ends does not move when others come or go. */
  readonly sequence: number;
  readonly item: T;
}

export function createRegistry<T extends Listable, P>(options: RegistryOptions): Registry<T, P> {
  const { noun, member, env, onChange } = options;
  const { pageSize, cache } = env;
  const entries = new Map<string, Entry<T>>();
  const pages = new Map<number, P>();
  let sequence = 0;
  let items: readonly T[] | undefined;
  /** How many are for some callers only. */
  let personal = 0;

  const changed = (): void => {
    pages.clear();
    items = undefined;
    onChange();
  };

  /** A page of these, with the settings for caches. */
  const toPage = (rest: readonly Entry<T>[], settings: Environment["cache"]): P => {
    const shown = rest.slice(0, pageSize);
    const last = shown.at(-1);
    const more = last !== undefined && rest.length > shown.length;
    const next = more ? { nextCursor: encodeCursor(noun, last.sequence) } : {};
    return Object.freeze({ [member]: shown.map(({ item }) => item.listed), ...next, ...settings }) as P;
  };

  const entriesAfter = (sequence: number): readonly Entry<T>[] =>
    [...entries.values()].filter((entry) => entry.sequence > sequence);

  const page = (after: number): P => {
    let page = pages.get(after);
    if (page === undefined) {
      page = toPage(entriesAfter(after), cache);
      if (pages.size < MAX_KEPT_PAGES) pages.set(after, page);
    }
    return page;
  };

  const personalPage = async (after: number, call: Call): Promise<Listed<P>> => {
    const { listVisible } = await visibility.load();
    const toResult = (rest: readonly Entry<T>[]): P => toPage(rest, { ...cache, cacheScope: "private" });
    return listVisible(call, entriesAfter(after), { env, toResult }) as Promise<Listed<P>>;
  };

  return {
    wasUsed: () => sequence > 0,
    get: (name) => entries.get(name)?.item,
    values() {
      items ??= [...entries.values()].map((entry) => entry.item);
      return items;
    },
    names: () => [...entries.keys()],
    add(name, item) {
      if (entries.has(name)) throw new McpError("invalid-definition", `${noun} ${name} is defined twice`);
      entries.set(name, { sequence: ++sequence, item });
      if (item.definition.visible !== undefined) personal++;
      changed();
    },
    remove(name) {
      const entry = entries.get(name);
      if (entry === undefined) return false;
      entries.delete(name);
      if (entry.item.definition.visible !== undefined) personal--;
      changed();
      return true;
    },
    list(call) {
      const { cursor } = call.params;
      const after = cursor === undefined ? 0 : decodeCursor(noun, cursor);
      return personal === 0 ? { kind: "complete", result: page(after) } : personalPage(after, call);
    },
  };
}

/** Cursors are positions, so a peer could invent any number of them: only a limited number is cached. */
const MAX_KEPT_PAGES = 256;

function encodeCursor(noun: string, sequence: number): string {
  return toBase64Url(new TextEncoder().encode(`${noun}:${sequence}`));
}

function decodeCursor(noun: string, cursor: string): number {
  const bytes = fromBase64Url(cursor);
  const match = bytes && /^(.+):(\d{1,15})$/.exec(new TextDecoder().decode(bytes));
  if (match?.[1] !== noun) throw new McpError("invalid-params", "unknown cursor", { data: asJson({ cursor }) });
  return Number(match[2]);
}
