import type { JsonObject } from "../json/json.ts";

/** One violation of a schema by a value. */
export interface Issue {
  /** JSON Pointer to the invalid part; `""` is the whole value. A missing property is an issue of its object. */
  readonly path: string;
  /** The JSON Schema keyword that failed, or the `code` or `type` of the issue of a Standard Schema. */
  readonly keyword: string;
  readonly message: string;
}

/** The result of a check. A failed check has between one and {@link maxIssues} issues. */
export type Checked<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly Issue[] };

export const maxIssues = 10;

/** A schema that is ready for use: the JSON Schema to publish, and the check. Holds no state between checks. */
export interface Validator<T = unknown> {
  /** The JSON Schema to publish. A plain JSON Schema is published unchanged, unknown keywords included. */
  readonly json: JsonObject;
  /**
   * Checks one value. Never throws, never rejects, never changes the value.
   *
   * The result is a promise only for an asynchronous Standard Schema, and for a
   * plain JSON Schema until the compiler is loaded.
   */
  check(value: unknown): Checked<T> | Promise<Checked<T>>;
  /**
   * Resolves references and proves that patterns are safe to match, with code that
   * is loaded on demand. Resolves to the problem of the schema, or to undefined.
   * Never rejects. Absent when the schema has neither references nor patterns that
   * need a proof. `check` does not rely on it: it rejects every value of a schema
   * that has a problem.
   */
  prove?(): Promise<string | undefined>;
}

/** A validator, or the problem of the schema with its location. */
export type ReadSchema =
  | { readonly ok: true; readonly value: Validator }
  | { readonly ok: false; readonly problem: string };

/** A failed check with one issue about the whole value. */
export function refused(keyword: string, message: string): Checked<never> {
  return { ok: false, issues: [{ path: "", keyword, message }] };
}
