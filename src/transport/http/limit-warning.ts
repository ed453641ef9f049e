import type { Shortage } from "../../protocol/budget.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import type { HttpOptions, HttpWarning } from "./options.ts";

/** A hook that throws must not end the beat that all streams live on. */
export function warn(onWarning: HttpOptions["onWarning"], warning: HttpWarning): void {
  try {
    onWarning?.(warning);
  } catch (error) {
    console.error("plugbay: onWarning threw:", error);
  }
}

/** Minimum interval of warnings about the same limit and principal. */
const QUIET_MS = 1_000;
/** So many are remembered. */
const MAX_REMEMBERED = 1_000;

/** Warns the operator that a request was refused, and whose share was used up. Undefined without `onWarning`. */
export function createLimitWarning({
  onWarning,
  clock = systemClock,
}: Pick<HttpOptions, "onWarning" | "clock">): ((shortage: Shortage) => void) | undefined {
  if (onWarning === undefined) return undefined;
  return createLimitReport(clock, ({ limit, max, scope, owner }) => {
    const whose = scope === "process" ? "this process" : scope === "principal" ? owner : `a connection of ${owner}`;
    warn(onWarning, { kind: "limit-reached", message: `budgets.${scope}.${limit} (${max}) is used up by ${whose}` });
  });
}

/** Warns about refused amounts, with a minimum interval for the same limit and owner. */
export function createLimitReport(clock: Clock, tell: (shortage: Shortage) => void): (shortage: Shortage) => void {
  const told = new Map<string, number>();

  return (shortage) => {
    const { limit, scope, owner } = shortage;
    const name = `${scope} ${limit} ${owner}`;
    const now = clock.now();
    if (now - (told.get(name) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return;
    if (told.size >= MAX_REMEMBERED) told.clear();
    told.set(name, now);
    tell(shortage);
  };
}
