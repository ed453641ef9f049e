import { unreachable } from "../std/unreachable.ts";
import { anyChar, type CharSet, type PatternNode, type Repeat } from "./pattern-syntax.ts";

/**
 * The position automaton (Glushkov automaton) of a pattern: one position for each
 * character of the pattern, with edges to the positions that can follow.
 *
 * Inside a loop every position can be reached from every other; all other edges lead
 * to a position with a higher index.
 */
export interface PatternGraph {
  /** Positions by index. The first is the start. */
  readonly positions: readonly Position[];
  /** The outermost loops, in the order of their positions. */
  readonly loops: readonly Loop[];
}

export interface Position {
  readonly index: number;
  readonly set: CharSet;
  /** The outermost loop this position is in. */
  readonly loop: Loop | undefined;
  /** The positions that can follow, each with the number of ways to reach it. */
  readonly next: Map<Position, number>;
}

export interface Loop {
  readonly source: string;
  readonly positions: Position[];
}

export type BuiltGraph =
  | { readonly ok: true; readonly value: PatternGraph }
  | { readonly ok: false; readonly problem: string };

/** Builds the graph of a pattern. An unanchored pattern can match from every character of the text. */
export function buildGraph(node: PatternNode, anchored: boolean): BuiltGraph {
  const builder: Builder = { positions: [], loops: [], loop: undefined, steps: 0, problem: undefined };
  const any: PatternNode = { kind: "chars", set: anyChar };
  const start = build(builder, anchored ? any : { kind: "repeat", body: any, min: 1, max: Infinity, source: "" });
  join(builder, start, build(builder, node));
  return builder.problem === undefined ? { ok: true, value: builder } : { ok: false, problem: builder.problem };
}

interface Builder extends PatternGraph {
  readonly positions: Position[];
  readonly loops: Loop[];
  /** The outermost loop under construction. */
  loop: Loop | undefined;
  steps: number;
  problem: string | undefined;
}

/** The numbers of ways to enter and leave a part of the pattern by position, and to match it with the empty text. */
interface Part {
  readonly first: Ways;
  readonly last: Ways;
  readonly empty: number;
}

type Ways = ReadonlyMap<Position, number>;

const nothing: Part = { first: new Map(), last: new Map(), empty: 1 };

/** Maximum number of positions of a graph. */
export const maxPositions = 4096;

function build(builder: Builder, node: PatternNode): Part {
  if (!canAfford(builder, 1)) return nothing;
  switch (node.kind) {
    case "chars":
      return addPosition(builder, node.set);
    case "sequence":
      return node.items.map((item) => build(builder, item)).reduce((a, b) => join(builder, a, b), nothing);
    case "choice":
      return node.options.map((option) => build(builder, option)).reduce(either);
    case "repeat":
      return repeat(builder, node);
    case "look":
    case "edge":
      return nothing;
    default:
      return unreachable(node);
  }
}

function addPosition({ positions, loop }: Builder, set: CharSet): Part {
  const position: Position = { index: positions.length, set, loop, next: new Map() };
  positions.push(position);
  loop?.positions.push(position);
  const only = new Map([[position, 1]]);
  return { first: only, last: only, empty: 0 };
}

function either(a: Part, b: Part): Part {
  return { first: merge(a.first, b.first), last: merge(a.last, b.last), empty: a.empty + b.empty };
}

function join(builder: Builder, a: Part, b: Part): Part {
  connect(builder, a.last, b.first);
  return {
    first: merge(a.first, b.first, a.empty),
    last: merge(b.last, a.last, b.empty),
    empty: a.empty * b.empty,
  };
}

/** Up to this many repetitions are expanded, which is exact. More are treated as a loop, which overestimates the cost. */
const maxCopies = 8;

function repeat(builder: Builder, node: Repeat): Part {
  const { body, min, max } = node;
  const endless = max === Infinity;
  if (endless ? min <= 1 || min > maxCopies : max > maxCopies) return loop(builder, node);
  const copies = Array.from({ length: endless ? min - 1 : max }, () => build(builder, body));
  const rest = endless ? loop(builder, { ...node, min: 1 }) : nothing;
  return copies.reduceRight((after, copy, index) => {
    const joined = join(builder, copy, after);
    return index >= min ? { ...joined, empty: 1 } : joined;
  }, rest);
}

function loop(builder: Builder, { body, min, max, source }: Repeat): Part {
  const outer = builder.loop;
  builder.loop = outer ?? { source, positions: [] };
  if (outer === undefined) builder.loops.push(builder.loop);
  const { first, last, empty } = build(builder, body);
  builder.loop = outer;
  if (empty > 0 && (min > 1 || max < Infinity)) builder.problem ??= `${source} counts something that may be empty`;
  connect(builder, last, first);
  // The first iteration of a "+" may match the empty text, which is another way to enter the second.
  return min === 0 ? { first, last, empty: 1 } : { first: merge(first, first, empty), last, empty };
}

/** Adds to the size of the graph. Returns false once the graph is too large, or the pattern has another problem. */
function canAfford(builder: Builder, steps: number): boolean {
  builder.steps += steps;
  if (builder.steps > maxPositions) builder.problem ??= "it is too large to be proved safe";
  return builder.problem === undefined;
}

function connect(builder: Builder, from: Ways, to: Ways): void {
  if (!canAfford(builder, (from.size * to.size) / 16)) return;
  for (const [position, ways] of from) {
    for (const [target, more] of to) position.next.set(target, (position.next.get(target) ?? 0) + ways * more);
  }
}

function merge(a: Ways, b: Ways, times = 1): Ways {
  if (times === 0) return a;
  const merged = new Map(a);
  for (const [position, ways] of b) merged.set(position, (merged.get(position) ?? 0) + ways * times);
  return merged;
}
