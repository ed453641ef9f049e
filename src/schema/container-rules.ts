import { isObject, type Json, type JsonObject } from "../json/json.ts";
import {
  accepts,
  all,
  type Fuel,
  fail,
  inPlace,
  type Maker,
  type Place,
  price,
  priceOfNames,
  quoted,
  type Rule,
  type Step,
  silent,
  type Use,
  within,
} from "./rule.ts";
import { boundedPattern, isDistinct } from "./value-rules.ts";
import { entries, isReference, vocabulary } from "./vocabulary.ts";

/** The keywords about objects. */
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

function onObject(step: (object: JsonObject, place: Place) => boolean): Step {
  return (value, place) => !isObject(value) || step(value, place);
}

/** The names of all properties, which takes time for each of them. */
function namesOf(object: JsonObject, fuel: Fuel): readonly string[] {
  const names = Object.keys(object);
  fuel.burn(priceOfNames(names.length));
  return names;
}

function propertyCountRule(words: string, holds: (size: number, limit: number) => boolean): Rule {
  return ({ name, operand }, { fuel }) =>
    onObject(
      (object, place) =>
        holds(namesOf(object, fuel).length, Number(operand)) ||
        fail(place, name, () => `${words} ${operand} properties`),
    );
}

/** Where nothing is told, `properties` finds out which of its own are missing: looking for them twice takes long. */
function requiredRule({ name, operand, schema }: Use, { fuel }: Maker): Step {
  const required = entries(operand).map(([, property]) => String(property));
  const known = new Set(entries(schema.properties).map(([property]) => property));
  const others = required.filter((property) => !known.has(property));
  return onObject((object, place) => {
    fuel.burn(required.length * price.pass);
    return all(
      place === silent ? others : required,
      place,
      (property) =>
        Object.hasOwn(object, property) || fail(place, name, () => `must have a property ${quoted(property)}`),
    );
  });
}

/** Both kinds: arrays of names, and schemas for the object. */
function dependenciesRule({ name, operand }: Use, maker: Maker): Step {
  const { fuel } = maker;
  const steps = entries(operand).map(([property, needed]): readonly [string, Step] => {
    const isList = Array.isArray(needed);
    return [property, isList ? requiredRule({ name, operand: needed, schema: {} }, maker) : maker.step(needed, name)];
  });
  return onObject((object, place) => {
    fuel.burn(steps.length * price.pass);
    return all(steps, place, ([property, step]) => !Object.hasOwn(object, property) || inPlace(step, object, place));
  });
}

function namesRule({ name, operand }: Use, maker: Maker): Step {
  const step = maker.step(operand, name);
  const refused: Step = (property, place) =>
    fail(place, name, () => `${quoted(String(property))} is not an allowed name`);
  return onObject((object, place) =>
    all(
      namesOf(object, maker.fuel),
      place,
      (property) =>
        accepts(step, property, { ...place, seen: undefined }) || within(refused, property, property, place),
    ),
  );
}

/** An optional property that is `undefined` counts as absent. */
function propertiesRule({ name, operand, schema }: Use, maker: Maker): Step {
  const required = new Set(entries(schema.required).map(([, property]) => property));
  const properties = flatFirst(operand).map(([property, below]) => {
    return { property, step: maker.step(below, name), isRequired: required.has(property) };
  });
  return onObject((object, place) => {
    maker.fuel.burn(properties.length * price.pass);
    return all(properties, place, ({ property, step, isRequired }) => {
      if (!Object.hasOwn(object, property)) return !isRequired || place !== silent;
      const value = object[property];
      return (value === undefined && !isRequired) || within(step, value, property, place);
    });
  });
}

function patternPropertiesRule({ name, operand }: Use, maker: Maker): Step {
  const steps = patternsOf(operand, maker).map(([matches, schema]) => [matches, maker.step(schema, name)] as const);
  return onObject((object, place) =>
    all(namesOf(object, maker.fuel), place, (property) =>
      all(steps, place, ([matches, step]) => !matches(property) || within(step, object[property], property, place)),
    ),
  );
}

function additionalRule({ name, operand, schema }: Use, maker: Maker): Step {
  const known = new Set(Object.keys(schema.properties ?? {}));
  const patterns = patternsOf(schema.patternProperties, maker);
  const step = maker.step(operand, name);
  const isKnown = (property: string): boolean => known.has(property) || patterns.some(([matches]) => matches(property));
  return onObject((object, place) =>
    all(
      namesOf(object, maker.fuel),
      place,
      (property) => isKnown(property) || within(step, object[property], property, place),
    ),
  );
}

/** What no other keyword of the schema has looked at. */
export const unevaluatedPropertiesRule: Rule = ({ name, operand }, maker) => {
  const step = maker.step(operand, name);
  return onObject((object, place) =>
    all(
      namesOf(object, maker.fuel),
      place,
      (property) => place.seen?.has(property) || within(step, object[property], property, place),
    ),
  );
};

type Pattern = ReturnType<typeof boundedPattern>;

function patternsOf(value: Json | undefined, maker: Maker): readonly (readonly [Pattern, Json])[] {
  return entries(value).map(([source, schema]) => [boundedPattern(source, maker), schema]);
}

/**
 * Properties and their schemas, flat ones first. A branch of a recursive union is
 * then refused by its tag, before its children are looked at.
 */
function flatFirst(properties: Json): readonly (readonly [string, Json])[] {
  return entries(properties).toSorted(([, a], [, b]) => Number(isFlat(b)) - Number(isFlat(a)));
}

function isFlat(schema: Json): boolean {
  return entries(schema).every(
    ([name, value]) => !isReference(name) && !vocabulary.get(name)?.subschemas(value).length,
  );
}

/** The keywords about arrays. */
export const arrayRules: readonly (readonly [string, Rule])[] = [
  ["minItems", itemCountRule("must have at least", (size, limit) => size >= limit)],
  ["maxItems", itemCountRule("must have at most", (size, limit) => size <= limit)],
  ["uniqueItems", uniqueRule],
  ["prefixItems", prefixRule],
  ["items", itemsRule],
  ["contains", containsRule],
];

function onArray(step: (items: readonly unknown[], place: Place) => boolean): Step {
  return (value, place) => !Array.isArray(value) || step(value, place);
}

function itemCountRule(words: string, holds: (size: number, limit: number) => boolean): Rule {
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
