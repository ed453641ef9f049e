import { isObject, type Json } from "../json/json.ts";
import { referenceKeys } from "../schema/json-pointer.ts";
import { entries } from "../schema/vocabulary.ts";
import { createDocument, referencesOf, type SchemaDocument, type TypeReader, tooLarge, top } from "./read-schema.ts";
import { toType } from "./to-type.ts";
import { docOf } from "./type-text.ts";
import { beyond, type Doc, type Type, unknown } from "./type-tree.ts";

/** Bounds on the types of one schema. What is beyond them is `unknown`, with a comment that says so. */
export interface TypeLimits {
  readonly maxDepth: number;
  /** Subschemas, members and listed values in all. */
  readonly maxSubschemas: number;
}

/** A type with a name of its own. */
interface Declaration {
  readonly name: string;
  readonly type: Type;
  readonly doc?: Doc | undefined;
}

/** The types that references lead to, in one module. */
export interface Definitions {
  /** The type of a schema. Whatever it refers to is declared, under names that begin with `prefix`. */
  read(schema: Json | undefined, owner: Owner): Type;
  /** What the name of a declared type stands for. */
  typeOf(name: string): Type | undefined;
  /** In the order they were met. */
  declarations(prefix: string): readonly Declaration[];
}

/** Whose schema is read. */
interface Owner {
  readonly prefix: string;
  /** The name of the schema itself, should it refer to itself. */
  readonly name: string;
}

export function createDefinitions(names: Names, limits: TypeLimits): Definitions {
  /** By owner and content: tools of a server often bring the same definitions along. */
  const known = new Map<string, string>();
  const declared = new Map<string, Declaration & { readonly prefix: string }>();

  let documents = 0;

  const read = (root: Json | undefined, owner: Owner): Type => {
    if (root === undefined) return unknown;
    const excess = excessOf(root, limits);
    if (excess !== undefined) return excess;
    documents++;
    const document = createDocument(root);
    const identityOf = createIdentities(document);
    /** What is referred to and not declared yet, by name. */
    const open = new Map<string, Json>();
    const named = new Map<string, Type>();

    const nameFor = (reference: string, target: Json): Type => {
      const key = `${owner.prefix} ${identityOf(reference) ?? `${documents} ${reference}`}`;
      const name = known.get(key) ?? names.claim(wantedName(reference, owner));
      if (!known.has(key)) open.set(name, target);
      known.set(key, name);
      return { kind: "name", name };
    };
    const refer = (reference: string): Type => {
      const target = document.resolve(reference);
      if (target === undefined) return beyond(`${reference.slice(0, 200)} is not in this schema`);
      if (document.isEndless(reference)) return beyond(`${reference.slice(0, 200)} leads to itself, or too far`);
      const type = named.get(reference) ?? nameFor(reference, target);
      named.set(reference, type);
      return type;
    };

    const reader = createTypeReader(document, limits, refer);
    const type = reader.read(root, top);
    for (const [name, target] of open) {
      const body = reader.spend(1) ? reader.read(target, top) : tooLarge;
      declared.set(name, { name, type: body, doc: docOf(target), prefix: owner.prefix });
    }
    return named.get("#") ?? type;
  };

  return {
    read,
    typeOf: (name) => declared.get(name)?.type,
    declarations: (prefix) => [...declared.values()].filter((declaration) => declaration.prefix === prefix),
  };
}

function createTypeReader(
  document: SchemaDocument,
  limits: TypeLimits,
  refer: (reference: string) => Type,
): TypeReader {
  let left = limits.maxSubschemas;
  const reader: TypeReader = {
    maxDepth: limits.maxDepth,
    read: (schema, nesting) => toType(schema, reader, nesting),
    refer,
    combinations: document.combinations,
    property: document.property,
    spend(count) {
      if (count > left) return false;
      left -= count;
      return true;
    },
  };
  return reader;
}

/** `Server` and the last words of the reference. A number alone says too little, so what is before it comes along. */
function wantedName(reference: string, { prefix, name }: Owner): string {
  const keys = referenceKeys(reference);
  if (reference === "#") return name;
  if (keys.length === 0) return prefix + pascalCase(reference, "Type");
  const isNumber = /^\d+$/.test(keys.at(-1) ?? "");
  const words = keys.slice(isNumber ? -2 : -1).filter((key) => !key.startsWith("$"));
  return prefix + pascalCase(words.join("-"), "Type");
}

/** What stands for a schema that is too much even to look at. Its JSON is about three times as deep as itself. */
function excessOf(root: Json, { maxDepth }: TypeLimits): Type | undefined {
  let left = maxValues;
  const visit = (value: Json, levels: number): Type | undefined => {
    if (levels < 0) return beyond(`nested deeper than ${maxDepth} levels`);
    if (--left < 0) return tooLarge;
    for (const [, member] of entries(value)) {
      const excess = visit(member, levels - 1);
      if (excess !== undefined) return excess;
    }
    return undefined;
  };
  return visit(root, 3 * maxDepth);
}

const maxValues = 1_000_000;

/** What one definition may be made of, to be compared with others. A value counts as one, a long text as more. */
const maxCost = 2_000;

/** What all definitions of a schema may be made of. */
const maxTotalCost = 50_000;

/**
 * Tells definitions of one schema from those of others: the same text for the
 * same definition, which is what it says and all that it refers to. None where
 * that is too much to compare.
 */
function createIdentities(document: SchemaDocument): (reference: string) => string | undefined {
  let total = maxTotalCost;

  return (reference) => {
    const reached = new Map<string, Json | undefined>([[reference, document.resolve(reference)]]);
    const tally: Tally = {
      left: Math.min(maxCost, total),
      refer: (next) => reached.set(next, document.resolve(next)),
    };
    total -= tally.left;
    for (const [, schema] of reached) if (schema !== undefined) visit(schema, tally);
    total += Math.max(0, tally.left);
    return tally.left < 0 ? undefined : JSON.stringify([...reached]);
  };
}

interface Tally {
  left: number;
  refer(reference: string): void;
}

function visit(value: Json, tally: Tally): void {
  tally.left -= 1 + (typeof value === "string" ? value.length / 16 : 0);
  if (isObject(value)) for (const reference of referencesOf(value)) tally.refer(reference);
  for (const [name, member] of entries(value)) {
    tally.left -= name.length / 16;
    if (tally.left < 0) return;
    visit(member, tally);
  }
}

/** Names for types that nobody else has in the same module. */
export interface Names {
  /** The wanted name, or that with a number behind it when it is taken. */
  claim(wanted: string): string;
}

export function createNames(taken: readonly string[]): Names {
  const owned = new Set(taken);
  /** The last number behind a name, so that many of the same take no longer than few. */
  const numbers = new Map<string, number>();

  return {
    claim(wanted) {
      const stem = /\d$/.test(wanted) ? `${wanted}_` : wanted;
      let name = wanted;
      let number = numbers.get(wanted) ?? 1;
      while (owned.has(name)) name = `${stem}${++number}`;
      numbers.set(wanted, number);
      owned.add(name);
      return name;
    },
  };
}

/** `my-server` as `MyServer`: an identifier of plain letters and digits, or `fallback` when there are none to use. */
export function pascalCase(text: string, fallback: string): string {
  const plain = text.slice(0, maxLength).normalize("NFKD").replaceAll(/\p{M}/gu, "");
  const words = plain.match(/[A-Za-z0-9]+/g) ?? [];
  const name = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(name) ? name : `${fallback}${name}`;
}

const maxLength = 64;
