import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Outcome } from "../../protocol/service.ts";
import { memoryStore } from "../../store/memory-store.ts";
import type { Store } from "../../store/store.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { GivenAnswer, ReplayState } from "./input-state.ts";
import {
  answersEntry,
  appendEntries,
  compareAnswers,
  endEntry,
  type JournalLocation,
  readEntries,
  readHistory,
  stepEntry,
  undoEntry,
} from "./journal.ts";

const name = "run:1";

/** A place that only we can write to for a second. */
async function take(store: Store, ttlMs?: number): Promise<JournalLocation> {
  const lease = await store.leases.acquire(name, 1_000);
  if (lease === undefined) throw new Error("it is held");
  return { store, name, lease, ...(ttlMs !== undefined && { ttlMs }) };
}

/** What a journal says of steps and answers. */
async function readJournal(store: Store, name: string): Promise<ReplayState> {
  const { answers, results } = readHistory((await readEntries(store, name)).entries);
  return { answers, results };
}

describe("a journal", () => {
  it("is empty before anything was written", async () => {
    expect(await readJournal(memoryStore(), name)).toEqual({ answers: {}, results: {} });
  });

  it("says what was done and told; of two with the same key, the later counts", async () => {
    const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));
    const key = fc.constantFrom("a", "b", "__proto__", "constructor", "");
    const step = fc.record({ key, result: fc.array(json, { maxLength: 1 }) });
    const answers = fc.dictionary(key, fc.record({ answer: json, asked: fc.string() }), { minKeys: 1 });
    const entry = fc.oneof(step, fc.record({ answers }));
    await fc.assert(
      fc.asyncProperty(fc.array(entry), async (entries) => {
        const place = await take(memoryStore());
        const [results, told] = [new Map<string, unknown>(), new Map<string, unknown>()];
        for (const written of entries) {
          if ("answers" in written) {
            await appendEntries(place, [answersEntry(written.answers)]);
            for (const [question, answer] of Object.entries(written.answers)) told.set(question, answer);
          } else {
            await appendEntries(place, [stepEntry(written.key, written.result)]);
            results.set(written.key, written.result);
          }
        }
        const expected = { answers: Object.fromEntries(told), results: Object.fromEntries(results) };
        expect(await readJournal(place.store, name)).toEqual(expected as ReplayState);
      }),
      { numRuns: 50 },
    );
  });

  it("may be long, and counts its entries", async () => {
    const place = await take(memoryStore());
    const entries = Array.from({ length: 2_500 }, (_, i) => stepEntry(`step ${i}`, [i]));
    expect(await appendEntries(place, entries)).toBe(2_500);
    expect(await appendEntries(place, [])).toBe(2_500);
    expect(await readEntries(place.store, name)).toEqual({ entries, last: entries.length });
  });

  it("takes nothing from a process whose place another one has taken, and says so also when there is nothing", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    const old = await take(store);
    clock.advance(1_000);
    expect(await appendEntries(old, [stepEntry("a", [])])).toBe(1);
    const place = await take(store);
    expect(await appendEntries(old, [stepEntry("b", [])])).toBeUndefined();
    expect(await appendEntries(old, [])).toBeUndefined();
    expect(await appendEntries(place, [stepEntry("c", [])])).toBe(2);
    expect((await readJournal(store, name)).results).toEqual({ a: [], c: [] });
  });

  it("is forgotten when nothing was added for its time", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    await appendEntries(await take(store, 5_000), [stepEntry("a", [])]);
    clock.advance(4_999);
    expect((await readJournal(store, name)).results).toEqual({ a: [] });
    clock.advance(1);
    expect((await readJournal(store, name)).results).toEqual({});
  });
});

const asks: Outcome = { kind: "input-required", questions: {}, state: "1.x" };
const done = { kind: "complete", result: { content: [] } } as unknown as Outcome;
const ended = (outcome: Outcome) => endEntry({ outcome, expires: 9, since: 0 });
const told = (answer: string, asked = "q"): GivenAnswer => ({ answer, asked });
const given = (answers: Readonly<Record<string, GivenAnswer>>) => ({ answers: answers as never });

describe("readHistory", () => {
  it.each([
    ["nothing was written", [], undefined],
    ["a round is under way", [given({ a: told("1") })], undefined],
    ["a round has ended", [given({ a: told("1") }), ended(asks)], asks],
    ["the next round is under way", [ended(asks), given({ a: told("1") })], undefined],
    ["a step came after the end", [ended(asks), stepEntry("s", [])], undefined],
    ["the answers of the next round were malformed", [ended(asks), given({ a: told("1") }), undoEntry], asks],
    ["all is over", [ended(asks), given({ a: told("1") }), ended(done)], done],
  ])("knows how a run stands when %s", (_, entries, outcome) => {
    expect(readHistory(entries).rest?.outcome).toEqual(outcome);
  });

  it("forgets malformed answers, but not what was done", () => {
    const entries = [given({ a: told("1") }), ended(asks), given({ b: told("2") }), stepEntry("s", [1]), undoEntry];
    expect(readHistory(entries)).toEqual({ answers: { a: told("1") }, results: { s: [1] }, rest: undefined, since: 0 });
  });
});

describe("compareAnswers", () => {
  const asked = readHistory([given({ a: told("1") }), ended(asks)]);
  const over = readHistory([given({ a: told("1") }), ended(done)]);

  it.each([
    ["none", asked, {}, "known"],
    ["the same", asked, { a: told("1") }, "known"],
    ["another", asked, { a: told("2") }, "other"],
    ["one more", asked, { a: told("1"), b: told("2") }, "new"],
    ["one more and another", asked, { b: told("2"), a: told("2") }, "other"],
    ["one to another question of the same key", asked, { a: told("2", "p") }, "new"],
    ["one that is called like a member of every object", asked, { constructor: told("1") }, "new"],
    ["none when all is over", over, {}, "known"],
    ["the same when all is over", over, { a: told("1") }, "known"],
    ["a new one when all is over", over, { b: told("1") }, "other"],
  ] as const)("%s", (_, history, answers, comparison) => {
    expect(compareAnswers(history, new Map(Object.entries(answers)))).toBe(comparison);
  });
});
