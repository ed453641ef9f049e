/**
 * A schema: a Standard Schema, or a plain JSON Schema 2020-12 with any keywords. It
 * is checked when it is read at run time; a narrower type would slow down the
 * compiler more than all other types of a tool.
 */
export type AnySchema = object;

/**
 * Type of the values before validation: the input of a Standard Schema, or the type
 * that a JSON Schema literal describes. `unknown` where a JSON Schema has no such type.
 */
export type InferIn<S> =
  S extends Zod<{ readonly input: infer T }> ? T : S extends Standard<{ readonly input: infer T }> ? T : Described<S>;

/** Type of the values after validation: the output of a Standard Schema, or the type that a JSON Schema literal describes. */
export type InferOut<S> =
  S extends Zod<{ readonly output: infer T }> ? T : S extends Standard<{ readonly output: infer T }> ? T : Described<S>;

/**
 * Restricts a parameter `S & ObjectSchema<S>` to schemas of objects: `unknown` for such
 * a schema, else a sentence that the compiler prints. A schema with too little type
 * information is accepted, and checked when it is read.
 */
export type ObjectSchema<S> =
  S extends Zod<{ readonly input: object }>
    ? unknown
    : S extends Standard<unknown>
      ? InferIn<S> extends object
        ? unknown
        : "the schema must describe an object: wrap it in z.object({ … })"
      : object extends S
        ? unknown
        : S extends { readonly type?: infer T }
          ? "object" extends T
            ? unknown
            : T extends Standard<unknown>
              ? RawShape
              : 'a JSON Schema here needs type: "object"'
          : S extends { readonly [name: string]: Standard<unknown> }
            ? RawShape
            : 'this is not a schema: give a Standard Schema, or a JSON Schema with type: "object"';

type RawShape = "these are the members of a schema, not a schema: wrap them in z.object({ … })";

interface Standard<T> {
  readonly "~standard": { readonly types?: T | undefined };
}

/** The same types in the property of zod, which halves the work of the compiler. */
interface Zod<T> {
  readonly _zod: T;
}

type Described<S> =
  S extends Plain<infer T>
    ? T extends keyof Scalars
      ? Scalars[T]
      : OfType<S, T extends readonly (infer U)[] ? U : T>
    : S extends { readonly const: infer C }
      ? C
      : S extends { readonly enum: readonly (infer E)[] }
        ? E
        : S extends { readonly anyOf: readonly (infer B)[] } | { readonly oneOf: readonly (infer B)[] }
          ? Described<B>
          : S extends false
            ? never
            : unknown;

/** The common case, a `type` without `const` and `enum`. It is tested first to keep the compiler fast. */
interface Plain<T> {
  readonly type: T;
  readonly const?: undefined;
  readonly enum?: undefined;
}

interface Scalars {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  null: null;
}

type OfType<S, T> = T extends keyof Scalars
  ? Scalars[T]
  : T extends "array"
    ? S extends { readonly items: infer I }
      ? (Described<I> | Leading<S>)[]
      : unknown[]
    : T extends "object"
      ? Members<S>
      : unknown;

/** Types of the first items by `prefixItems`. These items may be missing, so the type is not a tuple. */
type Leading<S> = S extends { readonly prefixItems: readonly (infer P)[] } ? Described<P> : never;

type Members<S> = S extends { readonly properties: infer P }
  ? S extends { readonly required: readonly (infer R extends string)[] }
    ? string extends R
      ? { -readonly [K in keyof P]?: Described<P[K]> }
      : Flat<
          { -readonly [K in keyof P & R]: Described<P[K]> } & { -readonly [K in Exclude<keyof P, R>]?: Described<P[K]> }
        >
    : { -readonly [K in keyof P]?: Described<P[K]> }
  : S extends { readonly additionalProperties: infer A }
    ? { [name: string]: Described<A> }
    : { [name: string]: unknown };

type Flat<T> = { [K in keyof T]: T[K] };
