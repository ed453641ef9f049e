import type { Inspected } from "./inspect.ts";
import type { NormalSchema } from "./normalize.ts";
import { buildGraph, type Loop, maxPositions, type PatternGraph, type Position } from "./pattern-graph.ts";
import {
  type CharSet,
  charSet,
  foldCase,
  intersection,
  overlap,
  type PatternNode,
  parsePattern,
} from "./pattern-syntax.ts";

/** Worst-case cost of matching a text of length n: about `2 ** bits * n ** degree` steps. */
export interface PatternCost {
  readonly bits: number;
  readonly degree: number;
}

/** Remaining budget of proofs, in comparisons. A proof that exceeds it fails. */
export interface Effort {
  left: number;
}

/**
 * An upper bound for the number of ways in which a backtracking matcher can match the
 * prefixes of a text, or the reason why there is none.
 *
 * The number is exponential if and only if some loop can match the same text from a
 * position back to itself in two ways. It is polynomial if one loop can hand over to
 * a later one anywhere in a run of text that both match.
 */
function patternCost(node: PatternNode, anchored: boolean, effort: Effort): PatternCost | string {
  const built = buildGraph(node, anchored);
  if (!built.ok) return built.problem;
  const graph = built.value;
  for (const loop of graph.loops) {
    if (isAmbiguous(loop, effort)) return `${loop.source} can match the same text in exponentially many ways`;
  }
  const outer: PatternCost = { bits: choiceBits(graph, effort), degree: loopDegree(graph, effort) };
  const cost = withLooks(outer, looks(node, anchored), effort);
  return effort.left < 0 ? "it is too complex to be proved safe" : cost;
}

/** Adds the cost of lookarounds. One at the very start is matched once, any other at every position. */
function withLooks(outer: PatternCost, inner: Iterable<Look>, effort: Effort): PatternCost | string {
  let { bits, degree } = outer;
  for (const { body, once } of inner) {
    const cost = patternCost(body, true, effort);
    if (typeof cost === "string") return cost;
    bits = Math.max(bits, outer.bits + cost.bits);
    degree = Math.max(degree, once ? cost.degree : outer.degree + cost.degree);
  }
  return { bits, degree };
}

interface Look {
  readonly body: PatternNode;
  readonly once: boolean;
}

function* looks(node: PatternNode, once: boolean): Generator<Look> {
  if (node.kind === "look") yield { body: node.body, once };
  if (node.kind === "choice") for (const option of node.options) yield* looks(option, once);
  if (node.kind === "repeat") yield* looks(node.body, false);
  if (node.kind !== "sequence") return;
  let still = once;
  for (const item of node.items) {
    yield* looks(item, still);
    still &&= item.kind === "look" || item.kind === "edge";
  }
}

function isAmbiguous({ positions }: Loop, effort: Effort): boolean {
  const twice = positions.some(({ loop, next }) => [...next].some(([to, ways]) => ways > 1 && to.loop === loop));
  return twice || rivals(positions, effort).size > 0;
}

/**
 * Pairs of different positions that two runs over the same text can reach from one
 * position, and from which they can meet again without leaving `positions`.
 */
function rivals(positions: readonly Position[], effort: Effort): ReadonlySet<number> {
  const { before, meeting } = explore(positions, effort);
  // The set grows during iteration: the predecessors of a pair that can meet can meet, too.
  for (const pair of meeting) {
    for (const earlier of before.get(pair) ?? []) if (before.has(earlier)) meeting.add(earlier);
  }
  return meeting;
}

type Pair = readonly [Position, Position];

interface Explored {
  /** The predecessors of every pair that two runs can reach. */
  readonly before: ReadonlyMap<number, readonly number[]>;
  /** The pairs from which both runs can step to the same position. */
  readonly meeting: Set<number>;
}

function explore(positions: readonly Position[], effort: Effort): Explored {
  const inside = new Set(positions);
  const before = new Map<number, number[]>();
  const meeting = new Set<number>();
  const open = positions.map((position): Pair => [position, position]);
  for (let pair = open.pop(); pair !== undefined && effort.left >= 0; pair = open.pop()) {
    const from = pairKey(pair);
    for (const to of steps(pair, inside, effort)) {
      if (to[0] === to[1]) {
        meeting.add(from);
        continue;
      }
      const known = before.get(pairKey(to)) ?? [];
      if (known.length === 0) open.push(to);
      known.push(from);
      before.set(pairKey(to), known);
    }
  }
  return { before, meeting };
}

/** The pairs that two runs can reach with the same character. Runs at the same position have to diverge. */
function steps([a, b]: Pair, inside: ReadonlySet<Position>, effort: Effort): readonly Pair[] {
  effort.left -= a.next.size * b.next.size;
  const found: Pair[] = [];
  for (const left of a.next.keys()) {
    for (const right of b.next.keys()) {
      const parted = a !== b || left.index < right.index;
      if (parted && inside.has(left) && inside.has(right) && overlap(left.set, right.set)) found.push([left, right]);
    }
  }
  return found;
}

/** A key that does not depend on the order of the pair. */
function pairKey([a, b]: Pair): number {
  return Math.min(a.index, b.index) * maxPositions + Math.max(a.index, b.index);
}

