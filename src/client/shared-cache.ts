import { asJson } from "../json/json.ts";
import type { Method, Result } from "../model/methods.ts";
import { abortReason, type CallOf, type Outcome, type OutcomeOf, type Service } from "../model/service.ts";
import {
  type CacheShelfOptions,
  changedSubject,
  createCacheShelf,
  keyOf,
  type Look,
  scopeOf,
} from "./cache-entries.ts";
import { createCacheTable, type ResponseCache } from "./response-cache.ts";

export interface SharedCacheOptions extends CacheShelfOptions {
  readonly service: Service;
}

/**
 * A cache in a store, in front of a service, for who shares the store: results
 * that are public with all who connect to the same server, private ones with
 * those of the same partition. Without a partition what is private stays in the
 * memory of this client.
 */
export function createSharedCache(options: SharedCacheOptions): ResponseCache {
  const { service, clock, partition } = options;
  const shelf = createCacheShelf(options);
  const table = createCacheTable(clock);
  let generation = 0;

  const isOwn = (outcome: Outcome): boolean =>
    partition === undefined && outcome.kind === "complete" && scopeOf(asJson(outcome.result)) === "private";

  const keep = (key: string, outcome: Outcome, look: Look | undefined): void => {
    if (isOwn(outcome)) table.keep(key, outcome);
    else table.drop(key);
    if (look !== undefined && outcome.kind === "complete") shelf.keep(look, asJson(outcome.result));
  };

  /** What was asked before a change is not kept after it. */
  const ask = async <M extends Method>(call: CallOf<M>, look: Look | undefined): Promise<OutcomeOf<M>> => {
    if (abortReason(call) !== undefined) return aborted(call);
    const [key, asked] = [keyOf(call), generation];
    const outcome = await service(call);
    if (key !== undefined && asked === generation) keep(key, outcome, look);
    return outcome;
  };

  const refreshing: Service = async (call) => {
    const key = keyOf(call);
    return ask(call, key === undefined ? undefined : await shelf.look(key));
  };

  const reading: Service = async <M extends Method>(call: CallOf<M>): Promise<OutcomeOf<M>> => {
    const [key, began] = [keyOf(call), generation];
    const own = key === undefined ? undefined : table.find(key);
    // The key begins with the method, so what it leads to is of that method.
    if (own !== undefined) return own as OutcomeOf<M>;
    const look = key === undefined ? undefined : await shelf.look(key);
    const result = began === generation ? look?.result : undefined;
    return result === undefined ? ask(call, look) : { kind: "complete", result: result as Result<M> };
  };

  return {
    reading,
    refreshing,
    invalidate(change) {
      const subject = changedSubject(change);
      generation++;
      if (subject === undefined) return;
      table.dropAll(subject);
      shelf.outdate(subject);
    },
  };
}

/** The caller went while the store was asked. */
function aborted({ method }: CallOf): Outcome & { readonly kind: "failed" } {
  return { kind: "failed", failure: { code: "cancelled", message: `${method} was cancelled` } };
}
