import { type Attempt, type Change, inMember, inOrder, same, without } from "../../codec/shared/dialect.ts";
import { isObject, type JsonObject } from "../../json/json.ts";
import { inEveryMember } from "./in-every-member.ts";
import { refuseFor } from "./refuse-for.ts";

/**
 * Asks with a form as 2025-06-18 had it: one choice of an enumeration with
 * names beside it, and a default only for yes or no.
 */
export const simpleForm: Attempt = (params) => {
  const field = multipleChoice(params);
  if (field === undefined) return { ok: true, value: inSimpleWords(params) };
  return refuseFor(`params.requestedSchema.properties.${field}`, "2025-11-25", { elicitation: { form: {} } });
};

/** The field, if any, that takes several values. */
function multipleChoice({ requestedSchema }: JsonObject): string | undefined {
  const properties =
    isObject(requestedSchema) && isObject(requestedSchema.properties) ? requestedSchema.properties : {};
  return Object.entries(properties).find(([, field]) => isObject(field) && field.type === "array")?.[0];
}

const namesBeside: Change = (field) => {
  if (!Array.isArray(field.oneOf)) return field;
  const { oneOf: _, ...rest } = field;
  const choices = field.oneOf.filter(isObject);
  return {
    ...rest,
    enum: choices.map(constantOf),
    enumNames: choices.map((choice) => choice.title ?? constantOf(choice)),
  };
};

function constantOf(choice: JsonObject): string {
  return String(choice.const);
}

const withoutDefault = without("default");
const defaultForYesOrNo: Change = (field) => (field.type === "boolean" ? same : withoutDefault)(field);

const inSimpleWords: Change = inMember(
  "requestedSchema",
  inOrder(without("$schema"), inMember("properties", inEveryMember(inOrder(namesBeside, defaultForYesOrNo)))),
);
