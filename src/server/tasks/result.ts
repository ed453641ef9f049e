import { asJson } from "../../json/json.ts";
import { McpError, toFailure } from "../../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../../protocol/input.ts";
import { metaKeys, withMeta } from "../../protocol/meta.ts";
import { type Ask, abortReason, type Call, type Outcome, onAbort } from "../../protocol/service.ts";
import { isAbort } from "../error-reporter.ts";
import { createBell, type TaskContext } from "./task-events.ts";
import { answerTask, findTask, type LocalTasks } from "./task-methods.ts";
import { openQuestions, type TaskRecord } from "./task-record.ts";

type ResultOutcome = Outcome<"tasks/result">;

/** Waits for the end of a task; meanwhile puts its questions to the client, where that can be asked. */
export function createTaskResult(
  context: TaskContext,
  local: LocalTasks,
): (call: Call<"tasks/result">) => Promise<ResultOutcome> {
  const { records, events } = context;
  /** Questions that some call is putting to its client: one is enough. */
  const asking = new Set<string>();

  const askOne = async (id: string, name: string, question: Question, ask: Ask): Promise<void> => {
    const claim = `${id} ${name}`;
    asking.add(claim);
    let answer: QuestionAnswer;
    try {
      answer = await ask(related(question, id));
    } catch (error) {
      asking.delete(claim);
      // Another call of the same client may put it.
      if (isAbort(error)) return events.publish(id, "changed");
      const failure =
        error instanceof McpError ? toFailure(error) : context.env.errors.failureOf(error, "tasks/result");
      const { kind } = await records.change(id, { type: "fail", failure });
      if (kind !== "changed") return;
      local.ended(id);
      return events.publish(id, "cancelled");
    }
    await answerTask(context, local, id, { [name]: answer });
    asking.delete(claim);
  };

  /** Puts what is open and was not put by this call, and is not being put by another. */
  const askOpen = (call: Call<"tasks/result">, record: TaskRecord, asked: Set<string>): void => {
    const { ask } = call;
    if (ask === undefined) return;
    for (const [name, { question }] of openQuestions(record)) {
      if (asked.has(name) || asking.has(`${record.id} ${name}`)) continue;
      asked.add(name);
      void askOne(record.id, name, question, ask).catch((error) => context.env.errors.failureOf(error, call.method));
    }
  };

  return async (call) => {
    const { taskId } = call.params;
    await findTask(context, call, taskId);
    const bell = createBell();
    const asked = new Set<string>();
    const unwatch = events.watch(taskId, bell.ring);
    const unlisten = onAbort(call, () => {
      unwatch();
      bell.ring();
    });
    try {
      for (;;) {
        if (abortReason(call) !== undefined) return cancelled("the call was cancelled");
        const rung = bell.next();
        const record = await findTask(context, call, taskId);
        const outcome = outcomeOf(record);
        if (outcome !== undefined) return outcome;
        askOpen(call, record, asked);
        await context.adopt?.(taskId, call);
        await (context.adopt === undefined ? rung : within(context, rung, bell.ring));
      }
    } finally {
      unwatch();
      unlisten();
    }
  };
}

/** Waits no longer than until it is time to look again. */
async function within({ env, limits }: TaskContext, rung: Promise<void>, ring: () => void): Promise<void> {
  const disarm = env.clock.after(limits.pollIntervalMs, ring);
  await rung;
  disarm();
}

function outcomeOf({ id, state }: TaskRecord): ResultOutcome | undefined {
  switch (state.stage) {
    case "open":
      return undefined;
    case "completed": {
      const result = withMeta(asJson(state.result), metaKeys.relatedTask, { taskId: id });
      return { kind: "complete", result: { ...state.result, ...result } };
    }
    case "failed":
      return { kind: "failed", failure: state.failure };
    case "cancelled":
      return cancelled("the task was cancelled");
  }
}

function cancelled(message: string): ResultOutcome {
  return { kind: "failed", failure: { code: "cancelled", message } };
}

/** All messages about a task say so. */
function related({ method, params }: Question, taskId: string): Question {
  return { method, params: withMeta(asJson(params), metaKeys.relatedTask, { taskId }) } as unknown as Question;
}
