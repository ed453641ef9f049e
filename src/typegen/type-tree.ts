/** A TypeScript type, before it is written down. */
export type Type =
  | Word
  | { readonly kind: "literal"; readonly text: string; readonly of: Scalar }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "array"; readonly item: Type }
  | TupleType
  | ObjectType
  | { readonly kind: "union" | "intersection"; readonly of: readonly Type[] };

/** A type of the language. */
export interface Word {
  readonly kind: "word";
  readonly text: Scalar | "unknown" | "never" | "object" | "undefined";
  /** Why it says no more. */
  readonly note?: string;
}

export type Scalar = "string" | "number" | "boolean" | "null";

export interface TupleType {
  readonly kind: "tuple";
  readonly items: readonly Type[];
  /** How many of the items must be there. */
  readonly required: number;
  readonly rest?: Type | undefined;
  readonly isReadonly?: boolean;
}

export interface ObjectType {
  readonly kind: "object";
  readonly members: readonly Member[];
  /** What members are that have no name here. Absent: nothing is said of them. */
  readonly index?: Type | undefined;
}

export interface Member {
  readonly name: string;
  readonly type: Type;
  readonly isOptional?: boolean;
  readonly isReadonly?: boolean;
  readonly doc?: Doc | undefined;
}

/** What a comment says. */
export interface Doc {
  readonly text?: string | undefined;
  readonly tags?: readonly Tag[];
}

export interface Tag {
  readonly name: "default" | "deprecated";
  readonly text?: string | undefined;
}

export const unknown: Type = word("unknown");
export const never: Type = word("never");
export const anyObject: ObjectType = { kind: "object", members: [], index: unknown };

export function word(text: Word["text"]): Type {
  return { kind: "word", text };
}

/** Where a bound ends the reading of a schema. */
export function beyond(note: string): Type {
  return { kind: "word", text: "unknown", note };
}

export function isUnknown(type: Type): boolean {
  return type.kind === "word" && type.text === "unknown";
}

/** True for an object of which nothing is said but that it is one. */
export function isAnyObject(type: Type): boolean {
  return type.kind === "object" && type.members.length === 0 && (type.index === undefined || isUnknown(type.index));
}
