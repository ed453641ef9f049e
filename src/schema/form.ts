import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { token } from "./pointer.ts";
import { entries } from "./vocabulary.ts";

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
  const defaults = entries(json.properties ?? {}).flatMap(([name, field]) =>
    isObject(field) && field.default !== undefined ? [[name, field.default] as const] : [],
  );
  return Object.fromEntries([...defaults, ...entries(value)]);
}

const scalars: readonly (Json | undefined)[] = ["string", "number", "integer", "boolean"];

function fieldProblem(field: Json): string | undefined {
  if (!isObject(field)) return "must be a schema of a field";
  if (field.type === "object" || field.properties !== undefined) return "is an object, but a form must be flat";
  if (field.type === "array") return itemsProblem(field.items);
  if (field.enum !== undefined || field.oneOf !== undefined) return choiceProblem(field, field.oneOf);
  if (scalars.includes(field.type)) return undefined;
  return 'must have the type "string", "number", "integer", "boolean" or "array"';
}

function itemsProblem(items: Json | undefined): string | undefined {
  const problem = isObject(items) ? choiceProblem(items, items.anyOf) : "must have items";
  return problem && `is an array, but not one of choices: ${problem}`;
}

function choiceProblem({ type = "string", enum: values }: JsonObject, titled: Json | undefined): string | undefined {
  if (type !== "string") return scalars.includes(type) && titled === undefined ? undefined : "choices must be strings";
  const choices = titled === undefined ? values : titled;
  if (!Array.isArray(choices) || choices.length === 0) return "choices must be a non-empty array";
  const isChoice = (choice: Json): boolean =>
    titled === undefined ? typeof choice === "string" : isObject(choice) && typeof choice.const === "string";
  return choices.every(isChoice) ? undefined : "choices must be strings, or have a const and a title";
}
