import { isObject, type Json, type JsonObject } from "./json.ts";

/** A symbol, for the wire cannot bring one, and copies of the stub keep it. */
const reason: unique symbol = Symbol("reason");

/** Stands for an object that breaks a limit: its members that are no containers, and why the others are missing. */
export function stubOf(value: Json, why: string): JsonObject {
  const entries = isObject(value) ? Object.entries(value) : [];
  const plain = entries.filter(([, member]) => typeof member !== "object" || member === null);
  return Object.assign(Object.fromEntries(plain), { [reason]: why });
}

/** Why a value is only a stub. Undefined for every other value. */
export function stubReason(value: Json | undefined): string | undefined {
  return isObject(value) ? (value as { readonly [reason]?: string })[reason] : undefined;
}
