import { McpError } from "../protocol/errors.ts";
import { methodRow } from "../protocol/methods.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import type { Call, Middleware, Outcome } from "../protocol/service.ts";
import { type Awaitable, allOf, chain, promised } from "../std/awaitable.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { digestText } from "../std/digest.ts";
import { networkOf } from "../std/network-of.ts";
import { type Attempts, attemptsInMemory, createAttempts } from "../store/attempt.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store, StoreValues } from "../store/store.ts";

export interface RateLimitOptions {
  /** What the calls of one caller may cost within one window. */
  readonly limit: number;
  readonly windowMs: number;
  /**
   * Who a call counts for; undefined lets it pass uncounted. Default: the user
   * who was authenticated, else the address, else everybody who calls this
   * process without a network between.
   */
  readonly by?: ((call: Call) => string | undefined) | undefined;
  /** The methods that count. Default: those that run code of authors, such as `tools/call`. */
  readonly methods?: readonly string[] | undefined;
  /** What a call costs, in whole numbers; 0 lets it pass uncounted. Default 1. */
  readonly cost?: ((call: Call) => number) | undefined;
  /** Where calls are counted. Give the same to all processes that share the limit. Default: in memory. */
  readonly store?: Store | Promise<Store> | undefined;
  /** Tells limits in one store apart. Default: what they allow. */
  readonly name?: string | undefined;
  /** What becomes of calls while the store cannot be asked. Default `allow`. */
  readonly storeFailure?: "allow" | "refuse" | undefined;
  /** Hears that the store cannot be asked, at most once a second. Default: `console.error`. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** For tests: `date` of it is the time of day. */
  readonly clock?: Clock | undefined;
}

const optionNames: OptionNames<RateLimitOptions> = {
  limit: true,
  windowMs: true,
  by: true,
  methods: true,
  cost: true,
  store: true,
  name: true,
  storeFailure: true,
  onError: true,
  clock: true,
};

/** How long a store may take to count a call. */
const WAIT_MS = 1_000;
/** How long a store that failed is not asked. */
const REST_MS = 1_000;

/**
 * Refuses calls of who makes too many of them: `createServer({ use: [rateLimit({ limit: 100, windowMs: 60_000 })] })`.
 *
 * One caller gets at most `limit` within a window of the clock, and less than
 * twice that within any time that long. A call that is one too many fails with
 * `limit-reached`; `data.retryAfterMs` says when it could succeed, which may be
 * up to two windows away. Over HTTP that is 429 with `Retry-After`. Throws
 * `invalid-definition` for a limit that is none.
 */
export function rateLimit(options: RateLimitOptions): Middleware {
  const { limit, windowMs, cost, methods, clock = systemClock } = options;
  const now = (): number => clock.date?.() ?? Date.now();
  checkOptionNames("rateLimit", options, optionNames, { now: "clock.date" });
  check(options);
  const by = options.by ?? createCallerNames();
  const counted = methods && new Set(methods);
  const counts = (method: string): boolean =>
    counted === undefined ? methodRow(method).runs === true : counted.has(method);
  const prefix = `rate ${options.name ?? `${limit}/${windowMs}`}`;
  const attempt = attemptsOf(options);
  const blind = options.storeFailure === "refuse" ? uncounted(options) : undefined;

  /** The refusal of a call; undefined when it may go on. */
  const judge = (call: Call): Awaitable<(Outcome & { readonly kind: "failed" }) | undefined> => {
    const [caller, price] = [by(call), cost === undefined ? 1 : costOf(cost(call))];
    if (caller === undefined || price === 0) return undefined;
    return chain(nameOf(prefix, caller), (name) => {
      const wish = { name, cost: price, now: Math.floor(now()) };
      const judged = attempt(({ values }) => take(values, wish, { limit, windowMs }));
      return chain(judged, (attempted) => {
        if (!attempted.ok) return blind;
        return attempted.value.ok ? undefined : refusal(options, call, attempted.value.retryAfterMs);
      });
    });
  };

  return (next) => {
    const limited = async (call: Call): Promise<Outcome> => {
      const judged = judge(call);
      const refused = judged instanceof Promise ? await judged : judged;
      return refused ?? next(call);
    };
    return (call) => (counts(call.method) ? limited(call) : next(call));
  };
}

function attemptsOf({ store, onError = report, clock = systemClock }: RateLimitOptions): Attempts {
  if (store === undefined) return attemptsInMemory(memoryStore({ clock }));
  return createAttempts(store, { clock, waitMs: WAIT_MS, restMs: REST_MS, failed: onError });
}

function report(error: unknown): void {
  console.error("plugbay: calls cannot be counted for a rate limit:", error);
}

/** Names in a store have at most 512 characters, of which a window takes some. */
const MAX_NAME = 400;

function nameOf(prefix: string, caller: string): Awaitable<string> {
  const name = `${prefix} ${caller}`;
  return name.length <= MAX_NAME ? name : chain(digestText(name), (digest) => `rate ${digest}`);
}

