import type { Call, Outcome } from "../model/service.ts";
import { createSharedChanges, type SharedChanges } from "./change-log.ts";
import { acknowledge, type ChangeFeeds, untilAborted } from "./changes.ts";
import type { Environment } from "./environment.ts";
import type { TaskLimits } from "./options.ts";
import { whileAway } from "./tasks/away.ts";
import { createTaskEngine, type TaskEngine } from "./tasks/task-manager.ts";
import { refusedTerms } from "./tasks/task-methods.ts";
import { type Prepared, taskJob } from "./tasks/task-run.ts";
import { type ReadyTool, refuse, ToolJob, type ToolTasks } from "./tools.ts";

/** What goes on between calls, and between processes. Loaded when it is first needed. */
export interface Background extends ToolTasks, ChangeFeeds {
  /** Answers a method of tasks. */
  answer(call: Call): Promise<Outcome>;
  /** Never rejects. */
  close(): Promise<void>;
}

export interface BackgroundOptions {
  readonly env: Environment;
  readonly limits: TaskLimits | undefined;
  /** A tool, if there is one by this name. */
  tool(name: string): ReadyTool | undefined;
  hasTasks(): boolean;
}

const RETRY_MS = 15_000;

export function createBackground({ env, limits, tool, hasTasks }: BackgroundOptions): Background {
  let engine: Promise<TaskEngine> | undefined;
  let changes: SharedChanges | undefined;
  let isBegun = false;
  let isClosed = false;

  const prepare = async (name: string, input: object): Promise<Prepared | undefined> => {
    const known = tool(name);
    if (known === undefined || known.task === "never") return undefined;
    const checked = known.input === undefined ? { ok: true as const, value: input } : await known.input.check(input);
    if (!checked.ok) return { kind: "over", outcome: refuse(known, checked.issues, env) };
    return { kind: "job", job: taskJob(known, new ToolJob(known, checked.value, env)) };
  };

  const load = (): Promise<TaskEngine> =>
    createTaskEngine({ env, limits, prepare: (params) => prepare(params.name, params.arguments ?? {}) });

  /** A store that is away now may be back later. */
  const tasks = (): Promise<TaskEngine> => {
    engine ??= load().catch((error: unknown) => {
      engine = undefined;
      throw error;
    });
    return engine;
  };

  const ask = async <O extends Outcome>(call: Call, answer: (engine: TaskEngine) => O | Promise<O>) => {
    try {
      return await answer(await tasks());
    } catch (error) {
      return whileAway(error, call, env);
    }
  };

  const shared = (): SharedChanges => {
    changes ??= createSharedChanges(env);
    return changes;
  };

  const look = (): void => {
    if (isClosed) return;
    tasks().catch((error: unknown) => {
      env.faults.failureOf(error, "tasks/get");
      env.clock.after(RETRY_MS, look);
    });
  };

  return {
    begin() {
      if (!isBegun) look();
      isBegun = true;
    },
    callTask: (call, known, job) => ask(call, (engine) => engine.call(call, taskJob(known, job), known.task)),
    refuseTerms: (call, { task }) => refusedTerms(task, call),
    answer: (call) => ask(call, (engine) => engine.answer(call)),
    publish: (change) => shared().publish(change),
    async listen({ call, filter }, join) {
      const wanted = (hasTasks() && call.params.notifications.taskIds) || [];
      const watching = wanted.length > 0 ? await (await tasks()).watch(call, wanted) : undefined;
      const listener = { call, filter: watching === undefined ? filter : { ...filter, taskIds: watching.ids } };
      const leave =
        env.isShared && env.clock.requestBound !== true
          ? await shared().join(listener, () => acknowledge(listener))
          : join(listener);
      const unwatch = watching?.begin(call);
      return untilAborted(call, env, () => {
        leave();
        unwatch?.();
      });
    },
    async close() {
      isClosed = true;
      const parts = await Promise.allSettled([engine, changes]);
      await Promise.allSettled(parts.map((part) => part.status === "fulfilled" && part.value?.close()));
    },
  };
}
