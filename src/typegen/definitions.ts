import type { Json } from "../json/json.ts";
import { entries } from "../schema/entries.ts";
import { createDocument, keysOf, type SchemaDocument } from "./document.ts";
import { createIdentities } from "./identity.ts";
import { type Names, pascalCase } from "./names.ts";
import { type Reading, tooLarge, top } from "./reading.ts";
import { docOf } from "./schema-doc.ts";
import { toType } from "./to-type.ts";
import { beyond, type Doc, type Type, unknown } from "./type-tree.ts";

/** Bounds on the types of one schema. What is beyond them is `unknown`, with a comment that says so. */
export interface TypeLimits {
  readonly maxDepth: number;
  /** Subschemas, members and listed values in all. */
  readonly maxSubschemas: number;
}

/** A type with a name of its own. */
export interface Declaration {
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
export interface Owner {
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

    const reading = createReading(document, limits, refer);
    const type = reading.read(root, top);
    for (const [name, target] of open) {
      const body = reading.spend(1) ? reading.read(target, top) : tooLarge;
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

function createReading(document: SchemaDocument, limits: TypeLimits, refer: (reference: string) => Type): Reading {
  let left = limits.maxSubschemas;
  const reading: Reading = {
    maxDepth: limits.maxDepth,
    read: (schema, place) => toType(schema, reading, place),
    refer,
    combinations: document.combinations,
    property: document.property,
    spend(count) {
      if (count > left) return false;
      left -= count;
      return true;
    },
  };
  return reading;
}

/** `Server` and the last words of the reference. A number alone says too little, so what is before it comes along. */
function wantedName(reference: string, { prefix, name }: Owner): string {
  const keys = keysOf(reference);
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
