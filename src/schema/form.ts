import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { entries, token } from "./vocabulary.ts";

/**
 * The problem that keeps a JSON Schema from being a form for `elicitation/create`, if
 * there is one.
 *
 * A form is a flat object. A field is a string, number, integer, boolean, single
 * choice (`enum`, or `oneOf` with `const` and `title`) or multiple choice (an array
 * with such `items`). Fields cannot be nested, because a client has to render them.
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

/** A copy of the content of a form, with the defaults of fields that the user left out. */
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

/** The problem of a list of choices: strings, or schemas with `const` and `title`. */
function choicesProblem(plain: Json | undefined, titled: Json | undefined): string | undefined {
  const choices = titled ?? plain;
  if (!Array.isArray(choices) || choices.length === 0) return "choices must be a non-empty array";
  const values = choices.map((choice) => (titled !== undefined && isObject(choice) ? choice.const : choice));
  return values.every((value) => typeof value === "string") ? undefined : "choices must be strings";
}
