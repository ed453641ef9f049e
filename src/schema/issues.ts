import type { TLocalizedValidationError } from "typebox/error";
import { pointerKeys, token } from "./pointer.ts";
import { type Issue, maxIssues } from "./validator.ts";
import { vocabulary } from "./vocabulary.ts";

/** Tells the errors of the compiler as issues, in the words of the schema they come from. */
export function toIssues(errors: readonly TLocalizedValidationError[]): readonly Issue[] {
  return errors.flatMap(issuesOf).slice(0, maxIssues);
}

function issuesOf(error: TLocalizedValidationError): readonly Issue[] {
  const { instancePath: path, keyword } = error;
  switch (error.keyword) {
    case "type":
      return [{ path, keyword, message: `must be ${[error.params.type].flat().join(" or ")}` }];
    case "required":
      return error.params.requiredProperties.map((name) => ({
        path,
        keyword,
        message: `must have a property ${quote(name)}`,
      }));
    case "enum":
      return [
        { path, keyword, message: `must be one of ${shorten(error.params.allowedValues.map(quote).join(", "))}` },
      ];
    case "const":
      return [{ path, keyword, message: `must be ${shorten(quote(error.params.allowedValue))}` }];
    case "unevaluatedProperties":
      return error.params.unevaluatedProperties.map((name) => notAllowed(path + token(name), keyword));
    case "unevaluatedItems":
      return error.params.unevaluatedItems.map((index) => notAllowed(path + token(index), keyword));
    case "boolean":
      return [notAllowed(path, pointerKeys(error.schemaPath).findLast((key) => vocabulary.has(key)) ?? "schema")];
    case "not":
      return notIssues(path, error.schemaPath);
    case "~refine":
      return [refinementIssue(path, error.params.message)];
    // What is wrong inside of them has been told already.
    case "additionalProperties":
    case "propertyNames":
      return [];
    default:
      return [{ path, keyword, message: error.message }];
  }
}

function notAllowed(path: string, keyword: string): Issue {
  return { path, keyword, message: path === "" ? "no value is allowed" : `${quote(lastKey(path))} is not allowed` };
}

/** Besides `not` itself, these come from schemas that were made quiet: branches of a combinator, which tells it, and names. */
function notIssues(path: string, schemaPath: string): readonly Issue[] {
  if (/\/(?:anyOf|oneOf)\/0$/.test(schemaPath)) return [];
  if (schemaPath.endsWith("/propertyNames")) return [notAllowed(path, "propertyNames")];
  return [{ path, keyword: "not", message: "must not match the schema in not" }];
}

function refinementIssue(path: string, text: string): Issue {
  const [keyword = ""] = text.split(" ", 1);
  return { path, keyword, message: text.slice(keyword.length + 1) };
}

function lastKey(pointer: string): string {
  return pointerKeys(pointer).at(-1) ?? "";
}

function quote(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

function shorten(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
