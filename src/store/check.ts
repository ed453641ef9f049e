import { type AppendOptions, type PutOptions, StoreError, type StoreListOptions } from "./store.ts";

const MAX_NAME = 512;

/** Throws `invalid` unless it can name something in a store. */
export function checkName(name: string): void {
  if (name.length > MAX_NAME) throw invalid(`a name has at most ${MAX_NAME} characters, this one has ${name.length}`);
}

/** Throws `invalid` unless it is a time that something can live. */
export function checkTtl(ttlMs: number | undefined): void {
  if (ttlMs !== undefined && !(ttlMs > 0 && Number.isFinite(ttlMs)))
    throw invalid(`a time to live is above 0, not ${ttlMs}`);
}

/** Throws `invalid` unless it is a whole number of at least `least`. */
export function checkCount(what: string, count: number | undefined, least: number): void {
  if (count === undefined || (Number.isSafeInteger(count) && count >= least)) return;
  throw invalid(`${what} must be a whole number of at least ${least}, not ${count}`);
}

/** Throws `invalid` unless it can be added without a loss. */
export function checkAmount(amount: number): void {
  if (!Number.isSafeInteger(amount)) throw invalid(`an amount must be a whole number, not ${amount}`);
}

/** Throws `invalid` unless something can be put so. */
export function checkPut(name: string, { ttlMs, group }: PutOptions): void {
  checkName(name);
  checkTtl(ttlMs);
  if (group !== undefined) checkName(group);
}

/** Throws `invalid` unless a group can be listed so. */
export function checkList(group: string, { limit }: StoreListOptions): void {
  checkName(group);
  checkCount("a limit", limit, 1);
}

/** Throws `invalid` unless something can be appended so. */
export function checkAppend(name: string, { ttlMs, keep }: AppendOptions): void {
  checkName(name);
  checkTtl(ttlMs);
  checkCount("what is kept", keep, 0);
}

function invalid(message: string): StoreError {
  return new StoreError("invalid", message);
}
