import { shortHash } from "../std/short-hash.ts";
import type { FoundOperation } from "./operation.ts";

/** What every provider of models takes as the name of a tool. */
const MAX_LENGTH = 64;
/** Of a longer operation id or path, no more is read. */
const MAX_READ = 256;

/**
 * A name for each operation, each only once: the operation id where it can be one, else what is left of it, else method
 * and path. Where several would have the same name, those whose id it is not exactly end in a hash of method and path, so
 * that names do not depend on the order of a document.
 */
export function nameOperations<T extends FoundOperation>(operations: readonly T[]): ReadonlyMap<string, T> {
  const byName = new Map<string, T[]>();
  for (const operation of operations) {
    const name = plainName(operation);
    const sharing = byName.get(name);
    if (sharing === undefined) byName.set(name, [operation]);
    else sharing.push(operation);
  }
  const named = new Map<string, T>();
  for (const [name, sharing] of byName) {
    const [first, ...others] = sharing.toSorted((a, b) => rank(a, name) - rank(b, name) || compare(keyOf(a), keyOf(b)));
    if (first !== undefined) named.set(name, first);
    for (const other of others) named.set(withHash(name, other), other);
  }
  return named;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function rank({ operationId }: FoundOperation, name: string): number {
  return operationId === name ? 0 : 1;
}

function keyOf({ method, path }: FoundOperation): string {
  return `${method} ${path}`;
}

function plainName(operation: FoundOperation): string {
  const { operationId, method, path } = operation;
  const given = cleaned(operationId ?? "");
  const name = given === "" ? cleaned(`${method.toLowerCase()} ${path}`) : given;
  return name.length > MAX_LENGTH ? withHash(name, operation) : name;
}

function cleaned(text: string): string {
  return text
    .slice(0, MAX_READ)
    .replaceAll(/[^A-Za-z0-9_-]+/g, "_")
    .replaceAll(/^_+|_+$/g, "");
}

function withHash(name: string, operation: FoundOperation): string {
  const tail = `_${shortHash(keyOf(operation)).slice(0, 8)}`;
  return name.slice(0, MAX_LENGTH - tail.length) + tail;
}
