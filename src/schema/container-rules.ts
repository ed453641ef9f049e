import { isObject, type Json, type JsonObject } from "../json/json.ts";
import {
  accepts,
  all,
  applyHere,
  applyInside,
  type CheckState,
  type Fuel,
  fail,
  type KeywordUse,
  price,
  priceOfNames,
  quoted,
  type Rule,
  type RuleContext,
  type Step,
  silent,
} from "./rule.ts";
import { boundedPattern, isDistinct } from "./value-rules.ts";
import { entries, isReference, vocabulary } from "./vocabulary.ts";

/** Rules of the keywords for objects. */
export const objectRules: readonly (readonly [string, Rule])[] = [
  ["properties", propertiesRule],
  ["required", requiredRule],
  ["minProperties", propertyCountRule("must have at least", (size, limit) => size >= limit)],
  ["maxProperties", propertyCountRule("must have at most", (size, limit) => size <= limit)],
  ["dependentRequired", dependenciesRule],
  ["propertyNames", namesRule],
  ["patternProperties", patternPropertiesRule],
  ["additionalProperties", additionalRule],
  ["dependentSchemas", dependenciesRule],
];

function onObject(step: (object: JsonObject, state: CheckState) => boolean): Step {
  return (value, state) => !isObject(value) || step(value, state);
}

/** The names of all properties. Burns fuel for each. */
function namesOf(object: JsonObject, fuel: Fuel): readonly string[] {
  const names = Object.keys(object);
  fuel.burn(priceOfNames(names.length));
  return names;
}

function propertyCountRule(words: string, holds: (size: number, limit: number) => boolean): Rule {
  return ({ name, operand }, { fuel }) =>
    onObject(
      (object, state) =>
        holds(namesOf(object, fuel).length, Number(operand)) ||
        fail(state, name, () => `${words} ${operand} properties`),
    );
}

/** In a silent check, `properties` reports its own missing properties, so that they are not looked up twice. */
function requiredRule({ name, operand, schema }: KeywordUse, { fuel }: RuleContext): Step {
  const required = entries(operand).map(([, property]) => String(property));
  const known = new Set(entries(schema.properties).map(([property]) => property));
  const others = required.filter((property) => !known.has(property));
  return onObject((object, state) => {
    fuel.burn(required.length * price.pass);
    return all(
      state === silent ? others : required,
      state,
      (property) =>
        Object.hasOwn(object, property) || fail(state, name, () => `must have a property ${quoted(property)}`),
    );
  });
}

/** Rule of `dependentRequired` (arrays of names) and `dependentSchemas` (schemas of the object). */
function dependenciesRule({ name, operand }: KeywordUse, context: RuleContext): Step {
  const { fuel } = context;
  const steps = entries(operand).map(([property, needed]): readonly [string, Step] => {
    const isList = Array.isArray(needed);
    return [
      property,
      isList ? requiredRule({ name, operand: needed, schema: {} }, context) : context.step(needed, name),
    ];
  });
  return onObject((object, state) => {
    fuel.burn(steps.length * price.pass);
    return all(steps, state, ([property, step]) => !Object.hasOwn(object, property) || applyHere(step, object, state));
  });
}

function namesRule({ name, operand }: KeywordUse, context: RuleContext): Step {
  const step = context.step(operand, name);
  const refused: Step = (property, state) =>
    fail(state, name, () => `${quoted(String(property))} is not an allowed name`);
  return onObject((object, state) =>
    all(
      namesOf(object, context.fuel),
      state,
      (property) =>
        accepts(step, property, { ...state, evaluated: undefined }) || applyInside(refused, property, property, state),
    ),
  );
}

/** Rule of `properties`. An optional property whose value is `undefined` counts as absent. */
function propertiesRule({ name, operand, schema }: KeywordUse, context: RuleContext): Step {
  const required = new Set(entries(schema.required).map(([, property]) => property));
  const properties = flatFirst(operand).map(([property, below]) => {
    return { property, step: context.step(below, name), isRequired: required.has(property) };
  });
  return onObject((object, state) => {
    context.fuel.burn(properties.length * price.pass);
    return all(properties, state, ({ property, step, isRequired }) => {
      if (!Object.hasOwn(object, property)) return !isRequired || state !== silent;
      const value = object[property];
      return (value === undefined && !isRequired) || applyInside(step, value, property, state);
    });
  });
}

function patternPropertiesRule({ name, operand }: KeywordUse, context: RuleContext): Step {
  const steps = patternsOf(operand, context).map(([matches, schema]) => [matches, context.step(schema, name)] as const);
  return onObject((object, state) =>
    all(namesOf(object, context.fuel), state, (property) =>
      all(
        steps,
        state,
        ([matches, step]) => !matches(property) || applyInside(step, object[property], property, state),
      ),
    ),
  );
}

