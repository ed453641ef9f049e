import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Question } from "../../protocol/input.ts";
import { isFinal } from "../../protocol/task.ts";
import { change, detailed, openQuestions, type TaskEvent, type TaskRecord, untouched } from "./task-record.ts";

const record: TaskRecord = {
  audience: "shop",
  account: "local",
  id: "a",
  params: { name: "it" },
  meta: {},
  peer: { revision: "2026-07-28", capabilities: {} },
  created: 0,
  updated: 0,
  ttlMs: 1_000,
  state: untouched,
};

const question = (message: string): Question => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: {} } },
});

const questionsOf = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, question(key)]));
const answersOf = (keys: readonly string[]) =>
  Object.fromEntries(keys.map((key) => [key, { answer: { action: "accept" }, asked: key }]));

const told = (events: readonly TaskEvent[]): TaskRecord =>
  events.reduce((now, event, index) => change(now, event, index + 1), record);

describe("change", () => {
  it.each<[string, readonly TaskEvent[], object]>([
    ["nothing", [], { status: "working" }],
    ["a question", [{ type: "ask", questions: questionsOf(["q"]) }], { status: "input_required" }],
    [
      "its answer",
      [
        { type: "ask", questions: questionsOf(["q"]) },
        { type: "answer", answers: answersOf(["q"]) },
      ],
      { status: "working" },
    ],
    [
      "one answer of two",
      [
        { type: "ask", questions: questionsOf(["q", "r"]) },
        { type: "answer", answers: answersOf(["q"]) },
      ],
      { status: "input_required", questions: questionsOf(["r"]) },
    ],
    [
      "a malformed answer: under a new key, as no key is used twice",
      [
        { type: "ask", questions: questionsOf(["q"]) },
        { type: "answer", answers: answersOf(["q"]) },
        { type: "take", good: [], bad: questionsOf(["q"]) },
      ],
      { status: "input_required", questions: { "q~2": question("q") } },
    ],
    [
      "a report",
      [{ type: "report", progress: { progress: 1, message: "half" } }],
      { status: "working", statusMessage: "half" },
    ],
    [
      "its result",
      [
        { type: "report", progress: { progress: 1, message: "half" } },
        { type: "finish", result: { content: [] } },
      ],
      { status: "completed", result: { content: [] } },
    ],
    [
      "its failure",
      [{ type: "fail", failure: { code: "internal", message: "no" } }],
      { status: "failed", statusMessage: "no", failure: { code: "internal", message: "no" } },
    ],
    ["its end", [{ type: "cancel" }], { status: "cancelled" }],
  ])("shows %s", (_, events, shown) => {
    expect(detailed(told(events), 1_000)).toMatchObject(shown);
  });

  it("is the same record when nothing changed", () => {
    const asked = told([{ type: "ask", questions: questionsOf(["q"]) }]);
    const idle: readonly TaskEvent[] = [
      { type: "ask", questions: questionsOf(["q"]) },
      { type: "answer", answers: answersOf(["r"]) },
      { type: "answer", answers: {} },
    ];
    for (const event of idle) expect(change(asked, event, 9)).toBe(asked);
  });

  const keys = fc.uniqueArray(fc.constantFrom("a", "b", "c"));
  const events: fc.Arbitrary<TaskEvent> = fc.oneof(
    { weight: 4, arbitrary: keys.map((some) => ({ type: "ask", questions: questionsOf(some) }) as const) },
    { weight: 4, arbitrary: keys.map((some) => ({ type: "answer", answers: answersOf(some) }) as const) },
    fc.tuple(keys, keys).map(([good, bad]) => ({ type: "take", good, bad: questionsOf(bad) }) as const),
    fc
      .tuple(fc.integer(), fc.option(fc.string(), { nil: undefined }))
      .map(
        ([progress, message]) =>
          ({ type: "report", progress: { progress, ...(message !== undefined && { message }) } }) as const,
      ),
    fc.constantFrom<TaskEvent>(
      { type: "finish", result: { content: [] } },
      { type: "fail", failure: { code: "internal", message: "" } },
      { type: "cancel" },
    ),
  );

  it("C145: never leaves an end, and never has a question that is answered", () => {
    fc.assert(
      fc.property(fc.array(events), (all) => {
        let now = record;
        for (const [index, event] of all.entries()) {
          const next = change(now, event, index + 1);
          if (isFinal(detailed(now, 1))) expect(next).toBe(now);
          expect(next.updated).toBeGreaterThanOrEqual(now.updated);
          if (now.progress !== undefined) expect(next.progress?.progress).toBeGreaterThanOrEqual(now.progress.progress);
          const { state } = next;
          if (state.stage === "open" && event.type !== "take") {
            const pending = Object.keys(state.answers);
            expect([...openQuestions(next).values()].filter(({ key }) => pending.includes(key))).toEqual([]);
          }
          const { status } = detailed(next, 1);
          expect(status === "input_required").toBe(openQuestions(next).size > 0);
          now = next;
        }
      }),
    );
  });
});
