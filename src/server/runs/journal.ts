import { canonicalText } from "../../json/canonical.ts";
import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Outcome } from "../../protocol/service.ts";
import type { Awaitable } from "../../std/awaitable.ts";
import type { Lease, Store } from "../../store/store.ts";
import type { ReplayState, Told } from "./input-state.ts";

/** What belongs to a run has this name: its journal, its lease, and the record of a task. */
export function runName(id: string): string {
  return `run:${id}`;
}

/** A journal in a store, which only the holder of a lease can write. */
export interface JournalPlace {
  readonly store: Store;
  /** Of the stream, and of the lease that guards it. */
  readonly name: string;
  readonly lease: Pick<Lease, "token">;
  /** The journal is forgotten when nothing was added for this long. For ever when left out. */
  readonly ttlMs?: number | undefined;
}

/** Adds all entries and resolves to how many there are; undefined, and adds none, when another process has taken over. */
export function appendEntries(
  { store, name, lease, ttlMs }: JournalPlace,
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
export function answersEntry(answers: Readonly<Record<string, Told>>): JsonObject {
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

/** All entries of a journal that are kept, or those behind a position. */
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
function recollect(entries: readonly JsonObject[]): ReplayState {
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

/** How a round ended. */
export interface Rest {
  readonly outcome: Outcome;
  /** When the state in it is good no more, in ms of the time of day. */
  readonly expires: number;
  /** The position of the journal up to which the state in it says everything. */
  readonly since: number;
}

/** What is known of a run from its journal. */
export interface RunHistory extends ReplayState {
  /** How the last round ended. Absent while one is under way, or was when its process ended. */
  readonly rest: Rest | undefined;
  /** States that say less than this position of the journal are used up: what they lack is not kept any more. */
  readonly since: number;
}

/** Ends a round: the journal says how. */
export function endEntry(rest: Rest): JsonObject {
  return { end: asJson(rest) };
}

/** Says that entries up to this position were dropped, because a state that a client has says all that was in them. */
export function sinceEntry(since: number): JsonObject {
  return { since };
}

/** Makes answers of a round count as never given, because one is malformed. What was done stays done. */
export const undoEntry: JsonObject = { undo: true };

export function readHistory(entries: readonly JsonObject[]): RunHistory {
  const settled: JsonObject[] = [];
  let open: JsonObject[] = [];
  let rest: Rest | undefined;
  let since = 0;
  for (const entry of entries) {
    if (typeof entry.since === "number") {
      since = entry.since;
    } else if (entry.end !== undefined) {
      settled.push(...open);
      open = [];
      rest = entry.end as unknown as Rest;
    } else if (entry.undo !== undefined) {
      open = open.filter(({ answers }) => answers === undefined);
    } else {
      open.push(entry);
    }
  }
  return { ...recollect([...settled, ...open]), rest: open.length === 0 ? rest : undefined, since };
}

/**
 * What answers are to a run: `new` ones are to be taken, `known` ones were given before, and so the run is as far as it
 * can be with them or has yet to get there. `other` ones come too late: their questions were answered otherwise, or are
 * of no interest any more.
 */
export function compareAnswers(history: RunHistory, fresh: ReadonlyMap<string, Told>): "new" | "known" | "other" {
  const { answers, rest } = history;
  let comparison: "new" | "known" = "known";
  for (const [key, told] of fresh) {
    const known = Object.hasOwn(answers, key) ? answers[key] : undefined;
    if (known?.asked !== told.asked) comparison = "new";
    else if (canonicalText(known.answer) !== canonicalText(told.answer)) return "other";
  }
  const isOver = rest !== undefined && rest.outcome.kind !== "input-required";
  return comparison === "new" && isOver ? "other" : comparison;
}
