import { describe, expect, it } from "vitest";
import { McpError } from "../protocol/errors.ts";
import type { Question } from "../protocol/input.ts";
import type { Clock } from "../std/clock.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { createManualClock } from "../testing/clock.ts";
import { type InputRequired, nextRound, type RoundContext } from "./outgoing-call.ts";

const roots: Question = { method: "roots/list", params: {} };

function contextOf(changes: Partial<RoundContext> = {}) {
  const clock = createManualClock();
  const handlers = { answer: async () => ({ roots: [] }) };
  return {
    what: "tools/call",
    handlers,
    clock,
    abort: new LazyAbort(),
    round: 1,
    maxRounds: 10,
    ...changes,
    time: clock,
  };
}

function asking(questions: Readonly<Record<string, Question>>, state?: string): InputRequired {
  return { kind: "input-required", questions, ...(state !== undefined && { state }) };
}

describe("nextRound", () => {
  it("answers all questions at the same time, each under its key", async () => {
    const waiting: (() => void)[] = [];
    const handlers = {
      answer: ({ params }: Question) =>
        new Promise<{ said: string }>((resolve) => {
          waiting.push(() => resolve({ said: JSON.stringify(params) }));
        }),
    };
    const questions: Record<string, Question> = {
      a: { method: "roots/list", params: { n: 1 } },
      ["__proto__"]: { method: "roots/list", params: { n: 2 } },
    };
    const round = nextRound(asking(questions, "sealed"), contextOf({ handlers }));
    expect(waiting).toHaveLength(2);
    for (const answer of waiting.reverse()) answer();
    expect(Object.entries((await round).answers ?? {})).toEqual([
      ["a", { said: '{"n":1}' }],
      ["__proto__", { said: '{"n":2}' }],
    ]);
  });

  it.each([["a b=\u00e9\ud83d\ude00"], [""], [undefined]])("gives back the state %j as it came", async (state) => {
    expect(await nextRound(asking({ q: roots }, state), contextOf())).toEqual({
      answers: { q: { roots: [] } },
      state,
    });
  });

  it("waits a moment when there is no question, and longer every time", async () => {
    const delays: number[] = [];
    for (let round = 1; round <= 10; round++) {
      const after: Clock["after"] = (ms, task) => {
        delays.push(ms);
        queueMicrotask(task);
        return () => {};
      };
      const clock = { now: () => 0, after };
      expect(await nextRound(asking({}, "busy"), contextOf({ clock, round }))).toEqual({
        answers: undefined,
        state: "busy",
      });
    }
    for (const [index, ms] of delays.entries()) {
      const most = Math.min(50 * 2 ** index, 2_000);
      expect(ms).toBeGreaterThanOrEqual(most / 2);
      expect(ms).toBeLessThanOrEqual(most);
    }
  });

  it("leaves no timer behind when it is aborted while it waits", () => {
    const context = contextOf();
    void nextRound(asking({}, "busy"), context);
    expect(context.time.pending).toBe(1);
    context.abort.abort("enough");
    expect(context.time.pending).toBe(0);
  });

  it("gives up after the last round", async () => {
    await expect(nextRound(asking({ q: roots }), contextOf({ round: 11 }))).rejects.toMatchObject({
      code: "limit-reached",
      message: "tools/call asked for input more than 10 times (maxRounds); raise maxRounds if it needs more",
    });
  });

  it("refuses a request for input that asks nothing and gives no state", async () => {
    await expect(nextRound(asking({}), contextOf())).rejects.toMatchObject({ code: "invalid-response" });
  });

  it("ends with missing-capability, naming the kind, when nobody answers such questions", async () => {
    const handlers = {
      answer: () => Promise.reject(new McpError("method-not-found", "no")),
    };
    await expect(nextRound(asking({ q: roots }), contextOf({ handlers }))).rejects.toMatchObject({
      code: "missing-capability",
      message: "tools/call asks for roots/list, which this client does not answer; give connect roots",
    });
  });

  it("passes on what a handler throws", async () => {
    const refusal = new McpError("rejected", "the user said no");
    const handlers = { answer: () => Promise.reject(refusal) };
    await expect(nextRound(asking({ q: roots }), contextOf({ handlers }))).rejects.toBe(refusal);
  });
});
