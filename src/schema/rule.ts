import type { Json, JsonObject } from "../json/json.ts";
import type { Proved } from "./pattern-cost.ts";
import type { Issue } from "./validator.ts";
import { token } from "./vocabulary.ts";

/** Applies one keyword, or a whole schema, to a value. False if the value is not valid, which the sink then knows. */
export type Step = (value: unknown, state: CheckState) => boolean;

/** Where a value is, and what is known about it. */
export interface CheckState {
  readonly path: Path;
  readonly sink: Sink;
  /** The properties or items that a keyword was applied to. Kept only if the schema asks for the others. */
  readonly evaluated: Set<string> | undefined;
  /** The resources that the check has come through. Kept only if a reference asks for them. */
  readonly scope: Scope;
}

/** The way to a part of the value, last key first. It is written out only if there is something to tell. */
type Path = { readonly parent: Path; readonly key: string | number } | undefined;

/** Resources, the one entered last first. */
type Scope = { readonly parent: Scope; readonly resource: string } | undefined;

/** Collects issues up to a limit, which may be 0. Once it is full, nothing is checked that would only add to it. */
interface Sink {
  readonly issues: Issue[];
  readonly limit: number;
  /** Whether a combinator should say how its branches fail, too. */
  readonly hints: boolean;
}

const closed: Sink = { issues: [], limit: 0, hints: false };

/** For a check that only says whether a value is valid. Nobody asks for a path then, so all values share this state. */
export const silent: CheckState = { path: undefined, sink: closed, evaluated: undefined, scope: undefined };

/** Makes the step of one keyword. */
export type Rule = (use: KeywordUse, context: RuleContext) => Step;

/** A keyword in a schema. */
export interface KeywordUse {
  readonly name: string;
  readonly operand: Json;
  /** The schema that has the keyword. */
  readonly schema: JsonObject;
}

/** What rules make steps with. */
export interface RuleContext extends Proved {
  readonly fuel: Fuel;
  /** The step of a schema that a keyword holds. Schemas may refer to themselves. */
  step(schema: Json, keyword: string): Step;
}

/**
 * What things cost in steps: a schema that is applied and each of its keywords, one
 * pass of a short loop, and keeping what a schema has evaluated.
 */
export const price = { schema: 60, keyword: 20, pass: 15, evaluated: 200 } as const;

/** What reading that many names of one object costs. Engines are slow at objects with many. */
export function priceOfNames(count: number): number {
  return count * (count <= fewNames ? 40 : 300);
}

const fewNames = 32;

function isFull({ sink }: CheckState): boolean {
  return sink.issues.length >= sink.limit;
}

/** Notes an issue. Returns false, as a step does then. The message is made only if there is room for it. */
export function fail(state: CheckState, keyword: string, message: () => string): false {
  if (!isFull(state)) state.sink.issues.push({ path: pointerOf(state.path), keyword, message: message() });
  return false;
}

/** The JSON Pointer of a path. */
export function pointerOf(path: Path): string {
  return path === undefined ? "" : pointerOf(path.parent) + token(path.key);
}

/** A name for a message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > maxQuoted ? `${name.slice(0, maxQuoted)}…` : name);
}

const maxQuoted = 200;

/** Applies a step to a part of the value, which counts as evaluated if it is valid. */
export function applyInside(step: Step, value: unknown, key: string | number, state: CheckState): boolean {
  const { path, sink, evaluated, scope } = state;
  if (sink === closed && evaluated === undefined) return step(value, state);
  const valid = step(value, { path: { parent: path, key }, sink, evaluated: evaluated && new Set(), scope });
  if (valid) evaluated?.add(String(key));
  return valid;
}

/** Applies a step to the same value. What it evaluated counts if it is valid. */
export function applyHere(step: Step, value: unknown, state: CheckState): boolean {
  if (state.evaluated === undefined) return step(value, state);
  const evaluated = new Set<string>();
  const valid = step(value, { ...state, evaluated });
  if (valid) for (const key of evaluated) state.evaluated.add(key);
  return valid;
}

/** Whether a step accepts the value, without noting why not. */
export function accepts(step: Step, value: unknown, state: CheckState): boolean {
  const { path, sink, evaluated, scope } = state;
  if (sink === closed) return applyHere(step, value, state);
  return applyHere(step, value, { path, sink: closed, evaluated, scope });
}

/** The first thing that a step has to say against the value. */
export function objection(step: Step, value: unknown, { path, evaluated, scope }: CheckState): Issue | undefined {
  const sink: Sink = { issues: [], limit: 1, hints: false };
  applyHere(step, value, { path, sink, evaluated, scope });
  return sink.issues[0];
}

/** Whether all cases hold. Goes on after one that does not, for there may be more to tell, until the sink is full. */
export function all<T>(cases: readonly T[], state: CheckState, holds: (one: T, index: number) => boolean): boolean {
  let valid = true;
  for (let index = 0; index < cases.length; index++) {
    if (holds(cases[index] as T, index)) continue;
    valid = false;
    if (isFull(state)) break;
  }
  return valid;
}

/** Applies steps to one value, all of them unless the sink is full. */
export function applyAll(steps: readonly Step[], value: unknown, state: CheckState): boolean {
  let valid = true;
  for (const step of steps) {
    if (step(value, state)) continue;
    valid = false;
    if (isFull(state)) break;
  }
  return valid;
}

/** Thrown from the depth of a check, and caught where it was started. Says what takes too long. */
export class OutOfFuel extends Error {}

/** Steps that one check may take: some tens of milliseconds. */
export const maxSteps: number = 2 ** 25;

/** Work that one check may still do, in steps of about a nanosecond. */
export class Fuel {
  #left = 0;

  /** Starts a new check. */
  fill(steps: number): void {
    this.#left = steps;
  }

  /** Pays for a number of steps. Throws {@link OutOfFuel}. */
  burn(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new OutOfFuel("it takes too many steps");
  }
}
