import type { Json } from "../json/json.ts";
import {
  accepts,
  all,
  fail,
  type Maker,
  type Place,
  priceOfNames,
  type Rule,
  type Step,
  type Use,
  within,
} from "./step.ts";
import { isDistinct } from "./value-rules.ts";

/** The keywords about arrays. */
export const arrayRules: readonly (readonly [string, Rule])[] = [
  ["minItems", sizeRule("must have at least", (size, limit) => size >= limit)],
  ["maxItems", sizeRule("must have at most", (size, limit) => size <= limit)],
  ["uniqueItems", uniqueRule],
  ["prefixItems", prefixRule],
  ["items", itemsRule],
  ["contains", containsRule],
];

function onArray(step: (items: readonly unknown[], place: Place) => boolean): Step {
  return (value, place) => !Array.isArray(value) || step(value, place);
}

function sizeRule(words: string, holds: (size: number, limit: number) => boolean): Rule {
  return ({ name, operand }) => {
    const limit = Number(operand);
    return onArray((items, place) => holds(items.length, limit) || fail(place, name, () => `${words} ${limit} items`));
  };
}

function uniqueRule({ name, operand }: Use, { fuel }: Maker): Step {
  if (operand === false) return () => true;
  return onArray((items, place) => isDistinct(items, fuel) || fail(place, name, () => "must not have duplicate items"));
}

function prefixRule({ name, operand }: Use, maker: Maker): Step {
  const steps = listOf(operand).map((schema) => maker.step(schema, name));
  return onArray((items, place) =>
    // Of the two lists the shorter one: items and schemas may both be many.
    items.length < steps.length
      ? all(items, place, (item, index) => within(steps[index] as Step, item, index, place))
      : all(steps, place, (step, index) => within(step, items[index], index, place)),
  );
}

function itemsRule({ name, operand, schema }: Use, maker: Maker): Step {
  const step = maker.step(operand, name);
  const from = listOf(schema.prefixItems).length;
  return onArray((items, place) =>
    all(items, place, (item, index) => index < from || within(step, item, index, place)),
  );
}

/** Looks no further than necessary, unless the schema asks for items that nothing has looked at. */
function containsRule({ name, operand, schema }: Use, maker: Maker): Step {
  const [min, max] = [Number(schema.minContains ?? 1), Number(schema.maxContains ?? Infinity)];
  const step = maker.step(operand, name);
  return onArray((items, place) => {
    let matching = 0;
    for (const [index, item] of items.entries()) {
      if (place.seen === undefined && matching >= min && max === Infinity) break;
      if (accepts((_, at) => within(step, item, index, at), items, place)) matching++;
    }
    if (matching < min) return fail(place, name, () => `must contain at least ${min} items that match`);
    return matching <= max || fail(place, name, () => `must contain at most ${max} items that match`);
  });
}

/** What no other keyword of the schema has looked at. */
export const unevaluatedItemsRule: Rule = ({ name, operand }, maker) => {
  const step = maker.step(operand, name);
  return onArray((items, place) => {
    maker.fuel.burn(priceOfNames(items.length));
    return all(items, place, (item, index) => place.seen?.has(String(index)) || within(step, item, index, place));
  });
};

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
