import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { arrayRules, unevaluatedItemsRule } from "./array-rules.ts";
import { combinatorRules } from "./combinator-rules.ts";
import { objectRules, unevaluatedPropertiesRule } from "./object-rules.ts";
import type { Proved } from "./pattern-cost.ts";
import {
  applyAll,
  type Fuel,
  fail,
  type Maker,
  type Place,
  price,
  priceOfNames,
  quoted,
  type Rule,
  type Step,
  silent,
} from "./step.ts";
import { type Issue, maxIssues } from "./validator.ts";
import { scalarRules } from "./value-rules.ts";
import { entries, resourceName } from "./vocabulary.ts";

/**
 * Checks values against a schema, and tells what is wrong with them.
 *
 * Most values are valid, so a check first finds out only that, without a note of
 * where it is. What is wrong is told by a second pass on the same fuel. A schema
 * with `unevaluated*` has to note all the time what was looked at.
 */
export function interpret(schema: Proved, fuel: Fuel): (value: unknown) => readonly Issue[] {
  const made = new Map<Json, Step>();
  const maker: Maker = {
    ...schema,
    fuel,
    step(below, keyword) {
      if (!isObject(below)) return below === true ? accept(fuel) : refuse(keyword, fuel);
      const step = made.get(below) ?? schemaStep(below, maker);
      made.set(below, step);
      return step;
    },
  };
  const root = maker.step(schema.root, "");
  return (value) => {
    if (!schema.unevaluated && root(value, silent)) return none;
    const issues: Issue[] = [];
    root(value, {
      path: undefined,
      sink: { issues, limit: maxIssues, hints: true },
      seen: schema.unevaluated ? new Set() : undefined,
      scope: undefined,
    });
    return issues;
  };
}

const none: readonly Issue[] = [];

function accept(fuel: Fuel): Step {
  return (_, place) => {
    payForPlace(place, fuel);
    return true;
  };
}

function payForPlace({ seen }: Place, fuel: Fuel): void {
  fuel.burn(seen === undefined ? price.place : price.place + price.seen);
}

function refuse(keyword: string, fuel: Fuel): Step {
  return (_, place) => {
    payForPlace(place, fuel);
    return fail(place, keyword, () => {
      const name = place.path === undefined ? "a value" : quoted(String(place.path.key));
      return `${name} is not allowed`;
    });
  };
}

/** Every schema pays each time it is applied; keywords that take longer than a moment pay for that themselves. */
function schemaStep(schema: JsonObject, maker: Maker): Step {
  const { fuel } = maker;
  const resource = schema[resourceName];
  let steps: readonly Step[] | undefined;
  return (value, outer) => {
    steps ??= stepsOf(schema, maker);
    fuel.burn(price.place + steps.length * price.keyword);
    const place = resource === undefined ? outer : entered(outer, String(resource));
    const valid = applyAll(steps, value, place);
    // What was looked at is told to the schema around this one.
    if (place.seen !== undefined) fuel.burn(price.seen + priceOfNames(place.seen.size));
    return valid;
  };
}

interface Keyword {
  readonly order: number;
  readonly step: Step;
}

function stepsOf(schema: JsonObject, maker: Maker): readonly Step[] {
  const known: Keyword[] = [];
  for (const [name, operand] of entries(schema)) {
    const keyword = rules.get(name);
    if (keyword !== undefined)
      known.push({ order: keyword.order, step: keyword.rule({ name, operand, schema }, maker) });
  }
  if (known.length > 1) known.sort((a, b) => a.order - b.order);
  return known.map(({ step }) => step);
}

function entered(place: Place, resource: string): Place {
  if (place.scope?.resource === resource) return place;
  return { ...place, scope: { parent: place.scope, resource } };
}

/** In the order in which they are applied. The last two need to know what all others have looked at. */
const ordered: readonly (readonly [string, Rule])[] = [
  ...scalarRules,
  ...arrayRules,
  ...objectRules,
  ...combinatorRules,
  ["unevaluatedItems", unevaluatedItemsRule],
  ["unevaluatedProperties", unevaluatedPropertiesRule],
];

const rules: ReadonlyMap<string, { readonly rule: Rule; readonly order: number }> = new Map(
  ordered.map(([name, rule], order) => [name, { rule, order }]),
);
