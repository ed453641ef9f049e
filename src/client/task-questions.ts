import type { Answer, Question } from "../model/input.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { AnswerDesk } from "./answers.ts";
import { answer, askedTooOften } from "./input.ts";

/** The questions of one task. Each is answered once for as long as it stands. */
export interface TaskQuestions {
  /** Answers those that are new. Those that are not listed stand no longer: whoever answers them may stop. */
  list(questions: Readonly<Record<string, Question>>): void;
}

export interface TaskQuestionsOptions {
  readonly desk: Pick<AnswerDesk, "answer">;
  readonly maxRounds: number;
  send(key: string, answer: Answer): Promise<void>;
  /** Takes why the questions cannot be answered. */
  fail(error: unknown): void;
}

const method = "tools/call";

export function createTaskQuestions({ desk, maxRounds, send, fail }: TaskQuestionsOptions): TaskQuestions {
  const standing = new Map<string, LazyAbort>();
  let rounds = 0;

  const take = async (key: string, question: Question): Promise<void> => {
    const abort = new LazyAbort();
    standing.set(key, abort);
    try {
      const given = await answer(question, { method, desk, abort });
      if (!abort.aborted) await send(key, given);
    } catch (error) {
      if (!abort.aborted) fail(error);
    }
  };

  return {
    list(questions) {
      for (const [key, abort] of standing) {
        if (Object.hasOwn(questions, key)) continue;
        standing.delete(key);
        abort.abort("the question stands no longer");
      }
      const fresh = Object.entries(questions).filter(([key]) => !standing.has(key));
      if (fresh.length === 0) return;
      if (++rounds > maxRounds) return fail(askedTooOften(method, maxRounds));
      for (const [key, question] of fresh) void take(key, question);
    },
  };
}
