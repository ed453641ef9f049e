import { unreachable } from "../std/unreachable.ts";
import { anyChar, type CharSet, type PatternNode, type Repeat } from "./pattern-syntax.ts";

/**
 * The places of a pattern where a character is matched, and which can come after
 * which: a position automaton.
 *
 * Inside a loop every position can be reached from every other; all other edges
 * lead to a position with a higher index.
 */
export interface PatternGraph {
  /** By index. The first one is the start. */
  readonly positions: readonly Position[];
  /** The outermost loops, in the order of their positions. */
  readonly loops: readonly Loop[];
}

export interface Position {
  readonly index: number;
  readonly set: CharSet;
  /** The outermost loop this position is in. */
  readonly loop: Loop | undefined;
  /** Where the next character can be matched, and in how many ways one gets there. */
  readonly next: Map<Position, number>;
}

export interface Loop {
  readonly source: string;
  readonly positions: Position[];
}

export type BuiltGraph =
  | { readonly ok: true; readonly value: PatternGraph }
  | { readonly ok: false; readonly problem: string };

/** Builds the graph of a pattern. Unless anchored, matching may start at every character of the text. */
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
  /** The outermost loop that is being built. */
  loop: Loop | undefined;
  steps: number;
  problem: string | undefined;
}

/** How a part of the pattern is entered, left, or passed without a character; each with the number of ways. */
interface Part {
  readonly first: Ways;
  readonly last: Ways;
  readonly empty: number;
}

type Ways = ReadonlyMap<Position, number>;

const nothing: Part = { first: new Map(), last: new Map(), empty: 1 };

/** More are not built. */
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

/** Up to this many copies are written out, which is exact. More are taken for a loop, which is never too kind. */
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
  // The first round of a "+" may be empty, which is another way into the second.
  return min === 0 ? { first, last, empty: 1 } : { first: merge(first, first, empty), last, empty };
}

/** Counts towards the size of the graph. False once it is too large, or something else is wrong. */
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
