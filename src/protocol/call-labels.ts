import { isDescribed } from "./methods.ts";
import type { CallEnding, ObservedCall } from "./telemetry.ts";

/** The labels of a call in metrics. */
export interface CallLabels {
  readonly method: string;
  /** Of the tool or prompt. */
  readonly name: string | undefined;
}

/** Which labels a call counts under when it has ended. */
export type LabelCall = (call: ObservedCall, ending: CallEnding) => CallLabels;

/** Replaces every label that is not counted separately. */
export const OTHER = "_OTHER";

/**
 * Labels calls for metrics, where every label takes memory permanently.
 *
 * Callers can invent names, so a call of an unknown method, tool or prompt has no name, and only the first `max` names
 * are counted separately.
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
