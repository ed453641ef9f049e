import { type Found, firstFrom, type Step, type Stops, startsAt, type Tail } from "./uri-template-steps.ts";
import type { Variable } from "./uri-template-syntax.ts";
import { fromUnits, type Units } from "./uri-template-units.ts";

/** Several items in a row: the members of an exploded list, or named parameters in any order. */
interface Series {
  /** What items can start with. */
  readonly heads: readonly Head[];
  /** Before the first item. */
  readonly lead: Units;
  /** Between items. */
  readonly separator: Units;
  readonly stops: Stops;
  /** Whether there may be no item at all. */
  readonly optional: boolean;
  /** Whether a list without items is left out, instead of empty. */
  readonly omitsEmpty: boolean;
}

/** The start of an item. */
interface Head {
  readonly variable: Variable;
  /** For `name=value`. Undefined if an item is nothing but a value. */
  readonly name: Units | undefined;
}

/** As few items as the tail leaves it, each as short as it can be; but some, if there can be some. */
export function series(shape: Series): Step {
  return (units, tail) => {
    const { fits, first, next, endsItem } = survey(shape, units, tail);

    return {
      fits,
      read(at, found) {
        const items: Item[] = [];
        let end = at;
        for (let item = first(at); item !== undefined; item = next(end)) {
          end = firstFrom(item.earliestEnd, endsItem);
          items.push({ variable: item.variable, value: fromUnits(units.slice(item.start, end)) });
        }
        for (const occurrence of gather(shape, items)) found.push(occurrence);
        tail.read(end, found);
      },
    };
  };
}

interface Item {
  readonly variable: Variable;
  readonly value: string;
}

/** Whose value starts where, and the first position where it may end. */
interface Opening {
  readonly variable: Variable;
  readonly start: number;
  readonly earliestEnd: number;
}

/** Where a series and its items can stand in one URI. */
interface Survey {
  fits(at: number): boolean;
  /** The first item of a series that starts here; none if it is empty. */
  first(at: number): Opening | undefined;
  /** The item behind one that ended here; none if the tail takes over. */
  next(at: number): Opening | undefined;
  endsItem(at: number): boolean;
}

function survey(shape: Series, units: Units, tail: Tail): Survey {
  const { heads, lead, separator, stops, optional } = shape;
  const inValue = new Uint8Array(units.length + 1);
  const atItem = new Uint8Array(units.length + 1);
  const atSeries = new Uint8Array(units.length + 1);

  const isItemAfter = (text: Units, at: number): boolean => startsAt(units, text, at) && atItem[at + text.length] === 1;
  const endsItem = (at: number): boolean => tail.fits(at) || isItemAfter(separator, at);

  const opening = ({ variable, name }: Head, at: number): Opening | undefined => {
    if (name === undefined) {
      const fits = !stops.has(units[at]) && inValue[at + 1] === 1;
      return fits ? { variable, start: at, earliestEnd: at + 1 } : undefined;
    }
    if (!startsAt(units, name, at)) return undefined;
    const end = at + name.length;
    if (units[end] === equals && inValue[end + 1] === 1) return { variable, start: end + 1, earliestEnd: end + 1 };
    return endsItem(end) ? { variable, start: end, earliestEnd: end } : undefined;
  };

  const open = (at: number): Opening | undefined => {
    for (const head of heads) {
      const found = opening(head, at);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  for (let at = units.length; at >= 0; at--) {
    inValue[at] = Number(endsItem(at) || (!stops.has(units[at]) && inValue[at + 1] === 1));
    atItem[at] = Number(open(at) !== undefined);
    atSeries[at] = Number(isItemAfter(lead, at) || (optional && tail.fits(at)));
  }

  return {
    fits: (at) => atSeries[at] === 1,
    first: (at) => (isItemAfter(lead, at) ? open(at + lead.length) : undefined),
    next: (at) => (tail.fits(at) ? undefined : open(at + separator.length)),
    endsItem,
  };
}

const equals = 0x3d;

/** An exploded variable collects its items; any other one occurs as often as it stands there. */
function gather({ heads, omitsEmpty }: Series, items: readonly Item[]): readonly Found[] {
  return heads.flatMap(({ variable }): readonly Found[] => {
    const own = items.filter((item) => item.variable === variable);
    if (!variable.explode) return own;
    if (own.length === 0 && omitsEmpty) return [];
    return [{ variable, value: own.map((item) => item.value) }];
  });
}
