import {
  accepts,
  all,
  applyHere,
  type CheckState,
  fail,
  type KeywordUse,
  objection,
  pointerOf,
  price,
  type Rule,
  type RuleContext,
  type Step,
} from "./rule.ts";
import type { Issue } from "./validator.ts";
import { dynamicReference, entries } from "./vocabulary.ts";

/** Rules of the keywords that apply further schemas to the same value. */
export const combinatorRules: readonly (readonly [string, Rule])[] = [
  ["$ref", referenceRule],
  [dynamicReference, dynamicRule],
  ["allOf", allOfRule],
  ["anyOf", anyOfRule],
  ["oneOf", oneOfRule],
  ["not", notRule],
  ["if", ifRule],
];

function referenceRule({ name, operand }: KeywordUse, { targets, step }: RuleContext): Step {
  const target = step(targets.get(String(operand)) ?? false, name);
  return (value, state) => applyHere(target, value, state);
}

/** Rule of a dynamic reference. Applies the schema of the outermost resource in the dynamic scope that defines the anchor. */
function dynamicRule({ operand }: KeywordUse, { fuel, targets, step }: RuleContext): Step {
  const steps = new Map(
    entries(operand).map(([base, reference]) => [base, step(targets.get(String(reference)) ?? false, "$dynamicRef")]),
  );
  return (value, state) => {
    let target = steps.get("");
    for (let scope = state.scope; scope !== undefined; scope = scope.parent) {
      fuel.burn(price.pass);
      target = steps.get(scope.resource) ?? target;
    }
    return target === undefined || applyHere(target, value, state);
  };
}

function branches({ name, operand }: KeywordUse, context: RuleContext): readonly Step[] {
  return entries(operand).map(([, schema]) => context.step(schema, name));
}

function allOfRule(use: KeywordUse, context: RuleContext): Step {
  const steps = branches(use, context);
  return (value, state) => all(steps, state, (step) => applyHere(step, value, state));
}

/** Number of branches that accept the value. Stops counting at `enough`. */
function accepting(steps: readonly Step[], value: unknown, state: CheckState, enough: number): number {
  let count = 0;
  for (const step of steps) {
    if (accepts(step, value, state) && ++count === enough) break;
  }
  return count;
}

/** Rule of `anyOf`. Tries all branches only if the evaluated names are recorded. */
function anyOfRule(use: KeywordUse, context: RuleContext): Step {
  const steps = branches(use, context);
  return (value, state) => {
    const enough = state.evaluated === undefined ? 1 : Infinity;
    return (
      accepting(steps, value, state, enough) > 0 ||
      fail(state, use.name, () => `must match a schema in anyOf${hint(steps, value, state, context)}`)
    );
  };
}

function oneOfRule(use: KeywordUse, context: RuleContext): Step {
  const steps = branches(use, context);
  return (value, state) => {
    const count = accepting(steps, value, state, Infinity);
    if (count === 1) return true;
    return fail(state, use.name, () => {
      const detail = count === 0 ? hint(steps, value, state, context) : `, not ${count}`;
      return `must match exactly one schema in oneOf${detail}`;
    });
  };
}

/** The issues of the closest branches: those that fail deepest in the value. A failed `const` or `enum` counts as depth 0. */
function hint(steps: readonly Step[], value: unknown, state: CheckState, { fuel }: RuleContext): string {
  if (!state.sink.hints) return "";
  const here = pointerOf(state.path);
  const issues = steps.flatMap((step) => {
    const issue = objection(step, value, state);
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

function notRule({ name, operand }: KeywordUse, context: RuleContext): Step {
  const step = context.step(operand, name);
  return (value, state) => {
    // Names evaluated inside `not` do not count outside it.
    const below = state.evaluated === undefined ? state : { ...state, evaluated: new Set<string>() };
    return !accepts(step, value, below) || fail(state, name, () => "must not match the schema in not");
  };
}

function ifRule({ name, operand, schema }: KeywordUse, context: RuleContext): Step {
  const condition = context.step(operand, name);
  const yes = context.step(schema.then ?? true, "then");
  const no = context.step(schema.else ?? true, "else");
  return (value, state) => applyHere(accepts(condition, value, state) ? yes : no, value, state);
}
