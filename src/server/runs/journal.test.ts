import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../../store/memory-store.ts";
import type { Store } from "../../store/store.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { ReplayState } from "./input-state.ts";
import { answersEntry, appendEntries, type JournalPlace, readEntries, readHistory, stepEntry } from "./journal.ts";

const name = "run:1";

/** A place that only we can write to for a second. */
async function take(store: Store, ttlMs?: number): Promise<JournalPlace> {
  const lease = await store.leases.acquire(name, 1_000);
  if (lease === undefined) throw new Error("it is held");
  return { store, name, lease, ...(ttlMs !== undefined && { ttlMs }) };
}

/** What a journal says of steps and answers. */
async function readJournal(store: Store, name: string): Promise<ReplayState> {
  const { answers, results } = readHistory(await readEntries(store, name));
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
    expect(await readEntries(place.store, name)).toEqual(entries);
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
