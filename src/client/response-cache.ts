import { asJson, type JsonObject } from "../json/json.ts";
import type { Connection } from "../protocol/connection.ts";
import type { Method, Result } from "../protocol/methods.ts";
import { abortReason, type CallOf, type Outcome, type OutcomeOf, type Service } from "../protocol/service.ts";
import type { Change } from "../protocol/subscription.ts";
import { type Awaitable, chain } from "../std/awaitable.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { CacheEntries, CacheEntriesOptions, CacheKey, CacheOptions, Lookup } from "./cache-entries.ts";
import { createCacheOwner } from "./cache-owner.ts";

/** Caches results for as long as the server allows. */
export interface ResponseCache {
  /** Returns a fresh cached result; otherwise sends the request and caches the result where allowed. */
  readonly reading: Service;
  /** Always sends the request, and caches the result where allowed. */
  readonly refreshing: Service;
  /** Drops what the change makes wrong, also what is on its way. */
  invalidate(change: Change): void;
}

interface ResponseCacheOptions extends CacheEntriesOptions {
  /** The service for results that are not cached. */
  readonly service: Service;
  /**
   * The identity under which the server sees this client, where that can change: results are not shared between
   * identities.
   */
  readonly credentials?: Connection["credentials"];
}

interface CacheParts extends Pick<ResponseCacheOptions, "service" | "clock" | "warn"> {
  readonly connection: Pick<Connection, "server" | "revision" | "credentials">;
  /** Identifies the server. May contain secrets. Absent where no other client could connect to the same server. */
  readonly place: string | undefined;
}

/** The cache that the options of a client ask for. */
export function chooseCache(option: boolean | CacheOptions, parts: CacheParts): ResponseCache | undefined {
  const { service, connection, clock, warn, place } = parts;
  if (option === false) return undefined;
  const { credentials } = connection;
  const common = { service, clock, warn, ...(credentials && { credentials }) };
  if (option === true) return createResponseCache(common);
  if (place === undefined) {
    warn({ kind: "not-honoured", message: "results stay in memory: only a URL or a command names a server to others" });
    return createResponseCache(common);
  }
  const { name, version } = connection.server.serverInfo;
  const server = JSON.stringify([place, name, version, connection.revision]);
  return createResponseCache({ ...common, shared: { ...option, server } });
}

/**
 * A cache in front of a service, for methods whose results have a time to live.
 *
 * The code of the cache is loaded with the first result that may be cached, or before the first call where the cache is
 * shared. A store that fails or is slow makes no call fail.
 */
