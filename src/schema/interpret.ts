import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { arrayRules, unevaluatedItemsRule } from "./array-rules.ts";
import { combinatorRules } from "./combinator-rules.ts";
import type { Fuel } from "./fuel.ts";
import { objectRules, unevaluatedPropertiesRule } from "./object-rules.ts";
import type { Proved } from "./prove-patterns.ts";
import { scalarRules } from "./scalar-rules.ts";
import { all, fail, type Maker, type Rule, type Step } from "./step.ts";
import { type Issue, maxIssues } from "./validator.ts";

/** Checks values against a schema without generating code, and tells what is wrong with them. */
export function interpret(schema: Proved, fuel: Fuel): (value: unknown) => readonly Issue[] {
  const made = new Map<Json, Step>();
  const maker: Maker = {
    ...schema,
    fuel,
    step(below, keyword) {
      if (!isObject(below)) return below === true ? accept : refuse(keyword);
      const step = made.get(below) ?? schemaStep(below, maker);
      made.set(below, step);
      return step;
    },
  };
  const root = maker.step(schema.root, "");
  return (value) => {
    const issues: Issue[] = [];
    root(value, {
      path: undefined,
      sink: { issues, limit: maxIssues, hints: true },
      seen: schema.unevaluated ? new Set() : undefined,
    });
    return issues;
  };
}

const accept: Step = () => true;

function refuse(keyword: string): Step {
  return (_, place) => {
    const name = place.path === undefined ? "a value" : JSON.stringify(String(place.path.key));
    return fail(place, keyword, `${name} is not allowed`);
  };
}

function schemaStep(schema: JsonObject, maker: Maker): Step {
  let steps: readonly Step[] | undefined;
  return (value, place) => {
    steps ??= [...rules].flatMap(([name, rule]) => {
      const operand = Object.hasOwn(schema, name) ? schema[name] : undefined;
      return operand === undefined ? [] : [rule({ name, operand, schema }, maker)];
    });
    return all(steps, place, (step) => step(value, place));
  };
}

/** In the order in which they are applied. The last two need to know what all others have looked at. */
const rules: ReadonlyMap<string, Rule> = new Map([
  ...scalarRules,
  ...arrayRules,
  ...objectRules,
  ...combinatorRules,
  ["unevaluatedItems", unevaluatedItemsRule],
  ["unevaluatedProperties", unevaluatedPropertiesRule],
]);
