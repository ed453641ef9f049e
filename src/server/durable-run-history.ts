import { canonicalText } from "../json/canonical.ts";
import { asJson, type JsonObject } from "../json/json.ts";
import type { Outcome } from "../model/service.ts";
import type { Recollection, Told } from "./dialogue.ts";
import { recollect } from "./journal.ts";

/** How a round ended. */
export interface Rest {
  readonly outcome: Outcome;
  /** When the state in it is good no more, in ms of the time of day. */
  readonly expires: number;
}

/** What is known of a run from its journal. */
export interface RunHistory extends Recollection {
  /** How the last round ended. Absent while one is under way, or was when its process ended. */
  readonly rest: Rest | undefined;
}

/** Ends a round: the journal says how. */
export function endEntry(rest: Rest): JsonObject {
  return { end: asJson(rest) };
}

/** Makes answers of a round count as never given, because one is malformed. What was done stays done. */
export const undoEntry: JsonObject = { undo: true };

export function readHistory(entries: readonly JsonObject[]): RunHistory {
  const settled: JsonObject[] = [];
  let open: readonly JsonObject[] = [];
  let rest: Rest | undefined;
  for (const entry of entries) {
    if (entry.end !== undefined) {
      settled.push(...open);
      open = [];
      rest = entry.end as unknown as Rest;
    } else if (entry.undo !== undefined) {
      open = open.filter(({ answers }) => answers === undefined);
    } else {
      open = [...open, entry];
    }
  }
  return { ...recollect([...settled, ...open]), rest: open.length === 0 ? rest : undefined };
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
