import type { Variable } from "./uri-template-syntax.ts";
import { fromUnits, type Units } from "./uri-template-units.ts";

/** One occurrence of a variable in a URI. */
export interface Found {
  readonly variable: Variable;
  readonly value: string | readonly string[];
}

/**
 * What is left of a template, laid over one URI.
 *
 * Tails are built from the end of the template to its start. Each visits every
 * position of the URI once and notes where it fits, so that reading, which goes
 * forward, never has to turn back.
 */
export interface Tail {
  /** Whether it matches from here to the end of the URI. */
  fits(at: number): boolean;
  /** Reads the variables from a position where it fits. */
  read(at: number, found: Found[]): void;
}

/** One piece of a template, put in front of the tail that follows it. */
export type Step = (units: Units, tail: Tail) => Tail;

/** The units that no value contains. `undefined` stands for the end of the URI. */
export type Stops = ReadonlySet<number | undefined>;

/** The tail of every template: nothing, at the end of the URI. */
export function end(units: Units): Tail {
  return { fits: (at) => at === units.length, read() {} };
}

/** Text that has to stand there. */
export function literal(text: Units): Step {
  return (units, tail) => ({
    fits: (at) => startsAt(units, text, at) && tail.fits(at + text.length),
    read: (at, found) => tail.read(at + text.length, found),
  });
}

/** One value of at least one character, and no more than the tail leaves it. */
export function value(variable: Variable, stops: Stops): Step {
  const { prefix = Number.MAX_SAFE_INTEGER } = variable;

  return (units, tail) => {
    const fits = new Uint8Array(units.length);
    let nearestEnd = Number.POSITIVE_INFINITY;
    for (let at = units.length - 1; at >= 0; at--) {
      if (tail.fits(at + 1)) nearestEnd = at + 1;
      if (stops.has(units[at])) nearestEnd = Number.POSITIVE_INFINITY;
      fits[at] = Number(nearestEnd - at <= prefix);
    }

    return {
      fits: (at) => fits[at] === 1,
      read(at, found) {
        const to = firstFrom(at + 1, tail.fits);
        found.push({ variable, value: fromUnits(units.slice(at, to)) });
        tail.read(to, found);
      },
    };
  };
}

/** The first position from `at` on that passes. The caller knows that there is one. */
export function firstFrom(at: number, passes: (at: number) => boolean): number {
  let first = at;
  while (!passes(first)) first++;
  return first;
}

/** Whether a text stands at a position. */
export function startsAt(units: Units, text: Units, at: number): boolean {
  for (let index = 0; index < text.length; index++) {
    if (units[at + index] !== text[index]) return false;
  }
  return true;
}
