import { expect } from "vitest";
import { type Awaitable, promised } from "../../src/std/awaitable.ts";
import type { TopicMessage, TopicSubscription } from "../../src/store/store.ts";

/** Longer than any test takes. */
export const LONG = 600_000;
/** A time to live that a test waits for. */
export const SHORT = 60;

export { eventually } from "../support/patience.ts";

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

/** Expects a rejection with a `StoreError` of this code. */
export async function rejects(work: () => Awaitable<unknown>, code: string): Promise<void> {
  await expect(promised(work)).rejects.toMatchObject({ name: "StoreError", code });
}

/** What must be there. */
export function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("there is nothing");
  return value;
}
