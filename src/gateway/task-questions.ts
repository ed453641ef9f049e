import type { TaskQuestions } from "../connect/create-connect.ts";
import type { JsonObject } from "../json/json.ts";
import { isObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../protocol/input.ts";
import { metaKeys, metaOf } from "../protocol/meta.ts";

/** What a server has asked about tasks of a caller that is told of it by the task, and answers by `tasks/update`. */
export interface PendingTaskQuestions extends TaskQuestions {
  /** Waits for the answer. Rejects when the connection is over. */
  ask(taskId: string, question: Question): Promise<QuestionAnswer>;
  /** Nobody answers any more. */
  end(): void;
}

interface Pending {
  readonly question: Question;
  answer(answer: QuestionAnswer): void;
  refuse(error: McpError): void;
}

export function createTaskQuestions(): PendingTaskQuestions {
  const byTask = new Map<string, Map<string, Pending>>();
  let asked = 0;

  const take = (taskId: string, key: string): Pending | undefined => {
    const questions = byTask.get(taskId);
    const pending = questions?.get(key);
    questions?.delete(key);
    if (questions?.size === 0) byTask.delete(taskId);
    return pending;
  };

  return {
    ask: (taskId, question) =>
      new Promise((answer, refuse) => {
        const questions = byTask.get(taskId) ?? new Map<string, Pending>();
        byTask.set(taskId, questions.set(`question ${++asked}`, { question, answer, refuse }));
      }),
    of(taskId) {
      const questions = byTask.get(taskId);
      return questions && Object.fromEntries([...questions].map(([key, { question }]) => [key, question]));
    },
    answer(taskId, answers) {
      for (const [key, answer] of Object.entries(answers)) take(taskId, key)?.answer(answer);
    },
    end() {
      const over = new McpError("connection-closed", "the connection over which the server has asked is closed");
      for (const questions of byTask.values()) for (const { refuse } of questions.values()) refuse(over);
      byTask.clear();
    },
  };
}

/** The task that a question is about, as a server of 2025-11-25 says it. */
export function taskOf({ params }: Question): string | undefined {
  const related = metaOf(params as JsonObject)[metaKeys.relatedTask];
  return isObject(related) && typeof related.taskId === "string" ? related.taskId : undefined;
}
