import { McpError } from "../model/errors.ts";
import { methodRow } from "../model/methods.ts";
import type { Call, Middleware, Outcome, Service } from "../model/service.ts";
import { toBase64Url } from "../std/base64.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { type Attempts, createAttempts } from "../store/attempts.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import { createCallerNames } from "./caller.ts";
import { take, type Verdict } from "./sliding-window.ts";

export interface RateLimitOptions {
  /** What the calls of one caller may cost within one window. */
  readonly limit: number;
  readonly windowMs: number;
  /**
   * Who a call counts for; undefined lets it pass uncounted. Default: the user
   * who was authenticated, else the address, else everybody who calls this
   * process without a network between.
   */
  readonly by?: (call: Call) => string | undefined;
  /** The methods that count. Default: those that run code of authors, such as `tools/call`. */
  readonly methods?: readonly string[];
  /** What a call costs, in whole numbers; 0 lets it pass uncounted. Default 1. */
  readonly cost?: (call: Call) => number;
  /** Where calls are counted. Give the same to all processes that share the limit. Default: in memory. */
  readonly store?: Store | Promise<Store>;
  /** Tells limits in one store apart. Default: what they allow. */
  readonly name?: string;
  /** What becomes of calls while the store cannot be asked. Default `allow`. */
  readonly onStoreFailure?: "allow" | "refuse";
  /** Hears that the store cannot be asked, at most once a second. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
  /** For tests. */
  readonly clock?: Clock;
  /** The time of day in ms. For tests. */
  readonly now?: () => number;
}

/** How long a store may take to count a call. */
const WAIT_MS = 1_000;
/** How long a store that failed is not asked. */
const REST_MS = 1_000;

/**
 * Refuses calls of who makes too many of them: `createServer({ use: [rateLimit({ limit: 100, windowMs: 60_000 })] })`.
 *
 * One caller gets at most `limit` within a window of the clock, and less than
 * twice that within any time that long. A call that is one too many fails with
 * `limit-reached`; `data.retryAfterMs` says when it could succeed. Throws
 * `invalid-definition` for a limit that is none.
 */
export function rateLimit(options: RateLimitOptions): Middleware {
  const { limit, windowMs, cost, methods, now = Date.now } = options;
  check(options);
  const by = options.by ?? createCallerNames();
  const counted = methods && new Set(methods);
  const counts = (method: string): boolean =>
    counted === undefined ? methodRow(method).runs === true : counted.has(method);
  const prefix = `rate ${options.name ?? `${limit}/${windowMs}`}`;
  const attempt = attemptsOf(options);
  const blind: Verdict = options.onStoreFailure === "refuse" ? { ok: false, retryAfterMs: REST_MS } : { ok: true };

  const judge = async (call: Call): Promise<Verdict> => {
    const [caller, price] = [by(call), cost === undefined ? 1 : costOf(cost(call))];
    if (caller === undefined || price === 0) return { ok: true };
    const wish = { name: await nameOf(prefix, caller), cost: price, now: Math.floor(now()) };
    const judged = await attempt(({ values }) => take(values, wish, { limit, windowMs }));
    return judged.ok ? judged.value : blind;
  };

  return (next) => {
    const limited: Service = async (call) => {
      const verdict = await judge(call);
      return verdict.ok ? next(call) : refusal(options, verdict.retryAfterMs);
    };
    return (call) => (counts(call.method) ? limited(call) : next(call));
  };
}

/** Memory is always there, and quick: nobody has to wait for it with a timer. */
function attemptsOf({ store, onError = report, clock = systemClock }: RateLimitOptions): Attempts {
  if (store !== undefined) return createAttempts(store, { clock, waitMs: WAIT_MS, restMs: REST_MS, failed: onError });
  const own = memoryStore({ clock });
  return async (work) => ({ ok: true, value: await work(own) });
}

function report(error: unknown): void {
  console.error("plugbay: calls cannot be counted for a rate limit:", error);
}

/** Names in a store have at most 512 characters, of which a window takes some. */
const MAX_NAME = 400;

async function nameOf(prefix: string, caller: string): Promise<string> {
  const name = `${prefix} ${caller}`;
  if (name.length <= MAX_NAME) return name;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
  return `rate ${toBase64Url(new Uint8Array(digest))}`;
}

function refusal({ limit, windowMs }: RateLimitOptions, retryAfterMs: number): Outcome & { readonly kind: "failed" } {
  const message = `too many calls: ${limit} are allowed in ${windowMs} ms; try again in ${retryAfterMs} ms`;
  const data = { reason: "limit-reached", retryAfterMs, limit, windowMs };
  return { kind: "failed", failure: { code: "limit-reached", message, data } };
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
