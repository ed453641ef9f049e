import { asJson } from "../../json/json.ts";
import { changeKeys, withMeta } from "../../protocol/meta.ts";
import type { Call } from "../../protocol/service.ts";
import { changeToNotification } from "../../protocol/subscription.ts";
import type { DetailedTask } from "../../protocol/task.ts";
import { every, type TaskContext } from "./task-events.ts";
import { findTask, requireTasks } from "./task-methods.ts";
import { detailed, type Progress } from "./task-record.ts";

/** Tasks that a caller may watch. */
export interface Watching {
  /** Those of the caller. */
  readonly ids: readonly string[];
  /** Sends a call the state of each task, and then every change. Returns a function that stops it. */
  begin(call: Pick<Call, "notify" | "meta">): () => void;
}

/** Maximum number of tasks, as each costs a read of the store. */
const MAX_WATCHED = 1_000;

/**
 * Finds the tasks that a caller may watch. Rejects with `missing-capability` when the caller does not support tasks.
 */
export async function watchTasks(context: TaskContext, call: Call, wanted: readonly string[]): Promise<Watching> {
  requireTasks(call);
  const ids: string[] = [];
  for (const id of [...new Set(wanted)].slice(0, MAX_WATCHED)) {
    const isKnown = await findTask(context, call, id).then(
      () => true,
      () => false,
    );
    if (isKnown) ids.push(id);
  }

  return {
    ids,
    begin(to) {
      const notifyTask = createStatusNotifier(to);
      const stops = ids.map((id) => follow(context, call, id, notifyTask));
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** Takes how a task stands and, where it was reported, how far it is. */
type TaskNotifier = (task: DetailedTask, progress: Progress | undefined) => void;

/** Sends progress where that is requested, and no state twice. */
function createStatusNotifier({ notify, meta }: Pick<Call, "notify" | "meta">): TaskNotifier {
  const wantsProgress = meta[changeKeys.progress] === true;
  const sent = new Map<string, string>();

  return (task, reported) => {
    const progress = wantsProgress ? reported : undefined;
    const { taskId, status, statusMessage, lastUpdatedAt } = task;
    const keys = task.status === "input_required" ? Object.keys(task.questions) : [];
    const text = JSON.stringify([status, statusMessage, lastUpdatedAt, keys, progress]);
    if (sent.get(taskId) === text) return;
    sent.set(taskId, text);
    const [method, params] = changeToNotification({ kind: "task", task });
    notify(method, progress === undefined ? params : withMeta(params, changeKeys.progress, asJson(progress)));
  };
}

const RETRY_MS = 1_000;

/** States are sent in order. Where no process runs the task, this call keeps it running. */
function follow(context: TaskContext, call: Call, id: string, notifyTask: TaskNotifier): () => void {
  const { records, events, limits, env, adopt } = context;
  let isOutdated = true;
  let isReading = false;
  let isStopped = false;

  /** After a failure, the store may be available again later, and the change is sent then. */
  const readLater = (): undefined => void env.clock.after(RETRY_MS, () => isStopped || void read());

  const read = async (): Promise<void> => {
    isOutdated = true;
    if (isReading) return;
    isReading = true;
    while (isOutdated && !isStopped) {
      isOutdated = false;
      const record = await records.read(id).catch(readLater);
      if (record === undefined || isStopped) continue;
      try {
        notifyTask(detailed(record, limits.pollIntervalMs), record.progress);
      } catch (error) {
        env.errors.failureOf(error, "subscriptions/listen");
      }
    }
    isReading = false;
  };

  const readAgain = async (): Promise<void> => {
    await adopt?.(id, call);
    await read();
  };

  const unwatch = events.watch(id, () => void read());
  const stopLooking = adopt === undefined ? undefined : every(env.clock, limits.pollIntervalMs, readAgain);
  void read();
  return () => {
    isStopped = true;
    unwatch();
    stopLooking?.();
  };
}
