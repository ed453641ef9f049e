/** A task, for who has work done for it elsewhere: a webhook, a queue. Each function rejects when the task is unknown. */
export interface ServerTask {
  /** Tells how far it is. What is not beyond what was told before changes nothing. */
  progress(progress: number, total?: number, message?: string): Promise<void>;
  /** Ends it with what its tool could have returned, which is checked as if it had. The handler is aborted. Rejects when the task is over. */
  finish(value: unknown): Promise<void>;
  /** Ends it with an error, which is masked as if its tool had thrown it. The handler is aborted. Rejects when the task is over. */
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
        finish: async (value) => (await loaded()).finish(value),
        fail: async (error) => (await loaded()).fail(error),
        cancel: async () => (await loaded()).cancel(),
      };
    },
  };
}
