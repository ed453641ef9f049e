import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { lazy } from "../std/lazy.ts";
import { type Checked, type Issue, maxIssues, type ReadSchema, refused, type Validator } from "./validator.ts";
import { token } from "./vocabulary.ts";

/**
 * A schema of any library that implements https://standardschema.dev: zod, valibot,
 * arktype and others. The types repeat version 1.1 of the specification, so that
 * no package has to be installed.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** Standard JSON Schema. A schema without it cannot be published and needs a converter. */
    readonly jsonSchema?: StandardConverter | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Converts a schema to JSON Schema. Both functions may throw for a type that JSON Schema cannot describe. */
export interface StandardConverter {
  readonly input: (options: { readonly target: string }) => Readonly<Record<string, unknown>>;
  readonly output: (options: { readonly target: string }) => Readonly<Record<string, unknown>>;
}

/** Whether a value is an object or function with a `~standard` property that can validate. */
export function isStandardSchema(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== "object" && typeof schema !== "function") || schema === null) return false;
  if (!("~standard" in schema)) return false;
  const standard = schema["~standard"];
  return (
    typeof standard === "object" &&
    standard !== null &&
    "validate" in standard &&
    typeof standard.validate === "function"
  );
}

/** Side of a schema: the type before validation (`input`), or the type after it (`output`). */
export type Direction = "input" | "output";

/**
 * Reads a Standard Schema. It is converted to JSON Schema now, and its own library
 * validates. Unless `trustPatterns` is true, the library gets no value before the
 * patterns of the JSON Schema are proved safe.
 */
export function readStandardSchema(schema: StandardSchema, direction: Direction, trustPatterns = false): ReadSchema {
  const converted = toJsonSchema(schema, direction);
  if (!converted.ok) return converted;
  const json = converted.value;
  const check = (value: unknown): Checked | Promise<Checked> => checkStandard(schema, value);
  const isProved = trustPatterns || !JSON.stringify(json).includes('"pattern');
  return { ok: true, value: isProved ? { json, check } : guarded(json, check) };
}

/** A validator that first proves the patterns of its schema. The code of the proof is loaded on demand. */
function guarded(json: JsonObject, check: Validator["check"]): Validator {
  const guard = lazy(
    () => import("./standard-patterns.ts"),
    ({ guardCheck }) => guardCheck(json, check),
  );
  return {
    json,
    check: (value) => guard.loaded?.check(value) ?? guard.load().then((loaded) => loaded.check(value), failed),
    prove: () => guard.load().then(({ problem }) => problem, String),
  };
}

type Converted = { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly problem: string };

function toJsonSchema(schema: StandardSchema, direction: Direction): Converted {
  const { "~standard": standard } = schema;
  if (standard.jsonSchema === undefined) return { ok: false, problem: howToConvert(schema) };
  try {
    const copied = copyJson(standard.jsonSchema[direction]({ target: "draft-2020-12" }));
    if (copied.ok && isObject(copied.value)) return { ok: true, value: copied.value };
    return { ok: false, problem: `the ${standard.vendor} schema did not convert itself to a JSON Schema object` };
  } catch (error) {
    const reason = error instanceof Error ? `: ${error.message}` : "";
    return { ok: false, problem: `the ${direction} of the ${standard.vendor} schema is not a JSON Schema${reason}` };
  }
}

export const ZOD_3 = "zod 3 cannot convert it to JSON Schema: import zod 4.2 or newer, or give a JSON Schema";

function howToConvert(schema: StandardSchema): string {
  const { vendor } = schema["~standard"];
  if (vendor === "zod") {
    if (!("_zod" in schema)) return ZOD_3;
    return "zod/mini, and zod before 4.2, cannot convert it to JSON Schema: import zod, or give z.toJSONSchema(schema)";
  }
  if (vendor === "valibot") {
    return "a valibot schema needs a converter: wrap it with toStandardJsonSchema from @valibot/to-json-schema";
  }
  return `the ${vendor} schema cannot convert itself: pass one that implements Standard JSON Schema, or a JSON Schema`;
}

/** Validates a value with a Standard Schema. Never throws, never rejects. */
export function checkStandard(schema: StandardSchema, value: unknown): Checked | Promise<Checked> {
  try {
    const result = schema["~standard"].validate(value);
    return "then" in result ? Promise.resolve(result).then(toChecked).catch(failed) : toChecked(result);
  } catch {
    return failed();
  }
}

/** Hides the error that a schema throws, because it may contain data that the peer must not see. */
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

/** The kind of an issue: `code` of zod and arktype, `type` of valibot. Neither is part of Standard Schema. */
function kindOf(issue: StandardIssue & { readonly code?: unknown; readonly type?: unknown }): string {
  const kind = issue.code ?? issue.type;
  return typeof kind === "string" ? kind : "schema";
}

/** A copy of a JSON value, or the first location that is not JSON. */
type CopiedJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string };

const maxDepth = 256;
const maxValues = 200_000;

/**
 * Copies a JSON value that its owner may still change.
 *
 * Members that are `undefined` are omitted. Fails for more than 256 levels, and so
 * for cycles, and for more than 200,000 objects and arrays.
 */
export function copyJson(value: unknown): CopiedJson {
  let values = 0;
  let problem: string | undefined;

  const copy = (source: unknown, at: string, depth: number): Json => {
    if (isScalar(source)) return source;
    if (typeof source !== "object" || depth > maxDepth || ++values > maxValues) {
      problem ??= `#${at} ${typeof source === "object" ? "is nested too deeply or too large" : "is not JSON"}`;
      return null;
    }
    if (problem !== undefined) return null;
    if (Array.isArray(source)) return source.map((item, index) => copy(item, at + token(index), depth + 1));
    const members = Object.entries(source).filter(([, member]) => member !== undefined);
    return Object.fromEntries(members.map(([key, member]) => [key, copy(member, at + token(key), depth + 1)]));
  };

  const copied = copy(value, "", 0);
  return problem === undefined ? { ok: true, value: copied } : { ok: false, problem };
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}
