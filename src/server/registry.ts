import { asJson } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { PageParams } from "../protocol/methods.ts";
import { fromBase64Url, toBase64Url } from "../std/base64.ts";
import type { Environment } from "./environment.ts";

/** Named things in the order they were added, listed in pages that are built once. */
export interface Registry<T, P> {
  /** True once there was anything, also when it is gone again. */
  wasUsed(): boolean;
  get(name: string): T | undefined;
  /** All of them, the same array until something changes. */
  values(): readonly T[];
  names(): readonly string[];
  /** Throws `invalid-definition` when the name is taken. */
  add(name: string, item: T): void;
  /** False when there is no such thing. */
  remove(name: string): boolean;
  /** One page, the same object until something changes. A foreign cursor is `invalid-params`. */
  page(cursor: string | undefined): P;
  /** Answers a request for one page. */
  list(call: { readonly params: PageParams }): { readonly kind: "complete"; readonly result: P };
}

export interface RegistryOptions {
  /** For messages and cursors: `tool`, `resource`. */
  readonly noun: string;
  /** The member of a page that has its items. */
  readonly member: string;
  readonly env: Pick<Environment, "pageSize" | "cache">;
  onChange(): void;
}

interface Listable {
  /** What lists show. */
  readonly listed: object;
}

interface Entry<T> {
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

  const changed = (): void => {
    pages.clear();
    items = undefined;
    onChange();
  };

  const build = (after: number): P => {
    const rest = [...entries.values()].filter((entry) => entry.sequence > after);
    const shown = rest.slice(0, pageSize);
    const last = shown.at(-1);
    const more = last !== undefined && rest.length > shown.length;
    const next = more ? { nextCursor: encodeCursor(noun, last.sequence) } : {};
    return Object.freeze({ [member]: shown.map(({ item }) => item.listed), ...next, ...cache }) as P;
  };

  const page = (cursor: string | undefined): P => {
    const after = cursor === undefined ? 0 : decodeCursor(noun, cursor);
    let page = pages.get(after);
    if (page === undefined) {
      page = build(after);
      if (pages.size < MAX_KEPT_PAGES) pages.set(after, page);
    }
    return page;
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
      changed();
    },
    remove(name) {
      const removed = entries.delete(name);
      if (removed) changed();
      return removed;
    },
    page,
    list: ({ params }) => ({ kind: "complete", result: page(params.cursor) }),
  };
}

/** Cursors name any position, so a peer could make up endless ones: keep only so many. */
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
