import type { Cacheable } from "../protocol/methods.ts";
import type { Shares } from "../protocol/shares.ts";
import type { Clock } from "../std/clock.ts";
import type { Deadlines } from "../std/deadlines.ts";
import type { Lazy } from "../std/lazy.ts";
import type { Store } from "../store/store.ts";
import type { ErrorReporter } from "./error-reporter.ts";
import type { Runner } from "./runs/execution.ts";

/** What the parts of one server share. */
export interface Environment {
  /** The store for data that outlives a call: the one that was given, else one in memory, created on first use. */
  readonly store: Lazy<Store>;
  /** True when the store was given: other processes may use it, too. */
  readonly isShared: boolean;
  readonly runner: Runner;
  /** The data retained for callers, within budgets. */
  readonly shares: Lazy<Shares>;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** The time of day, which other processes share. */
  now(): number;
  readonly errors: ErrorReporter;
  /** Whose states, tasks and named calls are known here. */
  readonly audience: string;
  readonly logging: boolean;
  /** Notifies the client that was asked to open a page that its user is done there. */
  readonly completeElicitation: (elicitationId: string) => void;
  readonly pageSize: number;
  /** Of handlers that set none. */
  readonly timeoutMs: number;
  /** Of lists, and of resources that set none. */
  readonly cache: Pick<Cacheable, "ttlMs" | "cacheScope">;
  /** How arguments that do not match are answered. */
  readonly inputErrors: "result" | "protocol";
  /** Whether patterns of Standard Schemas are left unproved. */
  readonly trustPatterns: boolean;
}
