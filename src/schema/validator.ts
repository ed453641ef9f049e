import type { JsonObject } from "../json/json.ts";

/** One thing that is wrong with a value. */
export interface Issue {
  /** JSON Pointer to the part that is wrong; `""` is the whole value. A missing property is an issue of its object. */
  readonly path: string;
  /** The JSON Schema keyword that failed, or what a Standard Schema calls the kind of issue. */
  readonly keyword: string;
  readonly message: string;
}

/** The outcome of a check. A failed one has at least one issue and at most {@link maxIssues}. */
export type Checked<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly Issue[] };

export const maxIssues = 10;

/** A schema that is ready for use: what to publish, and how to check. Holds no state between checks. */
export interface Validator<T = unknown> {
  /** The JSON Schema to publish. A plain JSON Schema is kept as it is, with all keywords, also unknown ones. */
  readonly json: JsonObject;
  /**
   * Checks one value. Never throws, never rejects, never changes the value.
   *
   * The result is a promise only for an asynchronous Standard Schema, and for a
   * plain JSON Schema as long as the compiler is not loaded.
   */
  check(value: unknown): Checked<T> | Promise<Checked<T>>;
  /**
   * Says what is wrong with the schema after all. Only there if something was put
   * off, because it takes code that is loaded for it. Never rejects. `check` does
   * not rely on it: if something is wrong, it refuses every value.
   */
  prove?(): Promise<string | undefined>;
}

/** A validator, or what is wrong with the schema and where. */
export type ReadSchema =
  | { readonly ok: true; readonly value: Validator }
  | { readonly ok: false; readonly problem: string };

/** A failed check with one issue about the whole value. */
export function refused(keyword: string, message: string): Checked<never> {
  return { ok: false, issues: [{ path: "", keyword, message }] };
}
