import type { Json } from "../json/json.ts";
import { isDistinct } from "./assertions.ts";
import { accepts, all, fail, type Maker, type Place, type Rule, type Step, type Use, within } from "./step.ts";

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
    return onArray((items, place) => holds(items.length, limit) || fail(place, name, `${words} ${limit} items`));
  };
}

function uniqueRule({ name, operand }: Use): Step {
  if (operand === false) return () => true;
  return onArray((items, place) => isDistinct(items) || fail(place, name, "must not have duplicate items"));
}

function prefixRule({ name, operand }: Use, maker: Maker): Step {
  const steps = listOf(operand).map((schema) => maker.step(schema, name));
  return onArray((items, place) =>
    all(steps.slice(0, items.length).entries(), place, ([index, step]) => within(step, items[index], index, place)),
  );
}

/** Draft 7 has tuples here, and the schema of further items in `additionalItems`. */
function itemsRule(use: Use, maker: Maker): Step {
  const { name, operand, schema } = use;
  if (!Array.isArray(operand)) return restStep(maker.step(operand, name), listOf(schema.prefixItems).length);
  const first = prefixRule(use, maker);
  const rest = restStep(maker.step(schema.additionalItems ?? true, "additionalItems"), operand.length);
  return (value, place) => all([first, rest], place, (step) => step(value, place));
}

function restStep(step: Step, from: number): Step {
  return onArray((items, place) =>
    all(items.entries(), place, ([index, item]) => index < from || within(step, item, index, place)),
  );
}

function containsRule({ name, operand, schema }: Use, maker: Maker): Step {
  const [min, max] = [Number(schema.minContains ?? 1), Number(schema.maxContains ?? Infinity)];
  const step = maker.step(operand, name);
  return onArray((items, place) => {
    const matching = items.filter((item, index) => accepts((_, at) => within(step, item, index, at), items, place));
    if (matching.length < min) return fail(place, name, `must contain at least ${min} items that match`);
    return matching.length <= max || fail(place, name, `must contain at most ${max} items that match`);
  });
}

/** What no other keyword of the schema has looked at. */
export const unevaluatedItemsRule: Rule = ({ name, operand }, maker) => {
  const step = maker.step(operand, name);
  return onArray((items, place) =>
    all(items.entries(), place, ([index, item]) => place.seen?.has(String(index)) || within(step, item, index, place)),
  );
};

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
