import {
  accepts,
  all,
  fail,
  inPlace,
  type Maker,
  objection,
  type Place,
  price,
  type Rule,
  type Step,
  type Use,
  written,
} from "./rule.ts";
import type { Issue } from "./validator.ts";
import { dynamicReference, entries } from "./vocabulary.ts";

/** The keywords that apply further schemas to the same value. */
export const combinatorRules: readonly (readonly [string, Rule])[] = [
  ["$ref", referenceRule],
  [dynamicReference, dynamicRule],
  ["allOf", allOfRule],
  ["anyOf", anyOfRule],
  ["oneOf", oneOfRule],
  ["not", notRule],
  ["if", ifRule],
];

function referenceRule({ name, operand }: Use, { targets, step }: Maker): Step {
  const target = step(targets.get(String(operand)) ?? false, name);
  return (value, place) => inPlace(target, value, place);
}

/** Means the schema of the outermost resource that has one, of all the check has come through. */
function dynamicRule({ operand }: Use, { fuel, targets, step }: Maker): Step {
  const steps = new Map(
    entries(operand).map(([base, reference]) => [base, step(targets.get(String(reference)) ?? false, "$dynamicRef")]),
  );
  return (value, place) => {
    let target = steps.get("");
    for (let scope = place.scope; scope !== undefined; scope = scope.parent) {
      fuel.burn(price.pass);
      target = steps.get(scope.resource) ?? target;
    }
    return target === undefined || inPlace(target, value, place);
  };
}

function branches({ name, operand }: Use, maker: Maker): readonly Step[] {
  return entries(operand).map(([, schema]) => maker.step(schema, name));
}

function allOfRule(use: Use, maker: Maker): Step {
  const steps = branches(use, maker);
  return (value, place) => all(steps, place, (step) => inPlace(step, value, place));
}

/** How many branches accept the value. Those after `enough` are not tried. */
function accepting(steps: readonly Step[], value: unknown, place: Place, enough: number): number {
  let count = 0;
  for (const step of steps) {
    if (accepts(step, value, place) && ++count === enough) break;
  }
  return count;
}

/** If the schema asks for what was not looked at, all branches have to be tried. */
function anyOfRule(use: Use, maker: Maker): Step {
  const steps = branches(use, maker);
  return (value, place) => {
    const enough = place.seen === undefined ? 1 : Infinity;
    return (
      accepting(steps, value, place, enough) > 0 ||
      fail(place, use.name, () => `must match a schema in anyOf${hint(steps, value, place, maker)}`)
    );
  };
}

function oneOfRule(use: Use, maker: Maker): Step {
  const steps = branches(use, maker);
  return (value, place) => {
    const count = accepting(steps, value, place, Infinity);
    if (count === 1) return true;
    return fail(place, use.name, () => {
      const detail = count === 0 ? hint(steps, value, place, maker) : `, not ${count}`;
      return `must match exactly one schema in oneOf${detail}`;
    });
  };
}

/** How the branches fail that come closest: those that fail deepest in the value, but not by their tag. */
function hint(steps: readonly Step[], value: unknown, place: Place, { fuel }: Maker): string {
  if (!place.sink.hints) return "";
  const here = written(place.path);
  const issues = steps.flatMap((step) => {
    const issue = objection(step, value, place);
    fuel.burn(here.length + (issue?.path.length ?? 0));
    return issue ?? [];
  });
  const depth = ({ path, keyword }: Issue): number => (/const|enum/.test(keyword) ? 0 : path.split("/").length);
  const depths = issues.map(depth);
  const deepest = depths.reduce((a, b) => Math.max(a, b), 0);
  const closest = issues.filter((_, index) => depths[index] === deepest);
  const texts = new Set(closest.map(({ path, message }) => (path === here ? message : `${path} ${message}`)));
  return texts.size > 3 ? "" : `: ${[...texts].join(" or ")}`;
}

function notRule({ name, operand }: Use, maker: Maker): Step {
  const step = maker.step(operand, name);
  return (value, place) =>
    !accepts(step, value, { ...place, seen: place.seen && new Set() }) ||
    fail(place, name, () => "must not match the schema in not");
}

function ifRule({ name, operand, schema }: Use, maker: Maker): Step {
  const condition = maker.step(operand, name);
  const yes = maker.step(schema.then ?? true, "then");
  const no = maker.step(schema.else ?? true, "else");
  return (value, place) => inPlace(accepts(condition, value, place) ? yes : no, value, place);
}