/** Callers that cannot be told apart count as one. */
function refusal(options: RateLimitOptions, call: Call, retryAfterMs: number): Outcome & { readonly kind: "failed" } {
  const { limit, windowMs, name = "rateLimit" } = options;
  const isShared = options.by === undefined && call.peer.auth === undefined && call.http?.remoteAddress === undefined;
  const window = `${secondsOf(windowMs)} for ${isShared ? "all callers together" : "this caller"}`;
  const counted = "counted over this window and the one before";
  const message = `rate limit reached: the limit is ${limit} in ${window}, ${counted}; retry in ${secondsOf(retryAfterMs)}`;
  const data = {
    reason: "limit-reached",
    limit: name,
    max: limit,
    scope: "principal",
    retryAfterMs,
    windowMs,
  };
  return { kind: "failed", failure: { code: "limit-reached", message, data } };
}

/** The refusal of a call that cannot be counted: nobody has reached a limit. */
function uncounted({ name = "rateLimit", limit }: RateLimitOptions): Outcome & { readonly kind: "failed" } {
  const message = `calls cannot be counted for a rate limit right now; retry in ${secondsOf(REST_MS)}`;
  const data = { reason: "limit-reached", limit: name, max: limit, scope: "process", retryAfterMs: REST_MS };
  return { kind: "failed", failure: { code: "limit-reached", message, data } };
}

function secondsOf(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`;
}

function check({ limit, windowMs }: RateLimitOptions): void {
  for (const [name, value] of Object.entries({ limit, windowMs })) {
    if (Number.isSafeInteger(value) && value > 0) continue;
    throw new McpError("invalid-definition", `the option ${name} must be a whole number of at least 1, not ${value}`);
  }
  // What is counted is multiplied with times, and must not lose anything by that.
  if (Number.isSafeInteger(limit * windowMs)) return;
  throw new McpError("invalid-definition", `${limit} calls in ${windowMs} ms are more than can be counted`);
}

function costOf(cost: number): number {
  if (Number.isSafeInteger(cost) && cost >= 0) return cost;
  throw new McpError("invalid-definition", `a call must cost a whole number of at least 0, not ${cost}`);
}

/** Whether something may happen now, or how long until it could. */
export type Verdict = { readonly ok: true } | { readonly ok: false; readonly retryAfterMs: number };

/** Something that wants to happen. What costs more than the limit never can. */
interface Wish {
  /** Whose it is. What has another name is counted apart. */
  readonly name: string;
  readonly cost: number;
  /** The time of day, in whole milliseconds, so that all processes see the same windows. */
  readonly now: number;
}

interface WindowOptions {
  readonly limit: number;
  readonly windowMs: number;
}

/** What was counted when something wanted to happen. Everything is whole, so nothing is lost by rounding. */
interface Count {
  /** In the window before this one. */
  readonly before: number;
  /** In this window, without what wants to happen. */
  readonly others: number;
  readonly cost: number;
  /** Of this window. */
  readonly elapsedMs: number;
}

/**
 * Counts what happens in windows that begin at the same time everywhere, two
 * numbers a name. The window before counts for as much of it as would still lie
 * in a window that ends now.
 *
 * What is refused does not count. While it is being given back, others may be
 * refused for it. Answers at once where the store does. Throws or rejects when
 * the numbers cannot be had.
 */
export function take(values: Pick<StoreValues, "add">, wish: Wish, options: WindowOptions): Awaitable<Verdict> {
  const { name, cost, now } = wish;
  const { limit, windowMs } = options;
  if (cost > limit) return { ok: false, retryAfterMs: windowMs };
  const index = Math.floor(now / windowMs);
  const added = allOf([
    values.add(`${name} ${index - 1}`, 0, windowMs),
    values.add(`${name} ${index}`, cost, 2 * windowMs),
  ] as const);
  return chain(added, ([before, sum]): Verdict => {
    const count = { before: Math.max(0, before), others: Math.max(0, sum - cost), cost, elapsedMs: now % windowMs };
    if (isWithin(count, options)) return { ok: true };
    // What cannot be given back now is counted until its window is over.
    promised(() => values.add(`${name} ${index}`, -cost, 2 * windowMs)).catch(() => {});
    return { ok: false, retryAfterMs: waitOf(count, options) };
  });
}

function isWithin({ before, others, cost, elapsedMs }: Count, { limit, windowMs }: WindowOptions): boolean {
  return before * (windowMs - elapsedMs) <= (limit - others - cost) * windowMs;
}

/** How long until it could happen, if nothing else does. */
function waitOf(count: Count, { limit, windowMs }: WindowOptions): number {
  const { before, others, cost, elapsedMs } = count;
  const room = limit - others - cost;
  if (room >= 0) return fadedBy(before, room, windowMs) - elapsedMs;
  return windowMs - elapsedMs + fadedBy(others, limit - cost, windowMs);
}

/** How far into a window it is until so many of the one before count for no more than `room`. */
function fadedBy(before: number, room: number, windowMs: number): number {
  return before <= room ? 0 : windowMs - Math.floor((room * windowMs) / before);
}

/** Names who makes a call, for counting. */
type NameCaller = (call: Call) => string;

/**
 * Names callers by what is known of them: the user, else the address. Who has
 * neither because there is no network between counts with all others of this
 * process; who has none in spite of one, with all others anywhere.
 */
export function createCallerNames(): NameCaller {
  const here = `process ${crypto.randomUUID()}`;
  return ({ peer, http }) => {
    if (peer.auth !== undefined) return `user ${peer.auth.principal}`;
    if (http === undefined) return here;
    return http.remoteAddress === undefined ? "somebody" : `address ${networkOf(http.remoteAddress)}`;
  };
}
