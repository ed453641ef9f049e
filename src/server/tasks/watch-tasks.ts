import { asJson } from "../../json/json.ts";
import { changeKeys, withMeta } from "../../protocol/meta.ts";
import type { Call } from "../../protocol/service.ts";
import { changeToNotification } from "../../protocol/subscription.ts";
import type { DetailedTask } from "../../protocol/task.ts";
import { every, type TaskContext } from "./task-events.ts";
import { findTask, requireTasks } from "./task-methods.ts";
import { detailed, type Progress } from "./task-record.ts";

/** Tasks that somebody may hear of. */
export interface Watching {
  /** Those of the caller. */
  readonly ids: readonly string[];
  /** Tells a call how each stands, and then every change of it. Returns how to stop. */
  begin(call: Pick<Call, "notify" | "meta">): () => void;
}

/** Each costs a look into the store. */
const MAX_WATCHED = 1_000;

/** Finds the tasks that a caller may hear of. Rejects with `missing-capability` when it did not say that it knows tasks. */
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
      const tell = createStatusNotifier(to);
      const stops = ids.map((id) => follow(context, call, id, tell));
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** Takes how a task stands and, where it was reported, how far it is. */
type TellTask = (task: DetailedTask, progress: Progress | undefined) => void;

/** Tells of progress where that is wanted, and nothing twice. */
function createStatusNotifier({ notify, meta }: Pick<Call, "notify" | "meta">): TellTask {
  const wantsProgress = meta[changeKeys.progress] === true;
  const told = new Map<string, string>();

  return (task, progress) => {
    const far = wantsProgress ? progress : undefined;
    const { taskId, status, statusMessage, lastUpdatedAt } = task;
    const keys = task.status === "input_required" ? Object.keys(task.questions) : [];
    const news = JSON.stringify([status, statusMessage, lastUpdatedAt, keys, far]);
    if (told.get(taskId) === news) return;
    told.set(taskId, news);
    const [method, params] = changeToNotification({ kind: "task", task });
    notify(method, far === undefined ? params : withMeta(params, changeKeys.progress, asJson(far)));
  };
}

const RETRY_MS = 1_000;

/** What is told is never older than what was told before. Where nobody else does, the caller keeps the task going. */
function follow(context: TaskContext, call: Call, id: string, tell: TellTask): () => void {
  const { records, news, limits, env, adopt } = context;
  let isBehind = true;
  let isLooking = false;
  let isStopped = false;

  /** A store that is away now may be back later, and the change is still to be told then. */
  const lookLater = (): undefined => void env.clock.after(RETRY_MS, () => isStopped || void look());

  const look = async (): Promise<void> => {
    isBehind = true;
    if (isLooking) return;
    isLooking = true;
    while (isBehind && !isStopped) {
      isBehind = false;
      const record = await records.read(id).catch(lookLater);
      if (record === undefined || isStopped) continue;
      try {
        tell(detailed(record, limits.pollIntervalMs), record.progress);
      } catch (error) {
        env.faults.failureOf(error, "subscriptions/listen");
      }
    }
    isLooking = false;
  };

  const lookAgain = async (): Promise<void> => {
    await adopt?.(id, call);
    await look();
  };

  const unwatch = news.watch(id, () => void look());
  const stopLooking = adopt === undefined ? undefined : every(env.clock, limits.pollIntervalMs, lookAgain);
  void look();
  return () => {
    isStopped = true;
    unwatch();
    stopLooking?.();
  };
}
