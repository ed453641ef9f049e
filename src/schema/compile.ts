import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { combinatorRules } from "./combinator-rules.ts";
import { arrayRules, objectRules, unevaluatedItemsRule, unevaluatedPropertiesRule } from "./container-rules.ts";
import type { Inspected } from "./inspect.ts";
import { normalizeSchema } from "./normalize.ts";
import { type Proved, provePatterns } from "./pattern-cost.ts";
import {
  applyAll,
  type CheckState,
  Fuel,
  fail,
  maxSteps,
  OutOfFuel,
  price,
  priceOfNames,
  quoted,
  type Rule,
  type RuleContext,
  type Step,
  silent,
} from "./rule.ts";
import { type Checked, type Issue, maxIssues, refused } from "./validator.ts";
import { scalarRules } from "./value-rules.ts";
import { entries, resourceName } from "./vocabulary.ts";

export { createHeaderCheck } from "./param-headers.ts";
export { lazyFormats } from "./value-rules.ts";

/**
 * Creates the function that checks values. It never throws. A schema with an
 * unsafe pattern, or a reference without a target, rejects every value.
 */
export function compile(inspected: Inspected): (value: unknown) => Checked {
  const proof = proveSchema(inspected);
  if (!proof.ok) return unusable(proof.problem);
  const fuel = new Fuel();
  const issuesOf = interpret(proof.value, fuel);
  return (value) => {
    try {
      fuel.fill(maxSteps);
      const issues = issuesOf(value);
      return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
    } catch (error) {
      return givenUp(error);
    }
  };
}

/** Normalizes a schema, and proves that its patterns are safe to match. */
export function proveSchema(inspected: Inspected): Proof {
  const normal = normalizeSchema(inspected);
  if (!normal.ok) return normal;
  const proof = provePatterns(inspected.patterns);
  return proof.ok ? { ok: true as const, value: { ...normal.value, costs: proof.costs } } : proof;
}

type Proof = { readonly ok: true; readonly value: Proved } | { readonly ok: false; readonly problem: string };

function unusable(problem: string): () => Checked {
  return () => refused("schema", `cannot be checked: ${problem}`);
}

function givenUp(error: unknown): Checked {
  if (error instanceof OutOfFuel) {
    const remedy = `the limit is ${maxSteps} steps; send a smaller value, or simplify the schema`;
    return refused("limit", `the check was given up: ${error.message}; ${remedy}`);
  }
  const problem = error instanceof RangeError ? "it is nested too deeply" : "reading it failed";
  return refused("schema", `cannot be checked: ${problem}`);
}

/**
 * Creates the function that returns the issues of a value.
 *
 * Most values are valid, so a first pass determines only validity, without paths
 * or issues. A second pass on the same fuel collects the issues of an invalid
 * value. A schema with `unevaluated*` skips the first pass, because it has to
 * record the evaluated properties and items.
 */
function interpret(schema: Proved, fuel: Fuel): (value: unknown) => readonly Issue[] {
  const made = new Map<Json, Step>();
  const context: RuleContext = {
    ...schema,
    fuel,
    step(below, keyword) {
      if (!isObject(below)) return below === true ? validStep(fuel) : invalidStep(keyword, fuel);
      const step = made.get(below) ?? schemaStep(below, context);
      made.set(below, step);
      return step;
    },
  };
  const root = context.step(schema.root, "");
  return (value) => {
    if (!schema.unevaluated && root(value, silent)) return none;
    const issues: Issue[] = [];
    root(value, {
      path: undefined,
      sink: { issues, limit: maxIssues, hints: true },
      evaluated: schema.unevaluated ? new Set() : undefined,
      scope: undefined,
    });
    // A getter or proxy may return valid values in the second pass; the value still failed the first.
    return issues.length === 0 && !schema.unevaluated ? [mismatch] : issues;
  };
}

const mismatch: Issue = { path: "", keyword: "schema", message: "does not match the schema" };

const none: readonly Issue[] = [];

function validStep(fuel: Fuel): Step {
  return (_, state) => {
    payForSchema(state, fuel);
    return true;
  };
}

function payForSchema({ evaluated }: CheckState, fuel: Fuel): void {
  fuel.burn(evaluated === undefined ? price.schema : price.schema + price.evaluated);
}

function invalidStep(keyword: string, fuel: Fuel): Step {
  return (_, state) => {
    payForSchema(state, fuel);
    return fail(state, keyword, () => {
      const name = state.path === undefined ? "a value" : quoted(String(state.path.key));
      return `${name} is not allowed`;
    });
  };
}

/** A schema burns fuel each time it is applied; expensive keywords burn the rest themselves. */
function schemaStep(schema: JsonObject, context: RuleContext): Step {
  const { fuel } = context;
  const resource = schema[resourceName];
  let steps: readonly Step[] | undefined;
  return (value, outer) => {
    steps ??= stepsOf(schema, context);
    fuel.burn(price.schema + steps.length * price.keyword);
    const state = resource === undefined ? outer : entered(outer, String(resource));
    const valid = applyAll(steps, value, state);
    // The evaluated names are copied to the enclosing schema.
    if (state.evaluated !== undefined) fuel.burn(price.evaluated + priceOfNames(state.evaluated.size));
    return valid;
  };
}

interface Keyword {
  readonly order: number;
  readonly step: Step;
}

function stepsOf(schema: JsonObject, context: RuleContext): readonly Step[] {
  const known: Keyword[] = [];
  for (const [name, operand] of entries(schema)) {
    const keyword = rules.get(name);
    if (keyword !== undefined)
      known.push({ order: keyword.order, step: keyword.rule({ name, operand, schema }, context) });
  }
  if (known.length > 1) known.sort((a, b) => a.order - b.order);
  return known.map(({ step }) => step);
}

function entered(state: CheckState, resource: string): CheckState {
  if (state.scope?.resource === resource) return state;
  return { ...state, scope: { parent: state.scope, resource } };
}

/** Rules in the order in which they are applied. The last two depend on the evaluated names of all others. */
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
