import { McpError } from "../model/errors.ts";
import type { Answer, Question } from "../model/input.ts";
import type { Outcome } from "../model/service.ts";
import type { Clock } from "../std/clock.ts";
import type { LazyAbort } from "../std/lazy-abort.ts";
import type { AnswerDesk } from "./answers.ts";

export type InputRequired = Extract<Outcome, { kind: "input-required" }>;

/** What the next call of the same request carries, besides what the first did. */
export interface Round {
  readonly answers: Readonly<Record<string, Answer>> | undefined;
  /** Exactly what the server gave; undefined if it gave none. */
  readonly state: string | undefined;
}

export interface RoundContext {
  readonly method: string;
  readonly desk: Pick<AnswerDesk, "answer">;
  readonly clock: Clock;
  /** Ends the answering early. */
  readonly abort: LazyAbort;
  /** How often the server has asked, this time included. */
  readonly round: number;
  readonly maxRounds: number;
}

/**
 * Does what an `input-required` outcome asks for: answers all questions at the
 * same time or, when there are none, waits a moment, for then the server is only
 * busy.
 *
 * Throws `limit-reached` when the server asks too often, `missing-capability`
 * when a question is of a kind this client does not answer, and whatever an
 * answering handler throws.
 */
export async function nextRound(asked: InputRequired, context: RoundContext): Promise<Round> {
  const { method, round, maxRounds } = context;
  if (round > maxRounds) throw askedTooOften(method, maxRounds);
  const questions = Object.entries(asked.questions);
  if (questions.length > 0) return { answers: await answerAll(questions, context), state: asked.state };
  if (asked.state === undefined) {
    throw new McpError("invalid-response", `${method} asks for input but neither says which nor gives a state`);
  }
  await pause(backOffMs(round), context);
  return { answers: undefined, state: asked.state };
}

export function askedTooOften(method: string, maxRounds: number): McpError {
  return new McpError("limit-reached", `${method} asked for input more than ${maxRounds} times`);
}

async function answerAll(
  questions: readonly (readonly [key: string, question: Question])[],
  context: RoundContext,
): Promise<Readonly<Record<string, Answer>>> {
  const answers = questions.map(async ([key, question]) => [key, await answer(question, context)] as const);
  return Object.fromEntries(await Promise.all(answers));
}

/** Answers one question. Throws `missing-capability` when it is of a kind this client does not answer. */
export async function answer(
  question: Question,
  { method, desk, abort }: Pick<RoundContext, "method" | "desk" | "abort">,
): Promise<Answer> {
  try {
    return await desk.answer(question, abort.signal);
  } catch (error) {
    if (!(error instanceof McpError) || error.code !== "method-not-found") throw error;
    const message = `${method} asks for ${question.method}, which this client does not answer`;
    throw new McpError("missing-capability", message, { cause: error });
  }
}

/** Doubles from 50 ms to 2 s, and differs between clients that were turned away together. */
function backOffMs(round: number): number {
  return Math.min(50 * 2 ** (round - 1), 2_000) * (0.5 + Math.random() / 2);
}

/** Never resolves once aborted: nobody waits for it then. */
function pause(ms: number, { clock, abort }: RoundContext): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      unlisten();
      resolve();
    });
    const unlisten = abort.onAbort(cancel);
  });
}
