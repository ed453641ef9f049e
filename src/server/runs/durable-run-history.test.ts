import { describe, expect, it } from "vitest";
import type { Outcome } from "../../model/service.ts";
import type { Told } from "./input-state.ts";
import { compareAnswers, endEntry, readHistory, stepEntry, undoEntry } from "./journal.ts";

const asks: Outcome = { kind: "input-required", questions: {}, state: "1.x" };
const done = { kind: "complete", result: { content: [] } } as unknown as Outcome;
const ended = (outcome: Outcome) => endEntry({ outcome, expires: 9 });
const told = (answer: string, asked = "q"): Told => ({ answer, asked });
const given = (answers: Readonly<Record<string, Told>>) => ({ answers: answers as never });

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
    expect(readHistory(entries)).toEqual({ answers: { a: told("1") }, results: { s: [1] }, rest: undefined });
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
