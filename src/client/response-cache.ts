import { asJson, type JsonObject } from "../json/json.ts";
import type { Connection } from "../protocol/connection.ts";
import type { Method, Result } from "../protocol/methods.ts";
import { abortReason, type CallOf, type Outcome, type OutcomeOf, type Service } from "../protocol/service.ts";
import type { Change } from "../protocol/subscription.ts";
import { type Awaitable, chain } from "../std/awaitable.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { CacheEntries, CacheEntriesOptions, CacheKey, CacheOptions, Lookup } from "./cache-entries.ts";
import { createCacheOwner } from "./cache-owner.ts";

/** Keeps results for as long as the server allows. */
export interface ResponseCache {
  /** Answers from what is kept and still fresh; else asks, and keeps what may be kept. */
  readonly reading: Service;
  /** Always asks, and keeps what may be kept. */
  readonly refreshing: Service;
  /** Drops what the change makes wrong, also what is on its way. */
  invalidate(change: Change): void;
}

interface ResponseCacheOptions extends CacheEntriesOptions {
  /** What is asked for results that are not kept. */
  readonly service: Service;
  /** Who the server takes this client for, where that may change: nobody gets what was kept for somebody else. */
  readonly credentials?: Connection["credentials"];
}

interface CacheParts extends Pick<ResponseCacheOptions, "service" | "clock" | "warn"> {
  readonly connection: Pick<Connection, "server" | "revision" | "credentials">;
  /** Names where the server is. May hold secrets. Absent where nobody else could connect to the same. */
  readonly place: string | undefined;
}

/** The cache that a client was told to use. */
export function chooseCache(wanted: boolean | CacheOptions, parts: CacheParts): ResponseCache | undefined {
  const { service, connection, clock, warn, place } = parts;
  if (wanted === false) return undefined;
  const { credentials } = connection;
  const common = { service, clock, warn, ...(credentials && { credentials }) };
  if (wanted === true) return createResponseCache(common);
  if (place === undefined) {
    warn({ kind: "not-honoured", message: "results stay in memory: only a URL or a command names a server to others" });
    return createResponseCache(common);
  }
  const { name, version } = connection.server.serverInfo;
  const server = JSON.stringify([place, name, version, connection.revision]);
  return createResponseCache({ ...common, shared: { ...wanted, server } });
}

/**
 * A cache in front of a service, for methods whose results say how long they last.
 *
 * What keeps results is loaded with the first one that may be kept, or before the first call where others may have kept
 * some. A store that fails or is slow makes no call fail.
 */
export function createResponseCache(options: ResponseCacheOptions): ResponseCache {
  const { service, warn, shared } = options;
  /** What has changed before what keeps results was loaded. */
  const missed: string[] = [];
  const createEntries = (): Lazy<CacheEntries> =>
    lazy(
      () => import("./cache-entries.ts"),
      ({ createCacheEntries }) => {
        const entries = createCacheEntries(options);
        for (const subject of missed.splice(0)) entries.outdate(subject);
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
    return loaded === undefined ? load().then((entries) => entries?.look(key, anew)) : loaded.look(key, anew);
  };

  /** The place of a first result that may be kept in memory. */
  const makePlace = async (call: CallOf, result: JsonObject): Promise<Lookup | undefined> => {
    const key = shared !== undefined || ttlOf(result) <= 0 ? undefined : keyOf(call);
    return key && (await load())?.look(key, true);
  };

  /** What was asked before a change is not kept after it. */
  const ask = async <M extends Method>(call: CallOf<M>, lookup: Lookup | undefined): Promise<OutcomeOf<M>> => {
    if (abortReason(call) !== undefined) return aborted(call);
    const asked = changes;
    const outcome = await service(call);
    if (outcome.kind !== "complete") return outcome;
    const result = asJson(outcome.result);
    const isLarge = outcome.size !== undefined && outcome.size > maxKept;
    const place = lookup ?? (isLarge ? undefined : await makePlace(call, result));
    if (place !== undefined && (await owner.isSame()) && asked === changes)
      place.keep(result, isLarge ? 0 : ttlOf(result));
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
      if (lazyEntries.loaded !== undefined) lazyEntries.loaded.outdate(subject);
      else if (shared !== undefined && !isBroken) {
        missed.push(subject);
        void load();
      }
    },
  };
}

/** Results whose text is longer are not kept, so that memory has a bound. */
const maxKept = 1_048_576;

/** How long a result may be kept. */
function ttlOf({ ttlMs }: JsonObject): number {
  return typeof ttlMs === "number" ? ttlMs : 0;
}

/** The caller went while the store was asked. */
function aborted({ method }: CallOf): Outcome & { readonly kind: "failed" } {
  return { kind: "failed", failure: { code: "cancelled", message: `${method} was cancelled` } };
}

/** None for a call that answers questions, whose result must not be kept, and for params nobody knows the meaning of. */
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
