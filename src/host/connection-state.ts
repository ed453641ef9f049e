import type { Failure } from "../protocol/errors.ts";

/** How a server of a host stands. */
export type ConnectionState =
  /** Not connected: nobody has needed it yet, or not for long. */
  | { readonly kind: "idle"; readonly failures: Failures }
  | { readonly kind: "connecting"; readonly since: number; readonly failures: Failures }
  | { readonly kind: "ready"; readonly since: number; readonly failures: Failures }
  /**
   * It could not be reached, or broke. It is tried again at `retryAt`, by
   * itself; one that fails again and again only when somebody needs it.
   */
  | {
      readonly kind: "down";
      readonly reason: Failure;
      readonly retryAt: number;
      readonly isLooping: boolean;
      readonly failures: Failures;
    }
  /**
   * Its server takes no call without credentials that only a user can give. It is not tried again by itself: signing in,
   * or a restart, does.
   */
  | { readonly kind: "needs-auth"; readonly reason: Failure; readonly failures: Failures }
  /** Never used: switched off, or its configuration has a problem. */
  | { readonly kind: "off"; readonly reason: Failure }
  | { readonly kind: "closed" };

/** True for a server that should be there, and is not. */
export function isAway(state: ConnectionState): boolean {
  const { kind } = state;
  return kind === "down" || kind === "needs-auth" || (kind === "connecting" && state.failures.inRow > 0);
}

/** What went wrong lately. */
export interface Failures {
  /** In a row: a server that stayed up for a while starts anew. */
  readonly inRow: number;
  /** When, within the window that counts. */
  readonly recent: readonly number[];
}

export type MemberEvent =
  | { readonly kind: "wanted" }
  | { readonly kind: "opened" }
  | { readonly kind: "failed"; readonly reason: Failure }
  | { readonly kind: "ended"; readonly reason: Failure | undefined }
  /** Somebody has to sign in first, or has signed out. */
  | { readonly kind: "unauthorized"; readonly reason: Failure }
  /** The time to try again has come. */
  | { readonly kind: "due" }
  /** Nobody has used it for long enough. */
  | { readonly kind: "unused" }
  | { readonly kind: "restart" }
  | { readonly kind: "close" };

/** When a server that failed is tried again. Times are in milliseconds. */
export interface RestartOptions {
  /** After the first failure; twice as long after each further one in a row. Default 250. */
  readonly minDelayMs?: number | undefined;
  /** Default 30 s. */
  readonly maxDelayMs?: number | undefined;
  /** So many failures within `windowMs`, and it is only tried when needed, at most every `maxDelayMs`. Default 5. */
  readonly maxFailures?: number | undefined;
  /** Default 60 s. */
  readonly windowMs?: number | undefined;
  /** A server that was up for so long has recovered. Default 10 s. */
  readonly stableMs?: number | undefined;
}

export type Rules = { readonly [K in keyof RestartOptions]-?: number };

export const standardRules: Rules = {
  minDelayMs: 250,
  maxDelayMs: 30_000,
  maxFailures: 5,
  windowMs: 60_000,
  stableMs: 10_000,
};

export const noFailures: Failures = { inRow: 0, recent: [] };

export const initial: ConnectionState = { kind: "idle", failures: noFailures };

/** When an event happens, and by which rules it is judged. */
export interface Moment {
  readonly now: number;
  readonly rules: Rules;
}

/** The state after an event. Events that mean nothing in a state leave it as it is. */
export function step(state: ConnectionState, event: MemberEvent, moment: Moment): ConnectionState {
  if (state.kind === "closed" || event.kind === "close") return { kind: "closed" };
  if (state.kind === "off") return state;
  switch (event.kind) {
    case "wanted":
      return mayTry(state, moment) ? connecting(state.failures, moment) : state;
    case "due":
      return state.kind === "down" && mayTry(state, moment) ? connecting(state.failures, moment) : state;
    case "unauthorized":
      return state.kind === "needs-auth" ? state : needsAuth(event.reason);
    case "restart":
      return connecting(noFailures, moment);
    case "opened":
    case "failed":
      return state.kind === "connecting" ? afterAttempt(state, event, moment) : state;
    case "ended":
    case "unused":
      return state.kind === "ready" ? afterUse(state, event, moment) : state;
  }
}

type In<K extends ConnectionState["kind"]> = Extract<ConnectionState, { readonly kind: K }>;
type On<K extends MemberEvent["kind"]> = Extract<MemberEvent, { readonly kind: K }>;

function connecting(failures: Failures, { now }: Moment): ConnectionState {
  return { kind: "connecting", since: now, failures };
}

function needsAuth(reason: Failure): ConnectionState {
  return { kind: "needs-auth", reason, failures: noFailures };
}

function mayTry(state: ConnectionState, { now }: Moment): boolean {
  return state.kind === "idle" || (state.kind === "down" && now >= state.retryAt);
}

function afterAttempt({ failures }: In<"connecting">, event: On<"opened" | "failed">, moment: Moment): ConnectionState {
  if (event.kind === "opened") return { kind: "ready", since: moment.now, failures };
  if (event.reason.code === "unauthorized") return needsAuth(event.reason);
  return toDown(event.reason, failures, moment);
}

/** A connection that this side ended has not failed. */
function afterUse({ since, failures }: In<"ready">, event: On<"ended" | "unused">, moment: Moment): ConnectionState {
  const reason = event.kind === "ended" ? event.reason : undefined;
  if (reason === undefined) return { kind: "idle", failures };
  const hasRecovered = moment.now - since >= moment.rules.stableMs;
  return toDown(reason, hasRecovered ? { ...failures, inRow: 0 } : failures, moment);
}

function toDown(reason: Failure, { inRow, recent }: Failures, { now, rules }: Moment): ConnectionState {
  const counted = [...recent, now].filter((at) => at > now - rules.windowMs).slice(-rules.maxFailures);
  const isLooping = counted.length >= rules.maxFailures;
  const delayMs = isLooping ? rules.maxDelayMs : Math.min(rules.minDelayMs * 2 ** inRow, rules.maxDelayMs);
  return {
    kind: "down",
    reason,
    retryAt: now + delayMs,
    isLooping,
    failures: { inRow: Math.min(inRow + 1, 30), recent: counted },
  };
}
