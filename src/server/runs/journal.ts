import { canonicalText } from "../../json/canonical.ts";
import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Outcome } from "../../protocol/service.ts";
import type { Awaitable } from "../../std/awaitable.ts";
import type { Lease, Store } from "../../store/store.ts";
import type { GivenAnswer, ReplayState } from "./input-state.ts";

/** What belongs to a run has this name: its journal, its lease, and the record of a task. */
export function runName(id: string): string {
  return `run:${id}`;
}

/** A journal in a store, which only the holder of a lease can write. */
export interface JournalLocation {
  readonly store: Store;
  /** Of the stream, and of the lease that guards it. */
  readonly name: string;
  readonly lease: Pick<Lease, "token">;
  /** The journal is forgotten when nothing was added for this long. For ever when left out. */
  readonly ttlMs?: number | undefined;
}

/** Adds all entries and resolves to how many there are; undefined, and adds none, when another process has taken over. */
export function appendEntries(
  { store, name, lease, ttlMs }: JournalLocation,
  entries: readonly JsonObject[],
): Awaitable<number | undefined> {
  const texts = entries.map((entry) => JSON.stringify(entry));
  return store.streams.append(name, texts, { fence: lease.token, ...(ttlMs !== undefined && { ttlMs }) });
}

/** Says that a step was done, and what came of it. */
export function stepEntry(key: string, result: readonly Json[]): JsonObject {
  return { step: key, result };
}

/** Says what was answered, by key. */
export function answersEntry(answers: Readonly<Record<string, GivenAnswer>>): JsonObject {
  return { answers: asJson(answers) };
}

/** What says all that is known; nothing when that is nothing. */
export function entriesOf({ answers, results }: ReplayState): readonly JsonObject[] {
  const steps = Object.entries(results).map(([key, result]) => stepEntry(key, result));
  return Object.keys(answers).length === 0 ? steps : [...steps, answersEntry(answers)];
}

/** Entries of a journal, oldest first, and the position of the last. */
export interface JournalPart {
  readonly entries: readonly JsonObject[];
  readonly last: number;
}

/** All retained entries of a journal, or those after a position. */
export async function readEntries(store: Store, name: string, behind = 0): Promise<JournalPart> {
  const entries: JsonObject[] = [];
  for (let after = behind; ; ) {
    const { events, last } = await store.streams.read(name, after);
    for (const { text } of events) entries.push(JSON.parse(text));
    after = events.at(-1)?.position ?? last;
    if (after >= last) return { entries, last };
  }
}

/** Steps and answers among entries of all kinds. Of two with the same key, the later counts. */
function toReplayState(entries: readonly JsonObject[]): ReplayState {
  const answers = new Map<string, GivenAnswer>();
  const results = new Map<string, readonly Json[]>();
  for (const entry of entries) {
    if (typeof entry.step === "string") results.set(entry.step, entry.result as readonly Json[]);
    for (const [key, given] of answersIn(entry)) answers.set(key, given);
  }
  return { answers: Object.fromEntries(answers), results: Object.fromEntries(results) };
}

/** The answers of an entry, by key. */
function answersIn({ answers }: JsonObject): readonly (readonly [string, GivenAnswer])[] {
  return isObject(answers) ? (Object.entries(answers) as unknown as readonly (readonly [string, GivenAnswer])[]) : [];
}

/** The error for a process that has lost its run. */
export function leaseLost(): McpError {
  return new McpError("cancelled", "this process has lost the run: another process continues it");
}

/** How a round ended. */
export interface RoundEnd {
  readonly outcome: Outcome;
  /** When the state in it is good no more, in ms of the time of day. */
  readonly expires: number;
  /** The position of the journal up to which the state in it says everything. */
  readonly since: number;
}

/** What is known of a run from its journal. */
export interface RunHistory extends ReplayState {
  /** The outcome of the last round. Absent while one is running, or was when its process ended. */
  readonly rest: RoundEnd | undefined;
  /** States older than this position of the journal are used up: the entries that they need are not retained. */
  readonly since: number;
}

/** Ends a round: the journal says how. */
export function endEntry(rest: RoundEnd): JsonObject {
  return { end: asJson(rest) };
}

/** Says that entries up to this position were dropped, because a state that a client has says all that was in them. */
export function sinceEntry(since: number): JsonObject {
  return { since };
}

/** Marks the answers of a round as not given, because one is malformed. Results of steps are kept. */
export const undoEntry: JsonObject = { undo: true };

export function readHistory(entries: readonly JsonObject[]): RunHistory {
  const settled: JsonObject[] = [];
  let open: JsonObject[] = [];
  let rest: RoundEnd | undefined;
  let since = 0;
  for (const entry of entries) {
    if (typeof entry.since === "number") {
      since = entry.since;
    } else if (entry.end !== undefined) {
      settled.push(...open);
      open = [];
      rest = entry.end as unknown as RoundEnd;
    } else if (entry.undo !== undefined) {
      open = open.filter(({ answers }) => answers === undefined);
    } else {
      open.push(entry);
    }
  }
  return { ...toReplayState([...settled, ...open]), rest: open.length === 0 ? rest : undefined, since };
}

/**
 * How answers relate to a run: `new` ones are to be taken; `known` ones were given before, so the run has passed them
 * or will. `other` ones come too late: their questions were answered differently, or are obsolete.
 */
export function compareAnswers(
  history: RunHistory,
  fresh: ReadonlyMap<string, GivenAnswer>,
): "new" | "known" | "other" {
  const { answers, rest } = history;
  let comparison: "new" | "known" = "known";
  for (const [key, given] of fresh) {
    const known = Object.hasOwn(answers, key) ? answers[key] : undefined;
    if (known?.asked !== given.asked) comparison = "new";
    else if (canonicalText(known.answer) !== canonicalText(given.answer)) return "other";
  }
  const isOver = rest !== undefined && rest.outcome.kind !== "input-required";
  return comparison === "new" && isOver ? "other" : comparison;
}
