import type { Json, JsonObject } from "../json/json.ts";
import type { Proved } from "./pattern-cost.ts";
import type { Issue } from "./validator.ts";
import { token } from "./vocabulary.ts";

/** Applies one keyword, or a whole schema, to a value. Returns whether the value is valid; issues go to the sink. */
export type Step = (value: unknown, state: CheckState) => boolean;

/** The location of a value in the check, and the records of the check. */
export interface CheckState {
  readonly path: Path;
  readonly sink: Sink;
  /** Names of the evaluated properties or items. Recorded only for schemas with `unevaluated*`. */
  readonly evaluated: Set<string> | undefined;
  /** The dynamic scope: schema resources entered so far. Recorded only for schemas with dynamic references. */
  readonly scope: Scope;
}

/** The keys that lead to a part of the value, last key first. Formatted as a JSON Pointer only for an issue. */
type Path = { readonly parent: Path; readonly key: string | number } | undefined;

/** Schema resources, the last entered one first. */
type Scope = { readonly parent: Scope; readonly resource: string } | undefined;

/** Collects issues up to a limit, which may be 0. Once it is full, checks that could only add issues are skipped. */
interface Sink {
  readonly issues: Issue[];
  readonly limit: number;
  /** Whether the message of a failed combinator includes the issues of its branches. */
  readonly hints: boolean;
}

const closed: Sink = { issues: [], limit: 0, hints: false };

/** State of a check that determines only validity. It records no path, so all values share it. */
export const silent: CheckState = { path: undefined, sink: closed, evaluated: undefined, scope: undefined };

/** Creates the step of one keyword. */
export type Rule = (use: KeywordUse, context: RuleContext) => Step;

/** A keyword in a schema. */
export interface KeywordUse {
  readonly name: string;
  readonly operand: Json;
  /** The schema that has the keyword. */
  readonly schema: JsonObject;
}

/** Dependencies of rules. */
export interface RuleContext extends Proved {
  readonly fuel: Fuel;
  /** The step of a subschema of the given keyword. Schemas may be recursive. */
  step(schema: Json, keyword: string): Step;
}

/**
 * Prices in units of fuel: applying a schema, each of its keywords, one iteration of
 * a short loop, and recording the evaluated names of a schema.
 */
export const price = { schema: 60, keyword: 20, pass: 15, evaluated: 200 } as const;

/** Price of listing `count` names of one object. Engines are slower for large objects. */
export function priceOfNames(count: number): number {
  return count * (count <= fewNames ? 40 : 300);
}

const fewNames = 32;

function isFull({ sink }: CheckState): boolean {
  return sink.issues.length >= sink.limit;
}

/** Adds an issue to the sink and returns false, the result of the failed step. `message` is called only if the sink has room. */
export function fail(state: CheckState, keyword: string, message: () => string): false {
  if (!isFull(state)) state.sink.issues.push({ path: pointerOf(state.path), keyword, message: message() });
  return false;
}

/** The JSON Pointer of a path. */
export function pointerOf(path: Path): string {
  return path === undefined ? "" : pointerOf(path.parent) + token(path.key);
}

/** A name as a JSON string for a message, truncated to 200 characters. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > maxQuoted ? `${name.slice(0, maxQuoted)}…` : name);
}

const maxQuoted = 200;

/** Applies a step to a property or item of the value, which is recorded as evaluated if it is valid. */
export function applyInside(step: Step, value: unknown, key: string | number, state: CheckState): boolean {
  const { path, sink, evaluated, scope } = state;
  if (sink === closed && evaluated === undefined) return step(value, state);
  const valid = step(value, { path: { parent: path, key }, sink, evaluated: evaluated && new Set(), scope });
  if (valid) evaluated?.add(String(key));
  return valid;
}

/** Applies a step to the same value. The names it evaluates are recorded if the value is valid. */
export function applyHere(step: Step, value: unknown, state: CheckState): boolean {
  if (state.evaluated === undefined) return step(value, state);
  const evaluated = new Set<string>();
  const valid = step(value, { ...state, evaluated });
  if (valid) for (const key of evaluated) state.evaluated.add(key);
  return valid;
}

/** Whether a step accepts the value. Adds no issues. */
export function accepts(step: Step, value: unknown, state: CheckState): boolean {
  const { path, sink, evaluated, scope } = state;
  if (sink === closed) return applyHere(step, value, state);
  return applyHere(step, value, { path, sink: closed, evaluated, scope });
}

/** The first issue that a step finds in the value, if any. */
export function objection(step: Step, value: unknown, { path, evaluated, scope }: CheckState): Issue | undefined {
  const sink: Sink = { issues: [], limit: 1, hints: false };
  applyHere(step, value, { path, sink, evaluated, scope });
  return sink.issues[0];
}

/** Whether all cases are valid. Continues after an invalid case to collect further issues, until the sink is full. */
export function all<T>(cases: readonly T[], state: CheckState, holds: (one: T, index: number) => boolean): boolean {
  let valid = true;
  for (let index = 0; index < cases.length; index++) {
    if (holds(cases[index] as T, index)) continue;
    valid = false;
    if (isFull(state)) break;
  }
  return valid;
}

/** Applies all steps to one value, until the sink is full. */
export function applyAll(steps: readonly Step[], value: unknown, state: CheckState): boolean {
  let valid = true;
  for (const step of steps) {
    if (step(value, state)) continue;
    valid = false;
    if (isFull(state)) break;
  }
  return valid;
}

/** Thrown inside a check that exceeds its fuel, and caught where the check starts. The message names the cause. */
export class OutOfFuel extends Error {}

/** Fuel of one check, in steps of about a nanosecond: some tens of milliseconds. */
export const maxSteps: number = 2 ** 25;

/** Remaining budget of work of one check, in steps of about a nanosecond. */
export class Fuel {
  #left = 0;

  /** Sets the budget for a new check. */
  fill(steps: number): void {
    this.#left = steps;
  }

  /** Takes steps from the budget. Throws {@link OutOfFuel} when it is exceeded. */
  burn(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new OutOfFuel("it takes too many steps");
  }
}
