import type { Call } from "../../model/service.ts";
import type { DetailedTask } from "../../model/task.ts";
import type { TaskDesk } from "./desk.ts";
import { findTask, requireTasks } from "./methods.ts";
import { detailed } from "./record.ts";

/** Tasks that somebody may hear of. */
export interface Watching {
  /** Those of the caller. */
  readonly ids: readonly string[];
  /** Tells how each stands, and then every change of it. Returns how to stop. */
  begin(tell: (task: DetailedTask) => void): () => void;
}

/** Each costs a look into the store. */
const MAX_WATCHED = 1_000;

/** Finds the tasks that a caller may hear of. Rejects with `missing-capability` when it did not say that it knows tasks. */
export async function watchTasks(desk: TaskDesk, call: Call, wanted: readonly string[]): Promise<Watching> {
  requireTasks(call);
  const ids: string[] = [];
  for (const id of [...new Set(wanted)].slice(0, MAX_WATCHED)) {
    const isKnown = await findTask(desk, call, id).then(
      () => true,
      () => false,
    );
    if (isKnown) ids.push(id);
  }

  return {
    ids,
    begin(tell) {
      const stops = ids.map((id) => follow(desk, id, tell));
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** What is told is never older than what was told before. */
function follow({ records, news, limits, env }: TaskDesk, id: string, tell: (task: DetailedTask) => void): () => void {
  let isBehind = true;
  let isLooking = false;
  let isStopped = false;

  const look = async (): Promise<void> => {
    isBehind = true;
    if (isLooking) return;
    isLooking = true;
    while (isBehind && !isStopped) {
      isBehind = false;
      const record = await records.read(id).catch(() => undefined);
      if (record === undefined || isStopped) continue;
      try {
        tell(detailed(record, limits.pollIntervalMs));
      } catch (error) {
        env.faults.failureOf(error, "subscriptions/listen");
      }
    }
    isLooking = false;
  };

  const unwatch = news.watch(id, () => void look());
  void look();
  return () => {
    isStopped = true;
    unwatch();
  };
}
