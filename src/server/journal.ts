import { asJson, isObject, type Json, type JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { Lease, Store } from "../store/store.ts";
import type { Recollection, Told } from "./dialogue.ts";

/** A journal in a store, which only the holder of a lease can write. */
export interface JournalPlace {
  readonly store: Store;
  /** Of the stream, and of the lease that guards it. */
  readonly name: string;
  readonly lease: Pick<Lease, "token">;
  /** The journal is forgotten when nothing was added for this long. For ever when left out. */
  readonly ttl?: number;
}

/** Adds all entries and resolves to how many there are; undefined, and adds none, when another process has taken over. */
export function appendEntries(
  { store, name, lease, ttl }: JournalPlace,
  entries: readonly JsonObject[],
): Promise<number | undefined> {
  const texts = entries.map((entry) => JSON.stringify(entry));
  return store.streams.append(name, texts, { fence: lease.token, ...(ttl !== undefined && { ttl }) });
}

/** Says that a step was done, and what came of it. */
export function stepEntry(key: string, result: readonly Json[]): JsonObject {
  return { step: key, result };
}

/** Says what was answered, by key. */
export function answersEntry(answers: Readonly<Record<string, Told>>): JsonObject {
  return { answers: asJson(answers) };
}

/** What says all that is known; nothing when that is nothing. */
export function entriesOf({ answers, results }: Recollection): readonly JsonObject[] {
  const steps = Object.entries(results).map(([key, result]) => stepEntry(key, result));
  return Object.keys(answers).length === 0 ? steps : [...steps, answersEntry(answers)];
}

/** What a journal says of steps and answers. Of two with the same key, the later counts. */
export async function readJournal(store: Store, name: string): Promise<Recollection> {
  return recollect(await readEntries(store, name));
}

/** All entries of a journal, oldest first. */
export async function readEntries(store: Store, name: string): Promise<readonly JsonObject[]> {
  const entries: JsonObject[] = [];
  for (let after = 0; ; ) {
    const { events, last } = await store.streams.read(name, after);
    for (const { text } of events) entries.push(JSON.parse(text));
    after = events.at(-1)?.position ?? last;
    if (after >= last) return entries;
  }
}

/** Steps and answers among entries of all kinds. */
export function recollect(entries: readonly JsonObject[]): Recollection {
  const answers = new Map<string, Told>();
  const results = new Map<string, readonly Json[]>();
  for (const entry of entries) {
    if (typeof entry.step === "string") results.set(entry.step, entry.result as readonly Json[]);
    for (const [key, told] of answersIn(entry)) answers.set(key, told);
  }
  return { answers: Object.fromEntries(answers), results: Object.fromEntries(results) };
}

/** The answers of an entry, by key. */
function answersIn({ answers }: JsonObject): readonly (readonly [string, Told])[] {
  return isObject(answers) ? (Object.entries(answers) as unknown as readonly (readonly [string, Told])[]) : [];
}

/** What a process is told that must not go on. */
export function takenOver(): McpError {
  return new McpError("cancelled", "another process has taken over");
}
