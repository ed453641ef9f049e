import type { CachedCallOptions } from "../client/call-options.ts";
import type { Client } from "../client/client.ts";
import type { Line } from "../connect/create-connect.ts";
import type { Change } from "../model/subscription.ts";
import type { Clock } from "../std/clock.ts";

/** The lists a server has. */
export type ListKind = "tools" | "resources" | "resourceTemplates" | "prompts";

type Item<K extends ListKind> = Awaited<ReturnType<Client[Fetchers[K]]>>[number];

interface Fetchers {
  readonly tools: "listTools";
  readonly resources: "listResources";
  readonly resourceTemplates: "listResourceTemplates";
  readonly prompts: "listPrompts";
}

const fetchers: Fetchers = {
  tools: "listTools",
  resources: "listResources",
  resourceTemplates: "listResourceTemplates",
  prompts: "listPrompts",
};

const capabilities = {
  tools: "tools",
  resources: "resources",
  resourceTemplates: "resources",
  prompts: "prompts",
} as const;

/**
 * The lists of one server, for as long as they hold: until the server says that
 * they changed, or for a time where it would not say. What is made of an item
 * is made once.
 */
export interface Shelf<K extends ListKind, T> {
  /** The list over this connection, all pages. Empty where the server has no such thing. */
  get(line: Line, options?: CachedCallOptions): Promise<readonly T[]>;
  /** The list as it was last seen, also when it does not hold any more. */
  readonly last: readonly T[];
  forget(): void;
  readonly kind: K;
}

interface Kept<T> {
  readonly line: Line;
  readonly until: number;
  readonly items: Promise<readonly T[]>;
}

export interface ShelfOptions<K extends ListKind, T> {
  readonly kind: K;
  readonly clock: Clock;
  /** How long to keep lists of servers that announce no changes. */
  readonly keepMs: number;
  /** Waits until changes are heard of: what is fetched before may be old without anybody knowing. */
  listening(): Promise<void>;
  make(item: Item<K>): T;
}

export function createShelf<K extends ListKind, T>(options: ShelfOptions<K, T>): Shelf<K, T> {
  const { kind, clock, keepMs, listening, make } = options;
  let kept: Kept<T> | undefined;
  let last: readonly T[] = [];

  const fetch = async (line: Line, given: CachedCallOptions): Promise<readonly T[]> => {
    if (line.client.server.capabilities[capabilities[kind]] === undefined) return [];
    await listening();
    const items: readonly unknown[] = await line.client[fetchers[kind]](given);
    return items.map((item) => make(item as Item<K>));
  };

  return {
    kind,
    async get(line, given = {}) {
      const { fresh = false, ...rest } = given;
      if (!fresh && kept?.line === line && clock.now() < kept.until) return kept.items;
      const until = announces(line, kind) ? Number.POSITIVE_INFINITY : clock.now() + keepMs;
      const mine: Kept<T> = { line, until, items: fetch(line, { ...rest, fresh }) };
      kept = mine;
      try {
        last = await mine.items;
        return last;
      } catch (error) {
        if (kept === mine) kept = undefined;
        throw error;
      }
    },
    get last() {
      return last;
    },
    forget() {
      kept = undefined;
    },
  };
}

/** Whether the server says when the list changes. */
function announces({ client }: Line, kind: ListKind): boolean {
  return client.server.capabilities[capabilities[kind]]?.listChanged === true;
}

/** The lists that a change is about. */
export function listsOf({ kind }: Change): readonly ListKind[] {
  switch (kind) {
    case "tools":
    case "prompts":
      return [kind];
    case "resources":
      return ["resources", "resourceTemplates"];
    default:
      return [];
  }
}