export function createResponseCache(options: ResponseCacheOptions): ResponseCache {
  const { service, warn, shared } = options;
  /** Changes that happened before the code of the cache was loaded. */
  const missed: string[] = [];
  const createEntries = (): Lazy<CacheEntries> =>
    lazy(
      () => import("./cache-entries.ts"),
      ({ createCacheEntries }) => {
        const entries = createCacheEntries(options);
        for (const subject of missed.splice(0)) entries.invalidate(subject);
        return entries;
      },
    );
  let lazyEntries = createEntries();
  let changes = 0;
  const owner = createCacheOwner(options.credentials, () => {
    lazyEntries = createEntries();
    changes++;
  });
  let isBroken = false;

  /** Undefined when it cannot be loaded. It is tried once. */
  const load = async (): Promise<CacheEntries | undefined> => {
    if (isBroken) return undefined;
    try {
      return await lazyEntries.load();
    } catch (cause) {
      if (!isBroken) warn({ kind: "store-failed", message: "results are not kept: the cache cannot be loaded", cause });
      isBroken = true;
      return undefined;
    }
  };

  const look = (call: CallOf, anew: boolean): Awaitable<Lookup | undefined> => {
    const { loaded } = lazyEntries;
    // Only this client puts something into its memory.
    const key = loaded === undefined && shared === undefined ? undefined : keyOf(call);
    if (key === undefined) return undefined;
    return loaded === undefined ? load().then((entries) => entries?.lookUp(key, anew)) : loaded.lookUp(key, anew);
  };

  /** The lookup for a first result that may be cached in memory. */
  const createLookup = async (call: CallOf, result: JsonObject): Promise<Lookup | undefined> => {
    const key = shared !== undefined || ttlOf(result) <= 0 ? undefined : keyOf(call);
    return key && (await load())?.lookUp(key, true);
  };

  /** A result that was requested before a change is not cached after it. */
  const ask = async <M extends Method>(call: CallOf<M>, lookup: Lookup | undefined): Promise<OutcomeOf<M>> => {
    if (abortReason(call) !== undefined) return aborted(call);
    const asked = changes;
    const outcome = await service(call);
    if (outcome.kind !== "complete") return outcome;
    const result = asJson(outcome.result);
    const isLarge = outcome.size !== undefined && outcome.size > maxKept;
    const place = lookup ?? (isLarge ? undefined : await createLookup(call, result));
    if (place !== undefined && (await owner.isSame()) && asked === changes)
      place.save(result, isLarge ? 0 : ttlOf(result));
    return outcome;
  };

  const answerOwner = <M extends Method>(call: CallOf<M>, anew: boolean): Promise<OutcomeOf<M>> => {
    const began = changes;
    const answered = chain(look(call, anew), (lookup): Promise<OutcomeOf<M>> => {
      const result = began === changes ? lookup?.result : undefined;
      if (anew || result === undefined) return ask(call, lookup);
      // The key of a result begins with the method, so it is a result of that method.
      return Promise.resolve({ kind: "complete", result: result as Result<M> });
    });
    return answered as Promise<OutcomeOf<M>>;
  };

  const answer: typeof answerOwner = (call, anew) => {
    const found = owner.find();
    return found === undefined ? answerOwner(call, anew) : found.then(() => answerOwner(call, anew));
  };

  return {
    reading: (call) => answer(call, false),
    refreshing: (call) => answer(call, true),
    invalidate(change) {
      const subject = changedSubject(change);
      if (subject === undefined) return;
      changes++;
      if (lazyEntries.loaded !== undefined) lazyEntries.loaded.invalidate(subject);
      else if (shared !== undefined && !isBroken) {
        missed.push(subject);
        void load();
      }
    },
  };
}

/** Longer results are not cached, so that memory is bounded. */
const maxKept = 1_048_576;

/** How long a result may be cached. */
function ttlOf({ ttlMs }: JsonObject): number {
  return typeof ttlMs === "number" ? ttlMs : 0;
}

/** The caller went while the store was asked. */
function aborted({ method }: CallOf): Outcome & { readonly kind: "failed" } {
  return { kind: "failed", failure: { code: "cancelled", message: `${method} was cancelled` } };
}

/** Undefined for a call that answers questions, whose result must not be cached, and for unknown params. */
function keyOf({ method, params, answers, state }: CallOf): CacheKey | undefined {
  if (answers !== undefined || state !== undefined) return undefined;
  const { uri, cursor, ...unknown } = asJson(params);
  if (Object.keys(unknown).length > 0) return undefined;
  const what = JSON.stringify(uri ?? cursor ?? null);
  return { text: `${method} ${what}`, method, subject: subjectOf(method, what) };
}

function subjectOf(method: string, what: string): string | undefined {
  switch (method) {
    case "tools/list":
      return "tools";
    case "prompts/list":
      return "prompts";
    case "resources/list":
    case "resources/templates/list":
      return "resources";
    case "resources/read":
      return `resource ${what}`;
    default:
      return undefined;
  }
}

/** What a change makes wrong. */
function changedSubject(change: Change): string | undefined {
  switch (change.kind) {
    case "resource":
      return `resource ${JSON.stringify(change.uri)}`;
    case "task":
      return undefined;
    default:
      return change.kind;
  }
}
