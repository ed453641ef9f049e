import { type Effort, type PatternCost, patternCost } from "./pattern-cost.ts";
import { type PatternNode, parsePattern } from "./pattern-syntax.ts";

/** The worst case of a pattern, or why it has no acceptable one. */
export type SafePattern =
  | { readonly ok: true; readonly cost: PatternCost }
  | { readonly ok: false; readonly problem: string };

const maxDegree = 3;
const maxBits = 10;

/**
 * Proves that the time a well-formed regular expression (flag `u`) takes is
 * bounded by a small power of the length of the text.
 *
 * Patterns whose worst case is exponential, such as `(a+)+$`, are refused, and so
 * is what cannot be analysed. Nearly all others are linear; a quadratic one like
 * `\d+\d+` is accepted, and {@link patternSteps} tells what a text can cost.
 */
export function safePattern(source: string, effort: Effort = { left: 1_000_000 }): SafePattern {
  const parsed = parsePattern(source);
  if (!parsed.ok) return unsafe(parsed.problem);
  const anchored = isAnchored(parsed.value);
  const whole = patternCost(parsed.value, anchored, effort);
  const cost = typeof whole === "string" ? whole : patternCost(withoutTail(parsed.value), anchored, effort);
  if (typeof cost === "string") return unsafe(cost);
  if (cost.degree <= maxDegree && cost.bits <= maxBits) return { ok: true, cost };
  return unsafe("too many of its parts can match the same text");
}

/** Steps that matching a text of this length takes at most; a step is about a nanosecond. */
export function patternSteps({ bits, degree }: PatternCost, length: number): number {
  return 2 ** bits * length ** Math.max(1, degree);
}

function unsafe(problem: string): SafePattern {
  return { ok: false, problem };
}

/** True if the pattern can match only at the start of the text. */
function isAnchored(node: PatternNode): boolean {
  switch (node.kind) {
    case "edge":
      return node.start;
    case "choice":
      return node.options.every(isAnchored);
    case "repeat":
      return node.min > 0 && isAnchored(node.body);
    case "sequence":
      return node.items
        .filter(({ kind }) => kind !== "look")
        .slice(0, 1)
        .some(isAnchored);
    default:
      return false;
  }
}

/** The pattern without optional characters at its end: once there, it has matched and nothing is tried again. */
function withoutTail(node: PatternNode): PatternNode {
  switch (node.kind) {
    case "choice":
      return { ...node, options: node.options.map(withoutTail) };
    case "repeat":
      return node.body.kind === "chars" ? { ...node, max: node.min } : node;
    case "sequence": {
      const tail = node.items.at(-1);
      return tail === undefined ? node : { ...node, items: [...node.items.slice(0, -1), withoutTail(tail)] };
    }
    default:
      return node;
  }
}
