import assert from "node:assert/strict";
import { type Awaitable, promised } from "../../std/awaitable.ts";
import type { TopicMessage, TopicSubscription } from "../../store/store.ts";

/** Longer than any case takes. */
export const LONG = 600_000;
/** A time to live that a case waits for. */
export const SHORT = 60;

/** Throws unless both are the same. How an object was made does not matter: rows of a database may have no prototype. */
export function equal(actual: unknown, expected: unknown): void {
  assert.deepEqual(structuredClone(actual), expected);
}

/** Throws unless it holds. */
export function isTrue(condition: boolean): void {
  assert.equal(condition, true);
}

const PATIENCE_MS = 30_000;
const PAUSE_MS = 10;

/** Resolves to what `check` gives when it throws no more. How soon does not matter: the machine may be busy. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  for (const start = performance.now(); ; ) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() - start > PATIENCE_MS) throw error;
    }
    await new Promise((resolve) => {
      setTimeout(resolve, PAUSE_MS);
    });
  }
}

/** Any text can be a name. */
export const strangeNames: readonly string[] = [
  "",
  " ",
  "a:b",
  "{a}",
  "{a}b",
  "a{b",
  "}{",
  "a\nb",
  "a\r\nb",
  "a\0b",
  "a\0c",
  "\0",
  "*",
  "a*",
  "?[a-z]",
  "%_",
  "a'b\"c;--",
  "..",
  "../a",
  "a/b",
  "a\\b",
  "é",
  "e\u0301",
  "😀",
  "\uffff",
  "__proto__",
  "constructor",
  "toString",
  "x".repeat(512),
  "😀".repeat(256),
];

/** The next `count` messages: their texts, and `null` for a gap. */
export async function next(subscription: TopicSubscription, count: number): Promise<readonly (string | null)[]> {
  const read: (string | null)[] = [];
  if (count === 0) return read;
  for await (const message of subscription) {
    read.push(textOf(message));
    if (read.length === count) break;
  }
  return read;
}

function textOf(message: TopicMessage): string | null {
  return message.kind === "gap" ? null : message.text;
}

/** Reads to the end, and resolves to what it read. */
export async function readAll(subscription: TopicSubscription): Promise<readonly (string | null)[]> {
  const read: (string | null)[] = [];
  for await (const message of subscription) read.push(textOf(message));
  return read;
}

/** What must be there. */
export function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("there is nothing");
  return value;
}

/** Throws unless the work throws or rejects with a `StoreError` of this code. */
export async function rejects(work: () => Awaitable<unknown>, code: string): Promise<void> {
  const error: unknown = await promised(work).then(
    () => "no error",
    (reason: unknown) => reason,
  );
  const { name, code: actual } = error instanceof Error ? (error as Error & { code?: unknown }) : {};
  assert.deepEqual({ name, code: actual }, { name: "StoreError", code }, `expected a StoreError, got ${String(error)}`);
}