/** Binary logarithm of the number of ways that runs over one text can split and meet again outside loops. */
function choiceBits({ positions }: PatternGraph, effort: Effort): number {
  const pairs = rivals(positions, effort);
  const bits = new Map<Position, number>();
  for (const position of positions) {
    const sofar = bits.get(entry(position)) ?? 0;
    for (const [target, ways] of position.next) {
      if (entry(target) === entry(position)) continue;
      const others = [...position.next.keys()].filter((other) => pairs.has(pairKey([target, other])));
      raise(bits, entry(target), sofar + Math.log2(ways + others.length));
    }
  }
  return Math.max(0, ...bits.values());
}

/** Longest chain of loops that can hand over to each other: the degree of the polynomial. */
function loopDegree({ positions, loops }: PatternGraph, effort: Effort): number {
  const handovers = new Map<Position, number>();
  for (const position of positions) {
    const sofar = handovers.get(entry(position)) ?? 0;
    for (const target of position.next.keys()) {
      if (entry(target) !== entry(position)) raise(handovers, entry(target), sofar);
    }
    for (const later of successors(position, loops, effort)) raise(handovers, later, sofar + 1);
  }
  return loops.length === 0 ? 0 : 1 + Math.max(0, ...handovers.values());
}

/** The first positions of the later loops that the loop starting at this position can hand over to. */
function successors({ index, loop }: Position, loops: readonly Loop[], effort: Effort): readonly Position[] {
  const [first] = loop?.positions ?? [];
  if (loop === undefined || first?.index !== index) return [];
  const later = loops.slice(loops.indexOf(loop) + 1).filter((other) => handsOver(loop, other, effort));
  return later.flatMap(({ positions }) => positions.slice(0, 1));
}

/** Whether a text that both loops match may lead from one to the other. May be true without need, never false wrongly. */
function handsOver(from: Loop, to: Loop, effort: Effort): boolean {
  effort.left -= from.positions.length + to.positions.length;
  if (effort.left < 0) return false;
  const common = intersection(alphabet(from), alphabet(to));
  const reached = new Set(from.positions.filter(({ set }) => overlap(set, common)));
  for (const position of reached) {
    for (const target of position.next.keys()) {
      effort.left--;
      if (!overlap(target.set, common)) continue;
      if (target.loop === to) return true;
      reached.add(target);
    }
  }
  return false;
}

function alphabet(loop: Loop): CharSet {
  return charSet(loop.positions.flatMap(({ set }) => set));
}

/** The first position of the loop of a position; outside loops the position itself. */
function entry(position: Position): Position {
  return position.loop?.positions[0] ?? position;
}

function raise(values: Map<Position, number>, key: Position, value: number): void {
  values.set(key, Math.max(value, values.get(key) ?? 0));
}

/** The worst-case cost of a pattern, or the reason why the pattern is rejected. */
type SafePattern = { readonly ok: true; readonly cost: PatternCost } | { readonly ok: false; readonly problem: string };

interface PatternFlags {
  /** Whether ASCII letters match both cases, as with the flag `i`. Default false. */
  readonly foldsCase?: boolean;
}

const maxDegree = 3;
const maxBits = 10;

/**
 * Proves that the time to match a valid regular expression (flag `u`) is bounded by a
 * small power of the length of the text.
 *
 * Rejects patterns with an exponential worst case, such as `(a+)+$`, and patterns that
 * cannot be analysed. Nearly all others are linear; a quadratic pattern such as
 * `\d+\d+` is accepted, and {@link patternSteps} gives the cost for a text.
 */
export function safePattern(
  source: string,
  effort: Effort = { left: 1_000_000 },
  { foldsCase = false }: PatternFlags = {},
): SafePattern {
  const parsed = parsePattern(source);
  if (!parsed.ok) return unsafe(parsed.problem);
  const node = foldsCase ? folded(parsed.value) : parsed.value;
  const anchored = isAnchored(node);
  const whole = patternCost(node, anchored, effort);
  const cost = typeof whole === "string" ? whole : patternCost(withoutTail(node), anchored, effort);
  if (typeof cost === "string") return unsafe(cost);
  if (cost.degree <= maxDegree && cost.bits <= maxBits) return { ok: true, cost };
  return unsafe("too many of its parts can match the same text");
}

/** Maximum number of steps to match a text of this length. A step takes about a nanosecond. */
export function patternSteps({ bits, degree }: PatternCost, length: number): number {
  return 2 ** bits * length ** Math.max(1, degree);
}

function unsafe(problem: string): SafePattern {
  return { ok: false, problem };
}

/** The pattern with both cases of every ASCII letter. */
function folded(node: PatternNode): PatternNode {
  switch (node.kind) {
    case "chars":
      return { ...node, set: foldCase(node.set) };
    case "choice":
      return { ...node, options: node.options.map(folded) };
    case "sequence":
      return { ...node, items: node.items.map(folded) };
    case "repeat":
    case "look":
      return { ...node, body: folded(node.body) };
    default:
      return node;
  }
}

/** Whether the pattern can match only at the start of the text. */
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

/** The pattern without optional characters at its end: a match that gets there succeeds without backtracking. */
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

/** The costs of all patterns of a schema, or the problem of the first rejected pattern. */
type PatternProof =
  | { readonly ok: true; readonly costs: ReadonlyMap<string, PatternCost> }
  | { readonly ok: false; readonly problem: string };

/** A normalized schema whose patterns are all proved to match in bounded time. */
export interface Proved extends NormalSchema {
  readonly costs: ReadonlyMap<string, PatternCost>;
}

const proofs = new WeakMap<Inspected["patterns"], PatternProof>();

/**
 * Proves that the patterns of a schema are safe to match, all within one budget. The
 * result is cached by the map of patterns.
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
