import type { Json, JsonObject } from "../json/json.ts";
import type { Fuel } from "./fuel.ts";
import { token } from "./pointer.ts";
import type { Proved } from "./prove-patterns.ts";
import type { Issue } from "./validator.ts";

/** Applies one keyword, or a whole schema, to a value. False if the value is not valid, which the sink then knows. */
export type Step = (value: unknown, place: Place) => boolean;

/** Where a value is, and what is known about it. */
export interface Place {
  readonly path: Path;
  readonly sink: Sink;
  /** The properties or items that a keyword has looked at. Kept only if the schema asks for the others. */
  readonly seen: Set<string> | undefined;
}

/** The way to a part of the value, last key first. It is written out only if there is something to tell. */
export type Path = { readonly parent: Path; readonly key: string | number } | undefined;

/** Collects issues up to a limit, which may be 0. Once it is full, nothing is checked that would only add to it. */
export interface Sink {
  readonly issues: Issue[];
  readonly limit: number;
  /** Whether a combinator should say how its branches fail, too. */
  readonly hints: boolean;
}

const closed: Sink = { issues: [], limit: 0, hints: false };

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

export function isFull({ sink }: Place): boolean {
  return sink.issues.length >= sink.limit;
}

/** Notes an issue. Returns false, as a step does then. */
export function fail(place: Place, keyword: string, message: string): false {
  if (!isFull(place)) place.sink.issues.push({ path: written(place.path), keyword, message });
  return false;
}

export function written(path: Path): string {
  return path === undefined ? "" : written(path.parent) + token(path.key);
}

/** Applies a step to a part of the value, which counts as looked at if it is valid. */
export function within(step: Step, value: unknown, key: string | number, place: Place): boolean {
  const { path, sink, seen } = place;
  const valid = step(value, { path: { parent: path, key }, sink, seen: seen && new Set() });
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
  return inPlace(step, value, { ...place, sink: closed });
}

/** The first thing that a step has to say against the value. */
export function objection(step: Step, value: unknown, place: Place): Issue | undefined {
  const sink: Sink = { issues: [], limit: 1, hints: false };
  inPlace(step, value, { ...place, sink });
  return sink.issues[0];
}

/** Whether all cases hold. Goes on after one that does not, for there may be more to tell, until the sink is full. */
export function all<T>(cases: Iterable<T>, place: Place, holds: (one: T) => boolean): boolean {
  let valid = true;
  for (const one of cases) {
    if (holds(one)) continue;
    valid = false;
    if (isFull(place)) break;
  }
  return valid;
}