function additionalRule({ name, operand, schema }: KeywordUse, context: RuleContext): Step {
  const known = new Set(Object.keys(schema.properties ?? {}));
  const patterns = patternsOf(schema.patternProperties, context);
  const step = context.step(operand, name);
  const isKnown = (property: string): boolean => known.has(property) || patterns.some(([matches]) => matches(property));
  return onObject((object, state) =>
    all(
      namesOf(object, context.fuel),
      state,
      (property) => isKnown(property) || applyInside(step, object[property], property, state),
    ),
  );
}

/** What no other keyword of the schema has looked at. */
export const unevaluatedPropertiesRule: Rule = ({ name, operand }, context) => {
  const step = context.step(operand, name);
  return onObject((object, state) =>
    all(
      namesOf(object, context.fuel),
      state,
      (property) => state.evaluated?.has(property) || applyInside(step, object[property], property, state),
    ),
  );
};

type Pattern = ReturnType<typeof boundedPattern>;

function patternsOf(value: Json | undefined, context: RuleContext): readonly (readonly [Pattern, Json])[] {
  return entries(value).map(([source, schema]) => [boundedPattern(source, context), schema]);
}

/**
 * Properties and their schemas, those without subschemas first. A branch of a
 * recursive union is then rejected by its tag before its children are checked.
 */
function flatFirst(properties: Json): readonly (readonly [string, Json])[] {
  return entries(properties).toSorted(([, a], [, b]) => Number(isFlat(b)) - Number(isFlat(a)));
}

function isFlat(schema: Json): boolean {
  return entries(schema).every(
    ([name, value]) => !isReference(name) && !vocabulary.get(name)?.subschemas(value).length,
  );
}

/** Rules of the keywords for arrays. */
export const arrayRules: readonly (readonly [string, Rule])[] = [
  ["minItems", itemCountRule("must have at least", (size, limit) => size >= limit)],
  ["maxItems", itemCountRule("must have at most", (size, limit) => size <= limit)],
  ["uniqueItems", uniqueRule],
  ["prefixItems", prefixRule],
  ["items", itemsRule],
  ["contains", containsRule],
];

function onArray(step: (items: readonly unknown[], state: CheckState) => boolean): Step {
  return (value, state) => !Array.isArray(value) || step(value, state);
}

function itemCountRule(words: string, holds: (size: number, limit: number) => boolean): Rule {
  return ({ name, operand }) => {
    const limit = Number(operand);
    return onArray((items, state) => holds(items.length, limit) || fail(state, name, () => `${words} ${limit} items`));
  };
}

function uniqueRule({ name, operand }: KeywordUse, { fuel }: RuleContext): Step {
  if (operand === false) return () => true;
  return onArray((items, state) => isDistinct(items, fuel) || fail(state, name, () => "must not have duplicate items"));
}

function prefixRule({ name, operand }: KeywordUse, context: RuleContext): Step {
  const steps = listOf(operand).map((schema) => context.step(schema, name));
  return onArray((items, state) =>
    // Iterates over the shorter list, because both may be long.
    items.length < steps.length
      ? all(items, state, (item, index) => applyInside(steps[index] as Step, item, index, state))
      : all(steps, state, (step, index) => applyInside(step, items[index], index, state)),
  );
}

function itemsRule({ name, operand, schema }: KeywordUse, context: RuleContext): Step {
  const step = context.step(operand, name);
  const from = listOf(schema.prefixItems).length;
  return onArray((items, state) =>
    all(items, state, (item, index) => index < from || applyInside(step, item, index, state)),
  );
}

/** Rule of `contains`. Stops as soon as the result is known, unless the schema has `unevaluatedItems`. */
function containsRule({ name, operand, schema }: KeywordUse, context: RuleContext): Step {
  const [min, max] = [Number(schema.minContains ?? 1), Number(schema.maxContains ?? Infinity)];
  const step = context.step(operand, name);
  return onArray((items, state) => {
    let matching = 0;
    for (const [index, item] of items.entries()) {
      if (state.evaluated === undefined && matching >= min && max === Infinity) break;
      if (accepts((_, at) => applyInside(step, item, index, at), items, state)) matching++;
    }
    if (matching < min) return fail(state, name, () => `must contain at least ${min} items that match`);
    return matching <= max || fail(state, name, () => `must contain at most ${max} items that match`);
  });
}

/** What no other keyword of the schema has looked at. */
export const unevaluatedItemsRule: Rule = ({ name, operand }, context) => {
  const step = context.step(operand, name);
  return onArray((items, state) => {
    context.fuel.burn(priceOfNames(items.length));
    return all(
      items,
      state,
      (item, index) => state.evaluated?.has(String(index)) || applyInside(step, item, index, state),
    );
  });
};

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
