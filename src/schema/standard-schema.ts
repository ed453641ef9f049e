/**
 * A schema of any library that follows https://standardschema.dev: zod, valibot,
 * arktype and others. Copied from version 1.1 of the specification, so that
 * nothing has to be installed for it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** Standard JSON Schema. Libraries without it need a converter. */
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

/** Both may throw for a type that JSON Schema cannot describe. */
export interface StandardConverter {
  readonly input: (options: { readonly target: string }) => Readonly<Record<string, unknown>>;
  readonly output: (options: { readonly target: string }) => Readonly<Record<string, unknown>>;
}

/** True for anything with a `~standard` property that can validate; some libraries make their schemas functions. */
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
