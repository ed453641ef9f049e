import type { AnySchema, InferOut } from "../schema/infer.ts";
import type { AskOptions, EmptyForm } from "./ask.ts";

/** A task, for who has work done for it elsewhere: a webhook, a queue. Each function rejects when the task is unknown. */
export interface ServerTask {
  /** Reports progress. A value that is not above the last one is ignored. */
  progress(progress: number, total?: number, message?: string): Promise<void>;
  /**
   * Asks the user of the client that began the task to fill a form, and waits for the checked answer: whichever process the
   * answer comes to. The handler goes on meanwhile. Without a schema there is nothing to fill in: the user can only agree.
   *
   * With a `key`, question and answer are kept until the task is over: who asks the same again gets the same answer, also in
   * another process. Without one the question is withdrawn when nobody waits for it any more.
   *
   * Rejects with `declined` when the user says no, `missing-capability` when the client cannot ask, `timeout` when the
   * task's time is over, `cancelled` when the task ends first or this server closes, and `limit-reached` where a budget
   * has no room for the question.
   */
  ask<const S extends AnySchema = EmptyForm>(message: string, schema?: S, options?: AskOptions): Promise<InferOut<S>>;
  /** Ends it with what its tool could have returned, which is checked as if it had. The handler is aborted. Rejects when the task is over. */
  finish(value: unknown): Promise<void>;
  /**
   * Ends it with an error, which is masked as if its tool had thrown it. The handler is aborted. Rejects when the task
   * is over.
   */
  fail(error: unknown): Promise<void>;
  /** Cancels it. The handler is aborted. Rejects when the task is over. */
  cancel(): Promise<void>;
}

export interface ServerTasks {
  /** A task of this server by its id, `ctx.taskId` of its handler, from any process on the same store. */
  task(id: string): ServerTask;
}

/** What answers for tasks is loaded when a function of a handle is called. */
export function createServerTasks(load: () => Promise<{ handle(id: string): Promise<ServerTask> }>): ServerTasks {
  return {
    task(id) {
      const loaded = async (): Promise<ServerTask> => (await load()).handle(id);
      return {
        progress: async (...told) => (await loaded()).progress(...told),
        ask: async (...asked) => (await loaded()).ask(...asked),
        finish: async (value) => (await loaded()).finish(value),
        fail: async (error) => (await loaded()).fail(error),
        cancel: async () => (await loaded()).cancel(),
      };
    },
  };
}
