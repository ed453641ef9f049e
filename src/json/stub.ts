import { isObject, type Json, type JsonObject } from "./json.ts";

/** A symbol, so that no JSON text can forge a stub; object spread copies it along. */
const stubReasonKey: unique symbol = Symbol("reason");

/** Replaces an object that exceeds a limit: keeps its scalar members, and records why the others are missing. */
export function toStub(value: Json, reason: string): JsonObject {
  const entries = isObject(value) ? Object.entries(value) : [];
  const plain = entries.filter(([, member]) => typeof member !== "object" || member === null);
  return Object.assign(Object.fromEntries(plain), { [stubReasonKey]: reason });
}

/** The reason given to {@link toStub}. Undefined for a value that is not a stub. */
export function stubReason(value: Json | undefined): string | undefined {
  return isObject(value) ? (value as { readonly [stubReasonKey]?: string })[stubReasonKey] : undefined;
}
