import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { oneLine } from "./printable.ts";
import type { Choice, Questions } from "./questions.ts";

/** Asks for the fields of an object, one after the other, and checks each by its schema. What is optional may be left empty. */
export async function askForm(
  schema: JsonObject,
  questions: Questions,
  skip: ReadonlySet<string> = new Set(),
): Promise<JsonObject> {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const answers: Record<string, Json> = {};
  for (const [name, field] of Object.entries(properties)) {
    if (skip.has(name)) continue;
    const answer = await askField(
      { name, schema: isObject(field) ? field : {}, required: required.includes(name) },
      questions,
    );
    if (answer !== undefined) answers[name] = answer;
  }
  return answers;
}

interface Field {
  readonly name: string;
  readonly schema: JsonObject;
  readonly required: boolean;
}

async function askField(field: Field, questions: Questions): Promise<Json | undefined> {
  const { schema, required } = field;
  const message = labelOf(field);
  const choices = choicesOf(schema);
  if (choices !== undefined) return askChoice(message, choices, { field, questions });
  const items = schema.type === "array" && isObject(schema.items) ? choicesOf(schema.items) : undefined;
  if (items !== undefined) {
    const initial = Array.isArray(schema.default) ? schema.default.filter((one) => typeof one === "string") : [];
    return questions.chooseSome(message, items, { initial, required: required || Number(schema.minItems ?? 0) > 0 });
  }
  if (schema.type === "boolean") return questions.confirm(message, schema.default === true);
  const initial = initialOf(schema.default);
  const text = await questions.text({
    message,
    initial,
    placeholder: required ? undefined : "leave empty to skip",
    check: (typed) => problemWith(typed, field),
  });
  return text === "" && !(required && schema.type === "string") ? undefined : readAnswer(text, schema);
}

interface AskingField {
  readonly field: Field;
  readonly questions: Questions;
}

async function askChoice(
  message: string,
  choices: readonly Choice<string>[],
  { field: { schema, required }, questions }: AskingField,
): Promise<string | undefined> {
  const none = "\u0000none";
  const all = required ? choices : [...choices, { value: none, label: "(none)" }];
  const chosen = await questions.choose(message, all, typeof schema.default === "string" ? schema.default : undefined);
  return chosen === none ? undefined : chosen;
}

/** `Name (how it is called)`, with what the schema says of it. */
function labelOf({ name, schema, required }: Field): string {
  const title = typeof schema.title === "string" ? oneLine(schema.title) : oneLine(name);
  const description = typeof schema.description === "string" ? `: ${oneLine(schema.description)}` : "";
  const kind =
    typeof schema.type === "string" && schema.type !== "string" && schema.type !== "boolean"
      ? ` (${oneLine(schema.type)})`
      : "";
  return `${title}${kind}${required ? "" : ", optional"}${description}`;
}

/** The strings to choose from: `enum` with or without names, `oneOf` or `anyOf` with titles. */
function choicesOf(schema: JsonObject): readonly Choice<string>[] | undefined {
  const titled = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(titled)) {
    const choices = titled.flatMap((one) =>
      isObject(one) && typeof one.const === "string"
        ? [{ value: one.const, label: typeof one.title === "string" ? oneLine(one.title) : one.const }]
        : [],
    );
    return choices.length === titled.length && choices.length > 0 ? choices : undefined;
  }
  if (!Array.isArray(schema.enum) || !schema.enum.every((one) => typeof one === "string")) return undefined;
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return schema.enum.map((value, index) => {
    const name = names[index];
    return { value: String(value), label: oneLine(typeof name === "string" ? name : String(value)) };
  });
}

function initialOf(value: Json | undefined): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What is wrong with an answer as it was typed. The whole is checked by its schema again before it is sent. */
function problemWith(text: string, { schema, required }: Field): string | undefined {
  if (text === "") return required && schema.type !== "string" ? "this is needed" : undefined;
  switch (schema.type) {
    case "number":
    case "integer":
      return numberProblem(text, schema);
    case "string":
    case undefined:
      return textProblem(text, schema);
    default:
      return isJson(text)
        ? undefined
        : `write this as JSON, such as ${schema.type === "array" ? "[1, 2]" : '{"a": 1}'}`;
  }
}

function numberProblem(text: string, { type, minimum, maximum }: JsonObject): string | undefined {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) return "this must be a number";
  if (type === "integer" && !Number.isInteger(value)) return "this must be a whole number";
  if (typeof minimum === "number" && value < minimum) return `this must be at least ${minimum}`;
  if (typeof maximum === "number" && value > maximum) return `this must be at most ${maximum}`;
  return undefined;
}

function textProblem(text: string, { minLength, maxLength, format }: JsonObject): string | undefined {
  const length = [...text].length;
  if (typeof minLength === "number" && length < minLength) return `this needs at least ${minLength} characters`;
  if (typeof maxLength === "number" && length > maxLength) return `this may have at most ${maxLength} characters`;
  const rule = typeof format === "string" ? formats[format] : undefined;
  return rule === undefined || rule.fits.test(text) ? undefined : `this must be ${rule.what}`;
}

const formats: Readonly<Record<string, { readonly fits: RegExp; readonly what: string }>> = {
  email: { fits: /^[^\s@]+@[^\s@]+$/, what: "an email address" },
  uri: { fits: /^[a-z][a-z\d+.-]*:\S+$/i, what: "a URI" },
  date: { fits: /^\d{4}-\d\d-\d\d$/, what: "a date, such as 2026-11-18" },
  "date-time": { fits: /^\d{4}-\d\d-\d\dT\d\d:\d\d/i, what: "a time, such as 2026-11-18T12:00:00Z" },
};

function readAnswer(text: string, { type }: JsonObject): Json {
  if (type === "number" || type === "integer") return Number(text);
  if (type === "string") return text;
  return isJson(text) ? JSON.parse(text) : text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
