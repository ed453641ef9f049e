import type { Json, JsonObject } from "../json/json.ts";
import type { Proved } from "./pattern-cost.ts";
import type { Issue } from "./validator.ts";
import { token } from "./vocabulary.ts";

/** Applies one keyword, or a whole schema, to a value. False if the value is not valid, which the sink then knows. */
export type Step = (value: unknown, place: Place) => boolean;

/** Where a value is, and what is known about it. */
export interface Place {
  readonly path: Path;
  readonly sink: Sink;
  /** The properties or items that a keyword has looked at. Kept only if the schema asks for the others. */
  readonly seen: Set<string> | undefined;
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

/** For a check that only says whether a value is valid. Nobody asks for a path then, so all values share this place. */
export const silent: Place = { path: undefined, sink: closed, seen: undefined, scope: undefined };

/** Makes the step of one keyword. */
export type Rule = (use: Use, maker: Maker) => Step;

export interface Use {
  readonly name: string;
  readonly operand: Json;
  /** The schema that has the keyword. */
  readonly schema: JsonObject;
}

export interface Maker extends Proved {
  readonly fuel: Fuel;
  /** The step of a schema that a keyword holds. Schemas may refer to themselves. */
  step(schema: Json, keyword: string): Step;
}

/**
 * What things cost in steps: a schema that is applied and each of its keywords, one
 * pass of a short loop, and keeping what a schema has looked at.
 */
export const price = { place: 60, keyword: 20, pass: 15, seen: 200 } as const;

/** What reading that many names of one object costs. Engines are slow at objects with many. */
export function priceOfNames(count: number): number {
  return count * (count <= fewNames ? 40 : 300);
}

const fewNames = 32;

function isFull({ sink }: Place): boolean {
  return sink.issues.length >= sink.limit;
}

/** Notes an issue. Returns false, as a step does then. The message is made only if there is room for it. */
export function fail(place: Place, keyword: string, message: () => string): false {
  if (!isFull(place)) place.sink.issues.push({ path: written(place.path), keyword, message: message() });
  return false;
}

export function written(path: Path): string {
  return path === undefined ? "" : written(path.parent) + token(path.key);
}

/** A name for a message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > maxQuoted ? `${name.slice(0, maxQuoted)}…` : name);
}

const maxQuoted = 200;

/** Applies a step to a part of the value, which counts as looked at if it is valid. */
export function within(step: Step, value: unknown, key: string | number, place: Place): boolean {
  const { path, sink, seen, scope } = place;
  if (sink === closed && seen === undefined) return step(value, place);
  const valid = step(value, { path: { parent: path, key }, sink, seen: seen && new Set(), scope });
  if (valid) seen?.add(String(key));
  return valid;
}

/** Applies a step to the same value. What it looked at counts if it is valid. */
export function inPlace(step: Step, value: unknown, place: Place): boolean {
  if (place.seen === undefined) return step(value, place);
  const seen = new Set<string>();
  const valid = step(value, { ...place, seen });
  if (valid) for (const key of seen) place.seen.add(key);
  return valid;
}

/** Whether a step accepts the value, without noting why not. */
export function accepts(step: Step, value: unknown, place: Place): boolean {
  const { path, sink, seen, scope } = place;
  if (sink === closed) return inPlace(step, value, place);
  return inPlace(step, value, { path, sink: closed, seen, scope });
}

/** The first thing that a step has to say against the value. */
export function objection(step: Step, value: unknown, { path, seen, scope }: Place): Issue | undefined {
  const sink: Sink = { issues: [], limit: 1, hints: false };
  inPlace(step, value, { path, sink, seen, scope });
  return sink.issues[0];
}

/** Whether all cases hold. Goes on after one that does not, for there may be more to tell, until the sink is full. */
export function all<T>(cases: readonly T[], place: Place, holds: (one: T, index: number) => boolean): boolean {
  let valid = true;
  for (let index = 0; index < cases.length; index++) {
    if (holds(cases[index] as T, index)) continue;
    valid = false;
    if (isFull(place)) break;
  }
  return valid;
}

/** Applies steps to one value, all of them unless the sink is full. */
export function applyAll(steps: readonly Step[], value: unknown, place: Place): boolean {
  let valid = true;
  for (const step of steps) {
    if (step(value, place)) continue;
    valid = false;
    if (isFull(place)) break;
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
