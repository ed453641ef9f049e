import type { StandardSchema } from "./standard-schema.ts";

/** Everything that is accepted as a schema: a Standard Schema, or a plain JSON Schema. */
export type AnySchema = StandardSchema | JsonSchemaLiteral;

/**
 * A plain JSON Schema 2020-12, written in place or come from elsewhere, with any
 * keywords. They are checked when the schema is read.
 */
export type JsonSchemaLiteral = Keywords | (Keywords & { readonly [keyword: string]: unknown });

/** Enough to tell a JSON Schema from other objects, also where it is typed by an interface of somebody else. */
interface Keywords {
  readonly "~standard"?: undefined;
  readonly $schema?: unknown;
  readonly $ref?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
  readonly items?: unknown;
  readonly anyOf?: unknown;
  readonly oneOf?: unknown;
  readonly allOf?: unknown;
}

/**
 * What a caller passes: the input of a Standard Schema, or what a JSON Schema
 * literal describes. What cannot be told from a JSON Schema is `unknown`.
 */
export type InferIn<S> = S extends Typed<infer T> ? T["input"] : Described<S>;

/** What a handler sees: the output of a Standard Schema, or what a JSON Schema literal describes. */
export type InferOut<S> = S extends Typed<infer T> ? T["output"] : Described<S>;

interface Typed<T extends { readonly input: unknown; readonly output: unknown }> {
  readonly "~standard": { readonly types?: T | undefined };
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
      ? Described<I>[]
      : unknown[]
    : T extends "object"
      ? Members<S>
      : unknown;

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
