import type { Inspected } from "./inspect.ts";
import type { PatternCost } from "./pattern-cost.ts";
import { safePattern } from "./safe-pattern.ts";

/** The worst case of every pattern of a schema, or which of them has no acceptable one. */
export type PatternProof =
  | { readonly ok: true; readonly costs: ReadonlyMap<string, PatternCost> }
  | { readonly ok: false; readonly problem: string };

/** A schema that may be applied to any value: matching its patterns takes bounded time. */
export interface Proved extends Inspected {
  readonly costs: ReadonlyMap<string, PatternCost>;
}

const proofs = new WeakMap<Inspected["patterns"], PatternProof>();

/**
 * Proves that the patterns of a schema are safe to match, all of them with one
 * bounded effort. Large, so it is loaded only where there are patterns. The same
 * patterns are proved once.
 */
export function provePatterns(patterns: Inspected["patterns"]): PatternProof {
  const proof = proofs.get(patterns) ?? prove(patterns);
  proofs.set(patterns, proof);
  return proof;
}

function prove(patterns: Inspected["patterns"]): PatternProof {
  const effort = { left: 1_000_000 };
  const costs = new Map<string, PatternCost>();
  for (const [source, at] of patterns) {
    const safe = safePattern(source, effort);
    if (!safe.ok) return { ok: false, problem: `${at} cannot be used: ${safe.problem}` };
    costs.set(source, safe.cost);
  }
  return { ok: true, costs };
}
