/**
 * Everything that is accepted as a schema: a Standard Schema, or a plain JSON
 * Schema 2020-12 with any keywords. What it is, and whether it is a good one, is
 * found out when it is read; a narrower type would cost the compiler more than
 * all the rest of a tool.
 */
export type AnySchema = object;

/**
 * What a caller passes: the input of a Standard Schema, or what a JSON Schema
 * literal describes. What cannot be told from a JSON Schema is `unknown`.
 */
export type InferIn<S> =
  S extends Zod<{ readonly input: infer T }> ? T : S extends Standard<{ readonly input: infer T }> ? T : Described<S>;

/** What a handler sees: the output of a Standard Schema, or what a JSON Schema literal describes. */
export type InferOut<S> =
  S extends Zod<{ readonly output: infer T }> ? T : S extends Standard<{ readonly output: infer T }> ? T : Described<S>;

/**
 * What a parameter adds to `S` so that only a schema of an object fits: `unknown`
 * for one, else a sentence that the compiler prints. A schema whose type says
 * too little to tell is let through, and checked when it is read.
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

/** Where zod keeps the same types: half the work for the compiler. */
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

/** The common case comes first, which keeps the compiler fast. */
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

/** The first items, where they have schemas of their own. They may be missing, so a tuple would say too much. */
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
