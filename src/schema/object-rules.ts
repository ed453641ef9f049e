import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { type BoundedPattern, boundedPattern } from "./assertions.ts";
import { entries } from "./entries.ts";
import { accepts, all, fail, inPlace, type Maker, type Place, type Rule, type Step, type Use, within } from "./step.ts";
import { flatFirst } from "./vocabulary.ts";

/** The keywords about objects. */
export const objectRules: readonly (readonly [string, Rule])[] = [
  ["properties", propertiesRule],
  ["required", requiredRule],
  ["minProperties", sizeRule("must have at least", (size, limit) => size >= limit)],
  ["maxProperties", sizeRule("must have at most", (size, limit) => size <= limit)],
  ["dependentRequired", dependenciesRule],
  ["propertyNames", namesRule],
  ["patternProperties", patternPropertiesRule],
  ["additionalProperties", additionalRule],
  ["dependentSchemas", dependenciesRule],
  ["dependencies", dependenciesRule],
];

function onObject(step: (object: JsonObject, place: Place) => boolean): Step {
  return (value, place) => !isObject(value) || step(value, place);
}

function sizeRule(words: string, holds: (size: number, limit: number) => boolean): Rule {
  return ({ name, operand }) => {
    const message = `${words} ${operand} properties`;
    return onObject(
      (object, place) => holds(Object.keys(object).length, Number(operand)) || fail(place, name, message),
    );
  };
}

function requiredRule({ name, operand }: Use): Step {
  const required = entries(operand).map(([, property]) => String(property));
  return onObject((object, place) => hasAll(object, required, place, name));
}

function hasAll(object: JsonObject, required: readonly string[], place: Place, keyword: string): boolean {
  const missing = (property: string): string => `must have a property ${JSON.stringify(property)}`;
  return all(required, place, (property) => Object.hasOwn(object, property) || fail(place, keyword, missing(property)));
}

/** All three kinds: arrays of names, and schemas for the object. */
function dependenciesRule({ name, operand }: Use, maker: Maker): Step {
  const steps = entries(operand).map(([property, needed]): readonly [string, Step] => {
    if (!Array.isArray(needed)) return [property, maker.step(needed, name)];
    const names = needed.map(String);
    return [property, onObject((object, place) => hasAll(object, names, place, name))];
  });
  return onObject((object, place) =>
    all(steps, place, ([property, step]) => !Object.hasOwn(object, property) || inPlace(step, object, place)),
  );
}

function namesRule({ name, operand }: Use, maker: Maker): Step {
  const step = maker.step(operand, name);
  const refused: Step = (property, place) => fail(place, name, `${JSON.stringify(property)} is not an allowed name`);
  return onObject((object, place) =>
    all(
      Object.keys(object),
      place,
      (property) =>
        accepts(step, property, { ...place, seen: undefined }) || within(refused, property, property, place),
    ),
  );
}

/** An optional property that is `undefined` counts as absent. */
function propertiesRule({ name, operand, schema }: Use, maker: Maker): Step {
  const required = new Set(entries(schema.required).map(([, property]) => property));
  const steps = flatFirst(operand).map(([property, below]) => [property, maker.step(below, name)] as const);
  return onObject((object, place) =>
    all(steps, place, ([property, step]) => {
      if (!Object.hasOwn(object, property)) return true;
      const value = object[property];
      return (value === undefined && !required.has(property)) || within(step, value, property, place);
    }),
  );
}

function patternPropertiesRule({ name, operand }: Use, maker: Maker): Step {
  const steps = patternsOf(operand, maker).map(([pattern, schema]) => [pattern, maker.step(schema, name)] as const);
  return onObject((object, place) =>
    all(Object.keys(object), place, (property) =>
      all(
        steps,
        place,
        ([pattern, step]) => !pattern.test(property) || within(step, object[property], property, place),
      ),
    ),
  );
}

function additionalRule({ name, operand, schema }: Use, maker: Maker): Step {
  const known = new Set(Object.keys(schema.properties ?? {}));
  const patterns = patternsOf(schema.patternProperties, maker).map(([pattern]) => pattern);
  const step = maker.step(operand, name);
  const isKnown = (property: string): boolean =>
    known.has(property) || patterns.some((pattern) => pattern.test(property));
  return onObject((object, place) =>
    all(Object.keys(object), place, (property) => isKnown(property) || within(step, object[property], property, place)),
  );
}

/** What no other keyword of the schema has looked at. */
export const unevaluatedPropertiesRule: Rule = ({ name, operand }, maker) => {
  const step = maker.step(operand, name);
  return onObject((object, place) =>
    all(
      Object.keys(object),
      place,
      (property) => place.seen?.has(property) || within(step, object[property], property, place),
    ),
  );
};

function patternsOf(value: Json | undefined, maker: Maker): readonly (readonly [BoundedPattern, Json])[] {
  return entries(value).map(([source, schema]) => [boundedPattern(source, maker), schema]);
}
