import { isDescribed } from "./methods.ts";
import type { CallEnding, ObservedCall } from "./telemetry.ts";

/** By which a metric tells calls apart. */
export interface CallLabels {
  readonly method: string;
  /** Of the tool or prompt. */
  readonly name: string | undefined;
}

/** Which labels a call counts under when it has ended. */
export type LabelCall = (call: ObservedCall, ending: CallEnding) => CallLabels;

/** Stands for everything that has no label of its own. */
export const OTHER = "_OTHER";

/**
 * Labels calls for metrics, where every label takes memory for good.
 *
 * Callers can make up names: what was refused because there is no such method,
 * tool or prompt counts without a name, and only the first `max` names count
 * under their own.
 */
export function createLabels(max = 1_000): LabelCall {
  const names = new Set<string>();

  const bounded = (label: string): string => {
    if (names.has(label)) return label;
    if (names.size >= max) return OTHER;
    names.add(label);
    return label;
  };

  return ({ method, name }, { code }) => ({
    method:
      isDescribed(method) || method === "initialize" ? method : code === "method-not-found" ? OTHER : bounded(method),
    name: name === undefined || code === "invalid-params" || code === "method-not-found" ? undefined : bounded(name),
  });
}
