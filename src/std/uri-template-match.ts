import {
  type Expression,
  fromUnits,
  operatorRules,
  type Part,
  toTemplateUnits,
  toUnits,
  type Units,
  type Variable,
} from "./uri-template-syntax.ts";

/**
 * What a URI says, by variable: a text, or a list where the variable is exploded.
 *
 * Has no prototype, so `__proto__` and `constructor` are names like any other.
 */
export type MatchedVariables = Readonly<Record<string, MatchedValue | undefined>>;

type MatchedValue = string | readonly string[];

/** Turns a template into the function that reads its URIs. */
export function toMatcher(parts: readonly Part[]): (uri: string) => MatchedVariables | undefined {
  const start = toTemplateUnits(parts[0]?.kind === "literal" ? parts[0].text : "");
  const steps = parts.flatMap(toSteps);
  const required = parts.flatMap(requiredNames);

  return (uri) => {
    const units = toUnits(uri);
    // Most URIs belong to another template, and this says so without a survey.
    if (units === undefined || !startsAt(units, start, 0)) return undefined;
    const template = steps.reduceRight((tail, step) => step(units, tail), end(units));
    if (!template.fits(0)) return undefined;
    const found: Found[] = [];
    template.read(0, found);
    const variables = merge(found);
    return variables !== undefined && required.every((name) => name in variables) ? variables : undefined;
  };
}

function toSteps(part: Part): readonly Step[] {
  if (part.kind === "literal") return [literal(toTemplateUnits(part.text))];
  return operatorRules[part.operator].named ? [namedStep(part)] : positionalSteps(part);
}

/** Named parameters in any order. The group may only be missing as a whole if each of them may. */
function namedStep({ operator, variables }: Expression): Step {
  const rule = operatorRules[operator];
  return series({
    heads: variables.map((variable) => ({ variable, name: toTemplateUnits(variable.name) })),
    lead: toTemplateUnits(rule.lead),
    separator: toTemplateUnits(rule.separator),
    stops: stopsAt(rule.stops),
    optional: rule.optional || variables.every(({ explode }) => explode),
    omitsEmpty: rule.optional,
  });
}

/** Values one after the other. A list that starts as it goes on, such as `{/a*}`, may have no members. */
function positionalSteps({ operator, variables }: Expression): readonly Step[] {
  const rule = operatorRules[operator];
  return variables.flatMap((variable, index) => {
    const lead = index === 0 ? rule.lead : rule.separator;
    if (!variable.explode) return [literal(toTemplateUnits(lead)), value(variable, stopsAt(rule.stops))];
    const list = series({
      heads: [{ variable, name: undefined }],
      lead: toTemplateUnits(lead),
      separator: toTemplateUnits(rule.separator),
      stops: stopsAt(rule.stops + rule.separator),
      optional: lead === rule.separator,
      omitsEmpty: false,
    });
    return [list];
  });
}

function stopsAt(chars: string): Stops {
  return new Set([...toTemplateUnits(chars), undefined]);
}

function requiredNames(part: Part): readonly string[] {
  if (part.kind === "literal" || operatorRules[part.operator].optional) return [];
  return part.variables.map(({ name }) => name);
}

/** One value per name. Undefined if a name that occurs more than once says different things. */
function merge(found: readonly Found[]): MatchedVariables | undefined {
  const whole: Record<string, MatchedValue> = Object.create(null);
  for (const { variable, value } of found) {
    const known = whole[variable.name];
    if (known === undefined || known.length < value.length) whole[variable.name] = value;
  }
  return found.every((occurrence) => isPartOf(occurrence, whole[occurrence.variable.name])) ? whole : undefined;
}

/** Looks only at as much of the whole as the occurrence has, so many short ones stay cheap. */
function isPartOf({ variable: { prefix }, value }: Found, whole: MatchedValue | undefined): boolean {
  if (typeof value === "string" && typeof whole === "string") {
    if (prefix === undefined) return value === whole;
    const length = Array.from(value).length;
    return length === prefix ? whole.startsWith(value) : length < prefix && value === whole;
  }
  if (typeof value === "string" || typeof whole !== "object") return false;
  return value.length === whole.length && value.every((member, index) => member === whole[index]);
}

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
function series(shape: Series): Step {
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

/** One occurrence of a variable in a URI. */
interface Found {
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
interface Tail {
  /** Whether it matches from here to the end of the URI. */
  fits(at: number): boolean;
  /** Reads the variables from a position where it fits. */
  read(at: number, found: Found[]): void;
}

/** One piece of a template, put in front of the tail that follows it. */
type Step = (units: Units, tail: Tail) => Tail;

/** The units that no value contains. `undefined` stands for the end of the URI. */
type Stops = ReadonlySet<number | undefined>;

/** The tail of every template: nothing, at the end of the URI. */
function end(units: Units): Tail {
  return { fits: (at) => at === units.length, read() {} };
}

/** Text that has to stand there. */
function literal(text: Units): Step {
  return (units, tail) => ({
    fits: (at) => startsAt(units, text, at) && tail.fits(at + text.length),
    read: (at, found) => tail.read(at + text.length, found),
  });
}

/** One value of at least one character, and no more than the tail leaves it. */
function value(variable: Variable, stops: Stops): Step {
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
function firstFrom(at: number, passes: (at: number) => boolean): number {
  let first = at;
  while (!passes(first)) first++;
  return first;
}

/** Whether a text stands at a position. */
function startsAt(units: Units, text: Units, at: number): boolean {
  for (let index = 0; index < text.length; index++) {
    if (units[at + index] !== text[index]) return false;
  }
  return true;
}
