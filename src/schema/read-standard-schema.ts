import { isObject, type JsonObject } from "../json/json.ts";
import { copyJson } from "./copy-json.ts";
import { token } from "./pointer.ts";
import type { StandardIssue, StandardResult, StandardSchema } from "./standard-schema.ts";
import { type Checked, type Issue, maxIssues, type ReadSchema, refused } from "./validator.ts";

/** Which side of a schema: what a caller passes, or what validation makes of it. */
export type Direction = "input" | "output";

/** Reads a Standard Schema. It is converted to JSON Schema now, and validates by itself. */
export function readStandardSchema(schema: StandardSchema, direction: Direction): ReadSchema {
  const converted = toJsonSchema(schema, direction);
  if (!converted.ok) return converted;
  return { ok: true, value: { json: converted.value, check: (value) => checkStandard(schema, value) } };
}

type Converted = { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly problem: string };

function toJsonSchema({ "~standard": standard }: StandardSchema, direction: Direction): Converted {
  if (standard.jsonSchema === undefined) return { ok: false, problem: howToConvert(standard.vendor) };
  try {
    const copied = copyJson(standard.jsonSchema[direction]({ target: "draft-2020-12" }));
    if (copied.ok && isObject(copied.value)) return { ok: true, value: copied.value };
    return { ok: false, problem: `the ${standard.vendor} schema did not convert itself to a JSON Schema object` };
  } catch (error) {
    const reason = error instanceof Error ? `: ${error.message}` : "";
    return { ok: false, problem: `the ${direction} of the ${standard.vendor} schema is no JSON Schema${reason}` };
  }
}

function howToConvert(vendor: string): string {
  if (vendor === "valibot") {
    return "a valibot schema needs a converter: wrap it with toStandardJsonSchema from @valibot/to-json-schema";
  }
  return `the ${vendor} schema cannot convert itself: pass one that implements Standard JSON Schema, or a JSON Schema`;
}

/** Lets a Standard Schema check a value. Never throws, never rejects. */
export function checkStandard(schema: StandardSchema, value: unknown): Checked | Promise<Checked> {
  try {
    const result = schema["~standard"].validate(value);
    return "then" in result ? Promise.resolve(result).then(toChecked).catch(failed) : toChecked(result);
  } catch {
    return failed();
  }
}

/** What a schema throws may hold more than the peer should see. */
function failed(): Checked {
  return refused("schema", "cannot be checked: the schema threw an error");
}

function toChecked(result: StandardResult<unknown>): Checked {
  if (result.issues === undefined) return { ok: true, value: result.value };
  const issues = result.issues.slice(0, maxIssues).map(toIssue);
  return issues.length > 0 ? { ok: false, issues } : refused("schema", "does not match the schema");
}

function toIssue(issue: StandardIssue): Issue {
  const path = (issue.path ?? []).map((step) => token(typeof step === "object" ? step.key : step)).join("");
  return { path, keyword: kindOf(issue), message: String(issue.message) };
}

/** Not standard, but what zod and arktype call `code` and valibot `type` is good to know. */
function kindOf(issue: StandardIssue & { readonly code?: unknown; readonly type?: unknown }): string {
  const kind = issue.code ?? issue.type;
  return typeof kind === "string" ? kind : "schema";
}
