import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { entries, token } from "./vocabulary.ts";

/**
 * Says why a JSON Schema is no form that can be elicited, if it is none.
 *
 * A form is a flat object. Its fields are strings, numbers, integers, booleans,
 * one of several strings (`enum`, or `oneOf` with `const` and `title`), or some of
 * them (an array with such `items`). Nothing is nested: a client must be able to
 * draw it.
 */
export function checkFormSchema(json: JsonObject): string | undefined {
  if (json.type !== "object") return '# must have the type "object" to be a form';
  if (!isObject(json.properties)) return "#/properties must be an object with the fields of the form";
  for (const [name, field] of entries(json.properties)) {
    const problem = fieldProblem(field);
    if (problem !== undefined) return `#/properties${token(name)} ${problem}`;
  }
  return undefined;
}

/** A copy of the answers to a form, with the defaults of its fields where there is no answer. */
export function fillDefaults(json: JsonObject, value: JsonObject): JsonObject {
  const defaults = entries(json.properties).flatMap(([name, field]) =>
    isObject(field) && field.default !== undefined ? [[name, field.default] as const] : [],
  );
  return Object.fromEntries([...defaults, ...entries(value)]);
}

function fieldProblem(field: Json): string | undefined {
  if (!isObject(field)) return "must be a schema of a field";
  if (field.properties !== undefined) return "is an object, but a form must be flat";
  const hasChoices = field.enum !== undefined || field.oneOf !== undefined;
  switch (field.type ?? (hasChoices ? "string" : undefined)) {
    case "number":
    case "integer":
    case "boolean":
      return undefined;
    case "string":
      return hasChoices ? choicesProblem(field.enum, field.oneOf) : undefined;
    case "array":
      return itemsProblem(field.items);
    case "object":
      return "is an object, but a form must be flat";
    default:
      return 'must have the type "string", "number", "integer", "boolean" or "array"';
  }
}

function itemsProblem(items: Json | undefined): string | undefined {
  const { type = "string", enum: plain, anyOf }: JsonObject = isObject(items) ? items : {};
  const problem = type === "string" ? choicesProblem(plain, anyOf) : "choices must be strings";
  return problem && `is an array, but not one of choices: ${problem}`;
}

/** Choices are plain strings, or each has a `const` and a `title`. */
function choicesProblem(plain: Json | undefined, titled: Json | undefined): string | undefined {
  const choices = titled ?? plain;
  if (!Array.isArray(choices) || choices.length === 0) return "choices must be a non-empty array";
  const values = choices.map((choice) => (titled !== undefined && isObject(choice) ? choice.const : choice));
  return values.every((value) => typeof value === "string") ? undefined : "choices must be strings";
}
